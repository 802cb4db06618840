// Evaluations per second of the physical simulator on random assignments, one core, 8 x H100.
//
//   evaluate/GRAPH/MODE       DOPPLER_PUBLIC_DATA adds the paper's graphs
//   scale/MODE/OPERATIONS     random graphs with 2 edges an operation; with complexity
// analysis/plot_scaling.py plots the JSON of the second kind.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/graph_text.h"
#include "common/workloads.h"
#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"

namespace doppler {
namespace {

struct Mode {
  const char* name;
  Contention contention;
};
constexpr Mode kModes[] = {
    {"none", Contention::kNone}, {"serial", Contention::kSerial}, {"fair", Contention::kFair}};

void simulate(benchmark::State& state, const Graph& graph, Contention contention,
              int assignment_count) {
  const Topology topology(test::h100_node());
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalOptions options;
  options.contention = contention;
  PhysicalSimulator simulator(costs, topology, options);
  RandomStream random(1);
  std::vector<Assignment> assignments;
  for (int i = 0; i < assignment_count; ++i) {
    assignments.push_back(
        test::random_assignment(graph.operation_count(), topology.device_count(), random));
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator.run(assignments[next], {}));
    if (++next == assignments.size()) next = 0;
  }
  state.counters["evaluations"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void register_graph(const std::string& name, Graph graph) {
  // The benchmark keeps its graph until the program ends.
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  for (const Mode& mode : kModes) {
    benchmark::RegisterBenchmark(("evaluate/" + name + "/" + mode.name).c_str(),
                                 [shared, contention = mode.contention](benchmark::State& state) {
                                   simulate(state, *shared, contention, 1000);
                                 })
        ->Unit(benchmark::kMicrosecond);
  }
}

void register_scaling() {
  for (const Mode& mode : kModes) {
    benchmark::RegisterBenchmark((std::string("scale/") + mode.name).c_str(),
                                 [contention = mode.contention](benchmark::State& state) {
                                   RandomStream random(1);
                                   const Graph graph = test::physical_version(test::random_graph(
                                       {.operation_count = static_cast<int>(state.range(0)),
                                        .edges_per_operation = 2,
                                        .least_cost = 1'000'000,
                                        .largest_cost = 100'000'000},
                                       random));
                                   simulate(state, graph, contention, 4);
                                   state.SetComplexityN(state.range(0));
                                 })
        ->RangeMultiplier(10)
        ->Range(100, 100000)
        ->Complexity(benchmark::oNLogN)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  doppler::RandomStream random(1);
  doppler::register_graph("random_200", doppler::test::physical_version(doppler::test::random_graph(
                                            {.operation_count = 200,
                                             .edges_per_operation = 1.3,
                                             .least_cost = 1'000'000,
                                             .largest_cost = 100'000'000},
                                            random)));
  doppler::WorkloadOptions llama;
  llama.devices = 8;
  llama.costs = doppler::CostConvention::kPhysical;
  doppler::register_graph("llama_layer_8", doppler::generate_workload("llama-layer", llama));
  if (const char* folder = std::getenv("DOPPLER_PUBLIC_DATA")) {
    for (const char* file :
         {"gdp_chain_mm_112nodes.txt", "gdp_ffnn_192nodes.txt",
          "gdp_transformer_block_215nodes.txt", "gdp_full_transformer_layer_261nodes.txt"}) {
      const std::filesystem::path path = std::filesystem::path(folder) / "doppler" / file;
      if (std::filesystem::exists(path)) {
        doppler::register_graph(
            path.stem().string(),
            doppler::test::physical_version(doppler::load_graph_text(path.string()).graph));
      }
    }
  }
  doppler::register_scaling();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
