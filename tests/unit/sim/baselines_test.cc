#include "sim/baselines.h"

#include <algorithm>
#include <stop_token>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/graph_text.h"
#include "common/levels.h"
#include "common/workload_chain_mm.h"
#include "sim/critical_path.h"
#include "sim/etf.h"
#include "sim/heft.h"
#include "sim/lower_bounds.h"
#include "sim/partial_schedule.h"
#include "sim/reference_simulator.h"
#include "sim/simple_placements.h"
#include "tests/support/expect_error.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/public_data.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;
using testing::HasSubstr;

class Baselines : public testing::Test {
 protected:
  // Runs a baseline on `graph` with `device_count` devices.
  static BaselineResult run(const std::string& name, const Graph& graph, int device_count,
                            const BaselineOptions& options = {.local_search_evaluations = 2000}) {
    const CostTable costs = CostTable::reference(graph, device_count);
    ReferenceSimulator simulator(costs);
    return run_baseline(name, costs, simulator, options);
  }
};

TEST_F(Baselines, OneDeviceTakesTheSumOfAllWork) {
  const BaselineResult result = run("one-device", test::fork_join_graph(), 2);
  EXPECT_EQ(result.makespan, SimTime(22));
  EXPECT_EQ(result.assignment, make_assignment({0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.evaluations, 1);
}

TEST_F(Baselines, RoundRobinCountsIdsOrPositions) {
  // Edges 2 -> 1 -> 0: the topological order is 2, 1, 0.
  const Graph graph = test::make_graph("g", {{1, 1}, {1, 1}, {1, 1}}, {{2, 1}, {1, 0}});
  EXPECT_EQ(run("round-robin", graph, 3).assignment, make_assignment({0, 1, 2}));
  EXPECT_EQ(run("round-robin-topological", graph, 3).assignment, make_assignment({2, 1, 0}));
}

TEST_F(Baselines, RandomReportsBestAndMean) {
  // Two independent operations of 4 ticks on two devices: half of the assignments take 4, half 8.
  const Graph graph = test::make_graph("g", {{4, 1}, {4, 1}}, {});
  const BaselineResult result = run("random", graph, 2);
  EXPECT_EQ(result.makespan, SimTime(4));
  ASSERT_TRUE(result.mean_makespan_ticks.has_value());
  EXPECT_NEAR(*result.mean_makespan_ticks, 6, 0.3);  // standard error 2 / sqrt(1000) = 0.06
  EXPECT_EQ(result.evaluations, 1000);
}

TEST_F(Baselines, ManyTriesStopWithTheBestSoFar) {
  // Random and critical-path tell of each try but the first before they make it.
  for (const char* name : {"random", "critical-path"}) {
    std::stop_source stop;
    std::vector<double> fractions;
    const BaselineResult result = run(name, test::fork_join_graph(), 2,
                                      {.random_samples = 100,
                                       .critical_path_tries = 100,
                                       .stop = stop.get_token(),
                                       .on_progress = [&](const SearchProgress& progress) {
                                         fractions.push_back(progress.fraction);
                                         if (progress.evaluations == 3) stop.request_stop();
                                       }});
    EXPECT_THAT(fractions, testing::ElementsAre(0.01, 0.02, 0.03)) << name;
    EXPECT_EQ(result.evaluations, 4) << name;
    EXPECT_TRUE(result.stopped_early) << name;
    EXPECT_EQ(result.assignment.size(), 6U) << name;
    EXPECT_FALSE(run(name, test::fork_join_graph(), 2).stopped_early) << name;
  }
}

TEST_F(Baselines, LocalSearchIsStoppedBeforeItBegins) {
  std::stop_source stop;
  stop.request_stop();
  const BaselineResult result =
      run("local-search", generate_chain_mm({}), 4, {.stop = stop.get_token()});
  EXPECT_EQ(result.evaluations, 1);
  EXPECT_TRUE(result.stopped_early);
}

TEST_F(Baselines, CriticalPathStartsTheLongestBranchFirst) {
  // Entries 0 (1 tick) and 1 (1 tick, followed by 5 ticks): on one device 1 goes first, and its
  // successor (level 5) beats 0 (level 1).
  const Graph graph = test::make_graph("g", {{1, 0}, {1, 0}, {5, 0}}, {{1, 2}});
  const CostTable costs = CostTable::reference(graph, 1);
  RandomStream random(1);
  EXPECT_THAT(critical_path_schedule(costs, compute_levels(costs), random).order(),
              testing::ElementsAre(OperationId(1), OperationId(2), OperationId(0)));
}

TEST_F(Baselines, CriticalPathBreaksTiesAtRandom) {
  // Eight equal operations in any order: over 200 schedules each one comes first at some time.
  const Graph graph = test::make_graph("g", std::vector<test::TinyCost>(8, {1, 1}), {});
  const CostTable costs = CostTable::reference(graph, 2);
  const Levels levels = compute_levels(costs);
  RandomStream random(1);
  std::vector<int> first(8, 0);
  for (int i = 0; i < 200; ++i) {
    ++first[critical_path_schedule(costs, levels, random).order().front().index()];
  }
  EXPECT_THAT(first, testing::Each(testing::Gt(5)));
}

TEST_F(Baselines, CriticalPathWeighsTransfersAgainstWaiting) {
  // 0 (2 ticks) feeds 1 and 2 (3 ticks each). Sending costs 2: 1 starts at 2 here, 2 at 4 there
  // against 5 here.
  const Graph graph = test::make_graph("g", {{2, 2}, {3, 0}, {3, 0}}, {{0, 1}, {0, 2}});
  const BaselineResult result = run("critical-path", graph, 2);
  EXPECT_EQ(result.makespan, SimTime(7));
  EXPECT_NE(result.assignment[OperationId(1)], result.assignment[OperationId(2)]);
}

TEST_F(Baselines, HeftTakesTheEarliestEndByDecreasingRank) {
  const Graph graph = test::make_graph("g", {{4, 1}, {6, 0}, {5, 1}, {2, 0}}, {{0, 1}, {2, 1}});
  // Ranks: 0: 4+1+6 = 11, 2: 5+1+6 = 12, 1: 6, 3: 2. Order 2, 0, 1, 3: 2 on device 0 at 0..5, 0 on
  // device 1 at 0..4; 1 is ready at max(5, 4+1) = 5 on device 0: 5..11. 3 behind device 1: 4..6.
  // Makespan 11.
  const CostTable costs = CostTable::reference(graph, 2);
  const PartialSchedule schedule = heft_schedule(costs);
  EXPECT_THAT(schedule.order(),
              testing::ElementsAre(OperationId(2), OperationId(0), OperationId(1), OperationId(3)));
  EXPECT_EQ(schedule.assignment(), make_assignment({1, 0, 0, 1}));
  EXPECT_EQ(schedule.makespan(), SimTime(11));
}

TEST(PartialSchedule, FindsTheFirstGapThatIsLongEnough) {
  const Graph graph = test::make_graph("g", {{2, 0}, {2, 0}, {3, 0}, {4, 0}}, {});
  const CostTable costs = CostTable::reference(graph, 1);
  PartialSchedule schedule(costs);
  schedule.place(OperationId(0), DeviceId(0), SimTime(2));  // 2..4
  schedule.place(OperationId(1), DeviceId(0), SimTime(7));  // 7..9, gaps 0..2 and 4..7
  EXPECT_EQ(schedule.earliest_inserted_start(OperationId(2), DeviceId(0)), SimTime(4));
  EXPECT_EQ(schedule.earliest_inserted_start(OperationId(3), DeviceId(0)), SimTime(9));
  EXPECT_EQ(schedule.earliest_start(OperationId(2), DeviceId(0)), SimTime(9));
  schedule.place(OperationId(2), DeviceId(0), SimTime(4));
  EXPECT_EQ(schedule.makespan(), SimTime(9));
}

TEST_F(Baselines, EtfTakesTheEarliestStart) {
  // Device 0 and 1 start 1 and 0 (larger level first); then 2 at 3 on device 0 (local to 1).
  const Graph graph = test::make_graph("g", {{5, 0}, {3, 4}, {2, 0}}, {{1, 2}});
  const BaselineResult result = run("etf", graph, 2);
  EXPECT_THAT(result.order, testing::ElementsAre(OperationId(1), OperationId(0), OperationId(2)));
  EXPECT_EQ(result.assignment, make_assignment({1, 0, 0}));
  EXPECT_EQ(result.makespan, SimTime(5));
}

// ETF as it is defined: in each step all ready operations on all devices.
PartialSchedule plain_etf(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const Levels levels = compute_levels(costs);
  PartialSchedule schedule(costs);
  std::vector<bool> placed(graph.operation_count(), false);
  const auto is_ready = [&](OperationId operation) {
    if (placed[operation.index()]) return false;
    const auto predecessors = graph.predecessors(operation);
    return std::all_of(predecessors.begin(), predecessors.end(),
                       [&](OperationId p) { return placed[p.index()]; });
  };
  for (std::size_t step = 0; step < graph.operation_count(); ++step) {
    using Candidate = std::tuple<SimTime, SimTime, OperationId, DeviceId>;
    Candidate best(SimTime::max(), SimTime(0), OperationId(), DeviceId());
    for (std::size_t i = 0; i < graph.operation_count(); ++i) {
      const OperationId operation(static_cast<std::int32_t>(i));
      if (!is_ready(operation)) continue;
      for (std::int32_t d = 0; d < costs.device_count(); ++d) {
        if (!costs.allowed(operation, DeviceId(d))) continue;
        best = std::min(
            best, Candidate(schedule.earliest_start(operation, DeviceId(d)),
                            SimTime(0) - levels.bottom_level[operation], operation, DeviceId(d)));
      }
    }
    const auto& [start, level, operation, device] = best;
    schedule.place(operation, device, start);
    placed[operation.index()] = true;
  }
  return schedule;
}

TEST_F(Baselines, EtfIsWhatItsDefinitionSays) {
  RandomStream random(23);
  for (int g = 0; g < 300; ++g) {
    // Small costs make ties; some operations take no time.
    Graph graph =
        test::random_graph({.operation_count = 40, .least_cost = 0, .largest_cost = 5}, random);
    if (g % 2 == 1) graph = test::constrain_at_random(graph, 3, random);
    const CostTable costs = CostTable::reference(graph, 3);
    const PartialSchedule plain = plain_etf(costs);
    const PartialSchedule heaps = etf_schedule(costs);
    ASSERT_EQ(heaps.order(), plain.order()) << g;
    ASSERT_EQ(heaps.assignment(), plain.assignment()) << g;
  }
}

TEST_F(Baselines, LocalSearchIsNoRandomWalk) {
  // The bound is 1200.07 and HEFT reaches 1300.07; 20,000 steps that kept every move would stay
  // there.
  const SimTime makespan =
      run("local-search", generate_chain_mm({}), 4, {.local_search_evaluations = 20000}).makespan;
  EXPECT_LT(ReferenceSimulator::reference_cost(makespan), 1250);
}

TEST_F(Baselines, AllAreDeterministicAndNoneBeatsTheBounds) {
  RandomStream random(11);
  for (int g = 0; g < 20; ++g) {
    Graph graph = test::random_graph({.operation_count = 30, .largest_cost = 9}, random);
    if (g % 2 == 1) graph = test::constrain_at_random(graph, 3, random);
    const CostTable costs = CostTable::reference(graph, 3);
    const LowerBounds bounds = lower_bounds(costs);
    for (const BaselineInfo& info : baselines()) {
      const BaselineResult first = run(info.name, graph, 3);
      const BaselineResult second = run(info.name, graph, 3);
      EXPECT_EQ(first.assignment, second.assignment) << info.name;
      EXPECT_EQ(first.makespan, second.makespan) << info.name;
      EXPECT_GE(first.makespan, bounds.largest) << info.name;
      EXPECT_EQ(first.name, info.name);
      EXPECT_TRUE(test::is_allowed(costs, first.assignment)) << info.name;
      // The reported makespan is that of the reported assignment, and the order is a topological
      // one.
      EXPECT_EQ(ReferenceSimulator(costs).run(first.assignment, {}), first.makespan) << info.name;
      ASSERT_EQ(first.order.size(), graph.operation_count()) << info.name;
      IdVector<OperationId, std::size_t> position(graph.operation_count(), graph.operation_count());
      for (std::size_t i = 0; i < first.order.size(); ++i) position[first.order[i]] = i;
      for (const Edge& edge : graph.edges()) {
        EXPECT_LT(position[edge.source], position[edge.destination]) << info.name;
      }
    }
  }
}

TEST_F(Baselines, AnUnknownNameIsAnsweredWithTheNearest) {
  const std::string message =
      test::message_of<ConfigError>([] { run("hefd", test::chain_graph(), 2); });
  EXPECT_THAT(message, HasSubstr("algorithm 'hefd' is not known; did you mean 'heft'?"));
  EXPECT_THAT(test::message_of<ConfigError>([] { run("zzzzzzzzz", test::chain_graph(), 2); }),
              HasSubstr("known: one-device, random"));
}

TEST_F(Baselines, ExhaustiveSearchIsForTinyGraphs) {
  EXPECT_TRUE(run("exhaustive", test::fork_join_graph(), 2).optimal);
  EXPECT_THAT(test::message_of<ConfigError>([] {
                run("exhaustive", generate_chain_mm({}), 4, {.exhaustive = {.limit = 1000}});
              }),
              HasSubstr("has not seen everything after 1000 assignments"));
}

struct PublishedBaseline {
  const char* file;
  double simple_bound;  // the larger of critical path and shared work
  double bound;
  double heft;
};

class PublishedBaselines : public testing::TestWithParam<PublishedBaseline> {};

TEST_P(PublishedBaselines, ReachTheKnownCosts) {
  DP_SKIP_WITHOUT_PUBLIC_DATA(GetParam().file);
  const Graph graph = load_graph_text(test::public_data_path(GetParam().file)).graph;
  const CostTable costs = CostTable::reference(graph, 4);
  ReferenceSimulator simulator(costs);
  const auto cost = ReferenceSimulator::reference_cost;
  const LowerBounds bounds = lower_bounds(costs);
  EXPECT_NEAR(cost(std::max(bounds.critical_path, bounds.work)), GetParam().simple_bound, 1e-4);
  EXPECT_NEAR(cost(bounds.largest), GetParam().bound, 1e-4);
  const SimTime heft_makespan = heft(costs, simulator).makespan;
  EXPECT_NEAR(cost(heft_makespan), GetParam().heft, 1e-4);
  // Half a thousand simulations from HEFT's assignment never end worse.
  EXPECT_LE(local_search(costs, simulator, {.evaluations = 500}).makespan, heft_makespan);
}

INSTANTIATE_TEST_SUITE_P(
    Paper, PublishedBaselines,
    testing::Values(PublishedBaseline{"doppler/gdp_chain_mm_112nodes.txt", 1200.0700, 1200.0700,
                                      1300.0701},
                    PublishedBaseline{"doppler/gdp_ffnn_192nodes.txt", 56.6958, 56.6958, 84.1823},
                    PublishedBaseline{"doppler/gdp_transformer_block_215nodes.txt", 97.1695,
                                      141.0915, 240.2242},
                    PublishedBaseline{"doppler/gdp_full_transformer_layer_261nodes.txt", 97.2442,
                                      97.2506, 211.8486}));

}  // namespace
}  // namespace doppler
