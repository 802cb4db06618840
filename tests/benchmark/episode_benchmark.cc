// Whole episodes (policy and simulation) per second of one actor core, and what the learner and the
// wire do with them. DOPPLER_PUBLIC_DATA adds the paper's graphs to the generated one.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "actors/ticket_player.h"
#include "common/graph_text.h"
#include "common/head_gradient.h"
#include "common/message.h"
#include "common/workload_chain_mm.h"
#include "sim/reference_simulator.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

constexpr int kDeviceCount = 4;
constexpr std::uint32_t kGroupEpisodes = 8;
constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 16};

struct Setting {
  explicit Setting(const Graph& g)
      : graph(&g),
        costs(CostTable::reference(g, kDeviceCount)),
        levels(compute_levels(costs)),
        simulator(costs),
        snapshot(test::random_snapshot(g.operation_count(), kShape, 1)),
        player({}, {PlayableGraph{.costs = &costs,
                                  .levels = &levels,
                                  .executor = &simulator,
                                  .real_executor = {},
                                  .teacher_plan = {}}}) {
    ticket.weight_version = snapshot.version;
    ticket.count = kGroupEpisodes;
  }
  const Graph* graph;
  CostTable costs;
  Levels levels;
  ReferenceSimulator simulator;
  WeightSnapshot snapshot;
  TicketPlayer player;
  Ticket ticket;
};

void count_episodes(benchmark::State& state, double per_iteration) {
  state.counters["episodes"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * per_iteration, benchmark::Counter::kIsRate);
}

// What a worker does with a ticket, the message included.
void play_and_encode(benchmark::State& state, const Graph& graph) {
  Setting setting(graph);
  for (auto _ : state) {
    setting.ticket.first_episode += kGroupEpisodes;
    benchmark::DoNotOptimize(encode(setting.player.play(setting.ticket, setting.snapshot)));
  }
  count_episodes(state, kGroupEpisodes);
}

// What the learner does before it learns: decode.
void decode(benchmark::State& state, const Graph& graph) {
  Setting setting(graph);
  const auto bytes = encode(setting.player.play(setting.ticket, setting.snapshot));
  for (auto _ : state) benchmark::DoNotOptimize(decode_result(bytes));
  count_episodes(state, kGroupEpisodes);
}

// Replay and gradient of the heads; the encoder's part comes once per update.
void replay_and_differentiate(benchmark::State& state, const Graph& graph) {
  Setting setting(graph);
  const Trajectory trajectory = test::sample_episode(setting.costs, setting.snapshot, 1);
  HeadGradient gradient(kShape, setting.costs, setting.levels, SelectPolicy::kLearned,
                        PlacePolicy::kLearned);
  HeadGradients gradients;
  gradients.reset(kShape, graph.operation_count());
  const SelectHead head(setting.snapshot.tables[0].select_scores);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        gradient.add(trajectory, setting.snapshot.tables[0], setting.snapshot.weights, head,
                     {.advantage = 1, .entropy_weight = 0.1F, .clip_ratio = 0.2F}, gradients));
  }
  count_episodes(state, 1);
}

void register_graph(const std::string& name, Graph graph) {
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  const auto add = [&](const std::string& what, void (*function)(benchmark::State&, const Graph&)) {
    benchmark::RegisterBenchmark((what + "/" + name).c_str(), [=](benchmark::State& state) {
      function(state, *shared);
    })->Unit(benchmark::kMicrosecond);
  };
  add("play_and_encode", play_and_encode);
  add("decode", decode);
  add("replay_and_differentiate", replay_and_differentiate);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  doppler::register_graph("chain_mm_generated", doppler::generate_chain_mm({}));
  if (const char* folder = std::getenv("DOPPLER_PUBLIC_DATA")) {
    for (const auto& item :
         std::filesystem::directory_iterator(std::filesystem::path(folder) / "doppler")) {
      const std::string name = item.path().stem().string();
      if (!name.starts_with("gdp_")) continue;
      doppler::register_graph(name, doppler::load_graph_text(item.path().string()).graph);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
