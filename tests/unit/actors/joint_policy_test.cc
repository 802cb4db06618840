#include "actors/joint_policy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "actors/learned_policy.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"
#include "tests/unit/actors/policy_cases.h"

namespace doppler {
namespace {

using test::kDraws;

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

// Two operations without inputs on two devices, scores written out from the tables: the chance of
// (operation, device) is exp(s + f) over the sum of all four.
TEST(JointNodePolicy, IsOneSoftmaxOverPairs) {
  const Graph graph = test::make_graph("pairs", {{10, 1}, {10, 1}}, {});
  const CostTable costs = CostTable::reference(graph, 2);
  constexpr HeadShape kTwoScores{.aggregate_rank = 8, .place_hidden = 8, .one_pass_devices = 2};
  WeightSnapshot snapshot = test::random_snapshot(2, kTwoScores, 6);
  HeadTables& tables = snapshot.tables[0];
  tables.select_scores = {0.0F, 1.0F};
  std::fill(tables.place_rows.begin(), tables.place_rows.end(), 0.0F);
  tables.place_rows[0] = 2.0F;                            // f(0, 0)
  tables.place_rows[kTwoScores.row_width() + 1] = -1.0F;  // f(1, 1)
  // s + f: (0,0) 2, (0,1) 0, (1,0) 1, (1,1) 0
  const double total = std::exp(2.0) + 1 + std::exp(1.0) + 1;
  Episode episode(costs);
  LearnedDevicePolicy device_policy(kTwoScores, tables, snapshot.weights, 2, {});
  JointNodePolicy node_policy(episode, tables, device_policy, {});
  std::map<std::pair<int, int>, double> expected = {{{0, 0}, std::exp(2.0) / total},
                                                    {{0, 1}, 1 / total},
                                                    {{1, 0}, std::exp(1.0) / total},
                                                    {{1, 1}, 1 / total}};
  std::map<std::pair<int, int>, int> counts;
  RandomStream random(3);
  for (int i = 0; i < kDraws; ++i) {
    episode.reset();
    device_policy.begin_episode();
    const OperationChoice operation = node_policy.select(episode, random);
    episode.select(operation.operation);
    const DeviceChoice device = device_policy.choose(episode, random);
    const std::pair<int, int> pair(operation.operation.value(), device.device.value());
    ++counts[pair];
    EXPECT_NEAR(std::exp(operation.log_probability + device.log_probability), expected[pair], 1e-6);
  }
  // Four standard deviations of a count: 4 sqrt(20000 p (1 - p)) < 283.
  for (const auto& [pair, p] : expected) EXPECT_NEAR(counts[pair], kDraws * p, 283);
}

// What an actor wrote down, the learner finds again.
TEST(JointNodePolicy, AReplayFindsTheSameLogProbabilities) {
  RandomStream random(5);
  const Graph graph = test::random_graph({.operation_count = 30, .least_cost = 1}, random);
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(30, kShape, 6);
  const HeadTables& tables = snapshot.tables[0];
  const SelectHead head(tables.select_scores);
  ReferenceSimulator simulator(costs);
  Episode episode(costs);
  LearnedDevicePolicy device_policy(kShape, tables, snapshot.weights, 3, {});
  JointNodePolicy node_policy(episode, tables, device_policy, {});
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kJoint, PlacePolicy::kLearned);
  Assignment assignment;
  Trajectory trajectory;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    play_episode(seed, episode, node_policy, device_policy, simulator, assignment, trajectory);
    HeadGradients gradients;
    gradients.reset(kShape, 30);
    const auto replay =
        gradient.add(trajectory, tables, snapshot.weights, head, {.advantage = 1}, gradients);
    ASSERT_TRUE(replay);
    EXPECT_LT(replay->largest_log_probability_difference, 1e-6);
  }
}

}  // namespace
}  // namespace doppler
