#include "gpuexec/turns.h"

#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuexec/backend_factory.h"
#include "tests/support/execution_cases.h"
#include "tests/support/scripted_backend.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

// Ratios 2, 0.5, 3, 1, 2: the middle one is 2. Unpaired medians (2 of a, 1 of b) would say 2 as
// well; 4 and 4 of the last two rounds, slow for both, must not matter.
TEST(PairedRatio, IsTheMedianOfTheRatiosWithinRounds) {
  const std::vector<double> a = {2, 1, 3, 4, 8};
  const std::vector<double> b = {1, 2, 1, 4, 4};
  const PairedRatio ratio = paired_ratio(a, b);
  EXPECT_DOUBLE_EQ(ratio.median, 2);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 0.5);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 3);
}

// Two independent operations of 2 ms each: on one device they take 4 ms, on two 2 ms.
TEST(MeasureInTurn, RunsEveryPlacementInEveryRound) {
  const Topology topology = test::small_machine(2, 2000);
  GraphBuilder builder("pair", CostUnit::kPhysical);
  for (int i = 0; i < 2; ++i) {
    Operation operation;
    operation.kind = "work";
    operation.flops = 1e6;
    operation.output_bytes = 4;
    builder.add_operation(std::move(operation));
  }
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {},
                     make_backend("emulated", costs, topology, Contention::kSerial));
  const std::vector<TurnPlacement> placements = {{test::make_assignment({0, 0}), {}},
                                                 {test::make_assignment({0, 1}), {}}};
  std::vector<std::pair<int, std::size_t>> turns;
  TurnOptions options;
  options.before_placement = [&](int round, std::size_t placement) {
    turns.emplace_back(round, placement);
    return turns.size() < 8;  // ends it before the second placement of the fourth round
  };
  const auto times = measure_in_turn(runner, placements, options);
  EXPECT_EQ(turns, (std::vector<std::pair<int, std::size_t>>{
                       {0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}));
  ASSERT_EQ(times.size(), 2U);
  for (const TurnTimes& time : times) {
    EXPECT_EQ(time.failure, "");
    EXPECT_EQ(time.seconds.size(), 3U);
  }
  for (double seconds : times[0].seconds) EXPECT_GE(seconds, 0.004);
  for (double seconds : times[1].seconds) EXPECT_GE(seconds, 0.002);
}

// Two rounds of two placements of one operation. Runs: the control 1; p0 2 and the control 1:
// quiet. p1 9 and the control 2: disturbed, so p1 again: 3, and the control 1. Second round: p0 2,
// 1; p1 9, 2; again 8 and 2: the only retry is used up, so 8 stays.
TEST(MeasureInTurn, MeasuresAgainWhatTheControlCastsDoubtOn) {
  const Topology topology = test::small_machine(2, 1);
  const Graph graph = test::make_unit_graph({{1, 4}}, {});
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {},
                     std::make_unique<test::ScriptedBackend>(
                         2, std::vector<double>{1, 2, 1, 9, 2, 3, 1, 2, 1, 9, 2, 8, 2}));
  const std::vector<TurnPlacement> placements = {{test::make_assignment({0}), {}},
                                                 {test::make_assignment({1}), {}}};
  TurnOptions options;
  options.rounds = 2;
  options.warmup = 0;
  options.control_interval_seconds = 1e-12;  // after each
  options.retries = 1;
  const auto times = measure_in_turn(runner, placements, options);
  EXPECT_THAT(times[0].seconds, testing::ElementsAre(2, 2));
  EXPECT_THAT(times[1].seconds, testing::ElementsAre(3, 8));
}

TEST(MeasureInTurn, LeavesOutWhatFails) {
  const Topology topology = test::small_machine(2, 200000);  // 0.2 s an operation
  GraphBuilder builder("slow", CostUnit::kPhysical);
  Operation operation;
  operation.kind = "work";
  operation.flops = 1e6;
  operation.output_bytes = 4;
  builder.add_operation(std::move(operation));
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {},
                     make_backend("emulated", costs, topology, Contention::kSerial));
  const std::vector<TurnPlacement> placements = {{test::make_assignment({0}), {}}};
  TurnOptions options;
  options.timeout_seconds = 0.01;
  const auto times = measure_in_turn(runner, placements, options);
  EXPECT_EQ(times[0].failure, "timed out");
  EXPECT_TRUE(times[0].seconds.empty());
}

}  // namespace
}  // namespace doppler
