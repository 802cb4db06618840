#include "sim/lower_bounds.h"

#include <gtest/gtest.h>

#include "sim/exhaustive.h"
#include "sim/reference_simulator.h"
#include "tests/support/physical_graphs.h"
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

// a, b and c of 4 s each, 6, 6 and 2 bytes out, no edges; d0 has 4 bytes of memory, d1 and d2 have
// 8, and d2 is half as fast. Work: 4 + 4 + 4 on three devices, 4. Only d1 and d2 hold a and b: at
// least 4 s each on two machines, 4 s. With d1 alone of 8 bytes it is one machine: 8 s.
TEST(LowerBounds, KnowWhatFitsIntoMemory) {
  const Graph graph = test::make_unit_graph({{4, 6}, {4, 6}, {4, 2}}, {});
  TopologyParts parts = test::unit_mesh(3);
  parts.devices[0].memory_bytes = 4;
  parts.devices[1].memory_bytes = 8;
  parts.devices[2].memory_bytes = 8;
  parts.devices[2].flops_per_second = 0.5;
  const auto bounds_of = [&graph](TopologyParts machine) {
    const Topology topology(std::move(machine));
    return lower_bounds(CostTable::physical(graph, topology));
  };
  const auto seconds = [](int count) { return SimTime(count * test::kSecond); };
  EXPECT_EQ(bounds_of(parts).largest, seconds(4));
  EXPECT_EQ(bounds_of(parts).within_memory, seconds(4));
  parts.devices[2].memory_bytes = 4;
  EXPECT_EQ(bounds_of(parts).largest, seconds(4));
  EXPECT_EQ(bounds_of(parts).within_memory, seconds(8));
  parts.devices[1].memory_bytes = 5;  // a fits nowhere
  EXPECT_EQ(bounds_of(parts).within_memory, SimTime::max());
  parts.devices[2].memory_bytes = std::nullopt;  // without limit: half as fast, one machine
  EXPECT_EQ(bounds_of(parts).within_memory, seconds(16));
}

// x (6 bytes) feeds y (1 byte), which also reads an input tensor of 3 bytes and sees 2 bytes of x:
// it needs 2 + 3 + 1 bytes, x needs 6.
TEST(LowerBounds, CountInputsIntoTheNeedOfAnOperation) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation x;
  x.flops = 1;
  x.output_bytes = 6;
  Operation y;
  y.flops = 5;
  y.output_bytes = 1;
  builder.add_operation(x);
  builder.add_operation(y);
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = 2});
  builder.add_input({.name = "w", .bytes = 3, .consumers = {OperationId(1)}});
  const Graph graph = builder.build();
  TopologyParts parts = test::unit_mesh(2);
  parts.devices[0].memory_bytes = 6;
  parts.devices[1].memory_bytes = 6;
  EXPECT_LT(lower_bounds(CostTable::physical(graph, Topology(parts))).within_memory,
            SimTime::max());
  parts.devices[0].memory_bytes = 5;
  parts.devices[1].memory_bytes = 5;
  EXPECT_EQ(lower_bounds(CostTable::physical(graph, Topology(parts))).within_memory,
            SimTime::max());
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
