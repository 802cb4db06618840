#include "sim/lower_bounds.h"

#include <gtest/gtest.h>

#include "sim/exhaustive.h"
#include "sim/reference_simulator.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

TEST(LowerBounds, AreTheLongestPathAndTheSharedWork) {
  // Path 1 + 5 + 1 = 7; work 22: over 4 devices 5.5, rounded up 6; over 11 devices 2.
  const Graph graph = test::fork_join_graph();
  const LowerBounds four = lower_bounds(CostTable::reference(graph, 4));
  EXPECT_EQ(four.critical_path, SimTime(7));
  EXPECT_EQ(four.work, SimTime(6));
  EXPECT_EQ(lower_bounds(CostTable::reference(graph, 11)).work, SimTime(2));
}

TEST(LowerBounds, CountTransfersThatCannotBeAvoided) {
  // 0 -> {1, 2} -> 3, compute 1, 4, 4, 1, transfers 2. Before 3 both 1 and 2 run from 1 on: one
  // after the other on its device until 1 + 4 + 4 = 9, or one elsewhere, there at 1 + 4 + 2 = 7.
  // So 3 starts at 7 at the earliest, and 8 is the bound; without transfers it would be 6.
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const HeadsAndTails at = heads_and_tails(costs);
  EXPECT_EQ(at.head.raw(), (std::vector<SimTime>{SimTime(0), SimTime(1), SimTime(1), SimTime(7)}));
  EXPECT_EQ(at.tail.raw(), (std::vector<SimTime>{SimTime(7), SimTime(1), SimTime(1), SimTime(0)}));
  const LowerBounds bounds = lower_bounds(costs);
  EXPECT_EQ(bounds.critical_path, SimTime(6));
  EXPECT_EQ(bounds.communication, SimTime(8));
  EXPECT_EQ(bounds.largest, SimTime(8));
  // On one device nothing is elsewhere: 9 before 3, the whole work.
  EXPECT_EQ(lower_bounds(CostTable::reference(graph, 1)).communication, SimTime(10));
}

TEST(LowerBounds, PutWorkBetweenWhatComesBeforeAndBehind) {
  // The four operations of 5 ticks run after the first (1 tick) and before the last (1 tick): 1 +
  // 20 / 2 + 1 = 12 on two devices, 1 + 7 + 1 = 9 on three.
  const Graph graph = test::fork_join_graph();
  EXPECT_EQ(lower_bounds(CostTable::reference(graph, 2)).windows, SimTime(12));
  EXPECT_EQ(lower_bounds(CostTable::reference(graph, 3)).windows, SimTime(9));
}

TEST(LowerBounds, KnowWhereOperationsHaveToBe) {
  // 0 (2 ticks, transfer 10) must be on device 0, 1 (3 ticks) on device 1: 2 + 10 + 3.
  const Graph chain = test::make_graph("g", {{2, 10}, {3, 0}}, {{0, 1}});
  const Graph apart = test::pin(test::pin(chain, 0, 0), 1, 1);
  EXPECT_EQ(lower_bounds(CostTable::reference(apart, 2)).communication, SimTime(15));
  // Three operations of 4 ticks pinned to one of two devices: 12, where the work is 6 each.
  Graph together = test::make_graph("g", {{4, 0}, {4, 0}, {4, 0}}, {});
  for (int i = 0; i < 3; ++i) together = test::pin(together, i, 1);
  const LowerBounds bounds = lower_bounds(CostTable::reference(together, 2));
  EXPECT_EQ(bounds.work, SimTime(6));
  EXPECT_EQ(bounds.windows, SimTime(12));
  // 0 and 1 feed 2, all on device 1, so no transfer can spare 2 to wait for both: 4 + 4.
  Graph join = test::make_graph("g", {{4, 0}, {4, 0}, {1, 0}}, {{0, 2}, {1, 2}});
  for (int i = 0; i < 3; ++i) join = test::pin(join, i, 1);
  EXPECT_EQ(heads_and_tails(CostTable::reference(join, 2)).head[OperationId(2)], SimTime(8));
}

TEST(LowerBounds, AreNeverAboveTheOptimum) {
  RandomStream random(17);
  int reached = 0;
  for (int g = 0; g < 6000; ++g) {
    const int devices = 1 + static_cast<int>(random.next_below(3));
    Graph graph =
        test::random_graph({.operation_count = 1 + static_cast<std::int32_t>(random.next_below(7)),
                            .edges_per_operation = 1 + random.next_unit(),
                            .largest_cost = 12},
                           random);
    if (g % 2 == 1) graph = test::constrain_at_random(graph, devices, random);
    const CostTable costs = CostTable::reference(graph, devices);
    ReferenceSimulator simulator(costs);
    // Without the bounds in the search, which would hide their own mistakes.
    const auto optimum = exhaustive(costs, simulator, {.cost_table_bounds = false});
    ASSERT_TRUE(optimum.has_value());
    const LowerBounds bounds = lower_bounds(costs);
    ASSERT_LE(bounds.largest, optimum->makespan) << "graph " << g;
    reached += bounds.largest == optimum->makespan ? 1 : 0;
  }
  EXPECT_GT(reached, 3000);  // they are not just anything
}

}  // namespace
}  // namespace doppler
