#include "sim/peft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/heft.h"
#include "sim/reference_simulator.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

TEST(Peft, GoesWhereItsSuccessorHasToBe) {
  // 0 (2 ticks, transfer 10) -> 1 (3 ticks), which must run on device 1. HEFT starts 0 on device 0,
  // where it ends as early as on device 1: 2 + 10 + 3 = 15. The optimistic cost of 0 is 10 + 3 = 13
  // on device 0 and 3 on device 1: 2 + 3 = 5.
  const Graph graph = test::pin(test::make_graph("g", {{2, 10}, {3, 0}}, {{0, 1}}), 1, 1);
  const CostTable costs = CostTable::reference(graph, 2);
  EXPECT_EQ(heft_schedule(costs).makespan(), SimTime(15));
  ReferenceSimulator simulator(costs);
  const BaselineResult result = peft(costs, simulator);
  EXPECT_EQ(result.assignment, make_assignment({1, 1}));
  EXPECT_EQ(result.makespan, SimTime(5));
}

TEST(Peft, TakesTheLargestMeanOptimisticCostFirst) {
  // Exits have optimistic cost 0. 0 -> 3 (4 ticks) and 1 -> 4 (6 ticks), on one of two devices the
  // successor is local: 4 and 6 on both devices. 2 has none. So the order is 1, then of the ready
  // ones 0, 2 and 4 (0) the 0; then 2, 3, 4 all have 0: by id.
  const Graph graph =
      test::make_graph("g", {{1, 1}, {1, 1}, {1, 1}, {4, 1}, {6, 1}}, {{0, 3}, {1, 4}});
  EXPECT_THAT(peft_schedule(CostTable::reference(graph, 2)).order(),
              testing::ElementsAre(OperationId(1), OperationId(0), OperationId(2), OperationId(3),
                                   OperationId(4)));
}

TEST(Peft, InsertsIntoGaps) {
  // 0 is pinned to device 1 and sends 5 ticks to 1 on device 0: 1 runs there at 2 + 5 = 7..8. 2 and
  // 3 are pinned to device 0 and come last by optimistic cost, but fit before 1.
  Graph graph = test::make_graph("g", {{2, 5}, {1, 0}, {3, 0}, {4, 0}}, {{0, 1}});
  graph = test::pin(test::pin(test::pin(test::pin(graph, 0, 1), 1, 0), 2, 0), 3, 0);
  const PartialSchedule schedule = peft_schedule(CostTable::reference(graph, 2));
  EXPECT_EQ(schedule.order().front(), OperationId(0));
  EXPECT_EQ(schedule.makespan(), SimTime(8));
}

}  // namespace
}  // namespace doppler
