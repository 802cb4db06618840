// Simulations per second on random assignments, one core. DOPPLER_PUBLIC_DATA adds the paper's
// graphs.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/graph_text.h"
#include "sim/reference_simulator.h"
#include "tests/support/random_graph.h"

namespace doppler {
namespace {

constexpr int kDeviceCount = 4;

void simulate(benchmark::State& state, const Graph& graph) {
  const CostTable costs = CostTable::reference(graph, kDeviceCount);
  ReferenceSimulator simulator(costs);
  RandomStream random(1);
  std::vector<Assignment> assignments;
  for (int i = 0; i < 1000; ++i) {
    assignments.push_back(test::random_assignment(graph.operation_count(), kDeviceCount, random));
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator.run(assignments[next], {}));
    if (++next == assignments.size()) next = 0;
  }
  state.counters["simulations"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void register_graph(const std::string& name, Graph graph) {
  // The benchmark keeps its graph until the program ends.
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  benchmark::RegisterBenchmark(("simulate/" + name).c_str(), [shared](benchmark::State& state) {
    simulate(state, *shared);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  doppler::RandomStream random(1);
  doppler::register_graph(
      "random_200_positive",
      doppler::test::random_graph(
          {.operation_count = 200, .edges_per_operation = 1.3, .least_cost = 1}, random));
  doppler::register_graph(
      "random_200_with_zeros",
      doppler::test::random_graph(
          {.operation_count = 200, .edges_per_operation = 1.3, .largest_cost = 3}, random));
  if (const char* folder = std::getenv("DOPPLER_PUBLIC_DATA")) {
    for (const char* file : {"doppler/gdp_chain_mm_112nodes.txt", "doppler/gdp_ffnn_192nodes.txt",
                             "doppler/gdp_transformer_block_215nodes.txt",
                             "doppler/gdp_full_transformer_layer_261nodes.txt"}) {
      const std::filesystem::path path = std::filesystem::path(folder) / file;
      if (std::filesystem::exists(path)) {
        doppler::register_graph(path.stem().string(),
                                doppler::load_graph_text(path.string()).graph);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
