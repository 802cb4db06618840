#include "sim/enum_opt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/reference_simulator.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

BaselineResult run(const Graph& graph, int device_count) {
  const CostTable costs = CostTable::reference(graph, device_count);
  ReferenceSimulator simulator(costs);
  return enum_opt(costs, simulator);
}

TEST(EnumOpt, FollowsTheInputs) {
  // Entries 0 and 1 are alike and get a device each; 2 reads from 1, 3 from 0, and both stay there:
  // 4 + 2.
  const Graph graph = test::make_graph("g", {{4, 3}, {4, 3}, {2, 0}, {2, 0}}, {{0, 3}, {1, 2}});
  const BaselineResult result = run(graph, 2);
  EXPECT_EQ(result.assignment, make_assignment({0, 1, 1, 0}));
  EXPECT_EQ(result.makespan, SimTime(6));
  EXPECT_THAT(result.order,
              testing::ElementsAre(OperationId(0), OperationId(1), OperationId(2), OperationId(3)));
}

TEST(EnumOpt, DealsOutEvenlyEvenWhereThatTransfers) {
  // Four shards behind one operation on device 0: two on each device, whichever, and the join goes
  // to one of the two by load. 1 + (1 + 5 + 5 on the other device) + 1 + 1 = 14, or 1 less where
  // the join is there: 13.
  const BaselineResult result = run(test::fork_join_graph(), 2);
  int on_first = 0;
  for (int shard = 1; shard <= 4; ++shard) {
    on_first += result.assignment[OperationId(shard)] == DeviceId(0) ? 1 : 0;
  }
  EXPECT_EQ(on_first, 2);
  EXPECT_EQ(result.makespan, SimTime(13));
}

TEST(EnumOpt, WeighsTransfersWithinAGroup) {
  // Of 1 and 2, which form one group, device 0 has the input (0 is pinned there): one of them pays
  // the transfer of 3. They are alike, so the smaller id stays.
  const Graph graph =
      test::pin(test::make_graph("g", {{1, 3}, {2, 0}, {2, 0}}, {{0, 1}, {0, 2}}), 0, 0);
  const BaselineResult result = run(graph, 2);
  EXPECT_NE(result.assignment[OperationId(1)], result.assignment[OperationId(2)]);
  EXPECT_EQ(result.makespan, SimTime(6));  // 1 + 3 + 2
}

TEST(EnumOpt, KeepsStatedGroupsApart) {
  // 0 and 1 look alike, but are the only shards of two groups: each group alone goes to the device
  // with the least to do, which for 1 is device 1, as 0 is on device 0. Then 2 (no inputs, another
  // kind) goes to device 0 by id, as both have 4 ticks.
  const Graph graph =
      test::change_operations(test::make_graph("g", {{4, 0}, {4, 0}, {1, 0, "other"}}, {}),
                              [](OperationId id, Operation& operation) {
                                if (id.value() < 2) operation.group = GroupId(id.value());
                              });
  EXPECT_EQ(run(graph, 2).assignment, make_assignment({0, 1, 0}));
}

}  // namespace
}  // namespace doppler
