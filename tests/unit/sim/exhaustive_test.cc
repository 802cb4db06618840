#include "sim/exhaustive.h"

#include <algorithm>
#include <stop_token>

#include <gtest/gtest.h>

#include "sim/reference_simulator.h"
#include "tests/support/pinned_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;

// Every assignment that is allowed, one after the other.
SimTime least_by_enumeration(const CostTable& costs) {
  ReferenceSimulator simulator(costs);
  const std::size_t n = costs.graph().operation_count();
  Assignment assignment(n, DeviceId(0));
  SimTime least = SimTime::max();
  while (true) {
    if (test::is_allowed(costs, assignment)) {
      least = std::min(least, simulator.run(assignment, {}));
    }
    std::size_t at = 0;
    for (; at < n; ++at) {
      DeviceId& device = assignment.raw()[at];
      device = DeviceId((device.value() + 1) % costs.device_count());
      if (device.value() != 0) break;
    }
    if (at == n) return least;
  }
}

TEST(Exhaustive, FindsTheOptimumOfTinyGraphs) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  const auto result = exhaustive(costs, simulator, {});
  ASSERT_TRUE(result.has_value());
  // 1, then two of the four here and two there, 1 tick later: 1 + 1 + 10; the join is there: + 1.
  EXPECT_EQ(result->makespan, SimTime(13));
  EXPECT_TRUE(result->optimal);
  EXPECT_EQ(simulator.run(result->assignment, {}), SimTime(13));
}

TEST(Exhaustive, EqualsEnumeration) {
  RandomStream random(3);
  for (int g = 0; g < 1500; ++g) {
    const int devices = 1 + static_cast<int>(random.next_below(3));
    test::RandomGraphOptions options{
        .operation_count = 1 + static_cast<std::int32_t>(random.next_below(6)), .largest_cost = 9};
    Graph graph = test::random_graph(options, random);
    if (g % 2 == 1) graph = test::constrain_at_random(graph, devices, random);
    const CostTable costs = CostTable::reference(graph, devices);
    ReferenceSimulator simulator(costs);
    const SimTime least = least_by_enumeration(costs);
    for (bool tells_all : {false, true}) {
      for (bool bounds : {false, true}) {
        const auto result = exhaustive(
            costs, simulator, {.cost_table_tells_all = tells_all, .cost_table_bounds = bounds});
        ASSERT_TRUE(result.has_value());
        ASSERT_EQ(result->makespan, least) << "graph " << g;
        EXPECT_TRUE(test::is_allowed(costs, result->assignment));
      }
    }
  }
}

TEST(Exhaustive, LooksAtOneOfAllRelabellings) {
  // Five independent operations on three devices that are alike: of 3^5 = 243 assignments those
  // that use new devices in order are 1 + 15 + 25 = 41 (Stirling numbers of 1, 2 and 3 parts);
  // HEFT's is costed once more.
  const Graph graph = test::make_graph("g", {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}, {});
  const CostTable costs = CostTable::reference(graph, 3);
  ReferenceSimulator simulator(costs);
  EXPECT_EQ(exhaustive(costs, simulator, {.cost_table_bounds = false})->evaluations, 42);
  EXPECT_EQ(
      exhaustive(costs, simulator, {.cost_table_tells_all = false, .cost_table_bounds = false})
          ->evaluations,
      244);
  // HEFT: 5, 4, 3 on a device each, then 2 behind 3 and 1 behind 4 or 2: 5 = 15 / 3, the bound.
  EXPECT_EQ(exhaustive(costs, simulator, {})->evaluations, 1);
}

TEST(Exhaustive, GivesUpAtItsLimit) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  EXPECT_FALSE(exhaustive(costs, simulator, {.limit = 5}).has_value());
}

TEST(Exhaustive, StopsWithTheBestSoFar) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  std::stop_source stop;
  stop.request_stop();
  const auto result = exhaustive(costs, simulator, {.stop = stop.get_token()});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->stopped_early);
  EXPECT_FALSE(result->optimal);
  EXPECT_EQ(result->evaluations, 1);  // HEFT's, from which it begins
  EXPECT_FALSE(exhaustive(costs, simulator, {})->stopped_early);
}

TEST(Exhaustive, DevicesAreInterchangeableUnlessAConstraintTellsThemApart) {
  const Graph graph = test::chain_graph();
  EXPECT_EQ(interchangeable_devices(CostTable::reference(graph, 3)).raw(),
            (std::vector<std::int32_t>{0, 0, 0}));
  const Graph pinned = test::pin(graph, 1, 1);
  EXPECT_EQ(interchangeable_devices(CostTable::reference(pinned, 3)).raw(),
            (std::vector<std::int32_t>{0, 1, 0}));
}

}  // namespace
}  // namespace doppler
