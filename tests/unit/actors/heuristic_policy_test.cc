#include "actors/heuristic_policy.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "common/levels.h"
#include "tests/support/tiny_graphs.h"
#include "tests/unit/actors/policy_cases.h"

namespace doppler {
namespace {

using test::fork;
using test::kDraws;
using test::kTolerance;

TEST(CriticalPathNodePolicy, TakesTheLargestBottomLevelAndSharesTies) {
  // Bottom levels: 0 and 1 have 5 + 1 + 1 each, 2 has 3 + 1 + 1.
  const Graph graph =
      test::make_graph("ties", {{5, 1}, {5, 1}, {3, 1}, {1, 1}}, {{0, 3}, {1, 3}, {2, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  const Levels levels = compute_levels(costs);
  Episode episode(costs);
  CriticalPathNodePolicy policy(levels);
  RandomStream random(4);
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[policy.select(episode, random).operation.value()];
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_NEAR(static_cast<double>(counts[0]) / kDraws, 0.5, kTolerance);
}

// Smallest ids first: 0, 2, 1, 3, whatever costs most.
TEST(TopologicalNodePolicy, FollowsTheGraphAlone) {
  const Graph graph =
      test::make_graph("order", {{1, 1}, {9, 1}, {1, 1}, {1, 1}}, {{0, 3}, {2, 1}, {1, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  TopologicalNodePolicy policy;
  RandomStream random(4);
  std::vector<int> order;
  while (!episode.done()) {
    const OperationChoice choice = policy.select(episode, random);
    EXPECT_EQ(choice.log_probability, 0);
    ASSERT_TRUE(episode.is_candidate(choice.operation));
    order.push_back(choice.operation.value());
    episode.select(choice.operation);
    episode.place(DeviceId(0));
  }
  EXPECT_EQ(order, (std::vector<int>{0, 2, 1, 3}));
}

// 0 on d1 [0, 4]; 1 can start at 0 on d0 and d2 and at 4 on d1.
TEST(EarliestStartDevicePolicy, TakesTheEarliestAndSharesTies) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 3);
  Episode episode(costs);
  episode.select(OperationId(0));
  episode.place(DeviceId(1));
  episode.select(OperationId(1));
  EarliestStartDevicePolicy policy;
  RandomStream random(5);
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[policy.choose(episode, random).device.value()];
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_FALSE(counts.contains(1));
  EXPECT_NEAR(static_cast<double>(counts[0]) / kDraws, 0.5, kTolerance);
}

}  // namespace
}  // namespace doppler
