#include "actors/learned_policy.h"

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/rollouts.h"
#include "tests/unit/actors/policy_cases.h"

namespace doppler {
namespace {

using test::fork;
using test::kDraws;
using test::kTolerance;

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

TEST(LearnedNodePolicy, SamplesFromItsSoftmax) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  const std::vector<float> scores = {std::log(3.0F), 0.0F,
                                     0.0F};  // 3 : 1 between the candidates 0 and 1
  const SelectHead head(scores);
  LearnedNodePolicy policy(head, {});
  RandomStream random(1);
  int first = 0;
  for (int i = 0; i < kDraws; ++i) {
    const OperationChoice choice = policy.select(episode, random);
    const bool is_first = choice.operation == OperationId(0);
    first += is_first ? 1 : 0;
    EXPECT_NEAR(std::exp(choice.log_probability), is_first ? 0.75 : 0.25, 1e-5);
  }
  EXPECT_NEAR(static_cast<double>(first) / kDraws, 0.75, kTolerance);
}

TEST(LearnedNodePolicy, GreedyTakesTheLargestScoreAndOfEqualsTheSmallestId) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  RandomStream random(1);
  const std::vector<float> larger = {0.0F, 0.5F, 9.0F};
  const SelectHead larger_head(larger);
  EXPECT_EQ(LearnedNodePolicy(larger_head, {.greedy = true}).select(episode, random).operation,
            OperationId(1));
  const std::vector<float> equal = {0.5F, 0.5F, 0.0F};
  const SelectHead equal_head(equal);
  EXPECT_EQ(LearnedNodePolicy(equal_head, {.greedy = true}).select(episode, random).operation,
            OperationId(0));
}

// A policy that always takes 0, and epsilon 0.4: 1 comes in 0.4 / 2 of the draws.
TEST(LearnedNodePolicy, EpsilonIsUniformOverTheCandidates) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 2);
  Episode episode(costs);
  const std::vector<float> scores = {50.0F, 0.0F, 0.0F};
  const SelectHead head(scores);
  LearnedNodePolicy policy(head, {.epsilon = 0.4});
  RandomStream random(2);
  int second = 0;
  for (int i = 0; i < kDraws; ++i) {
    second += policy.select(episode, random).operation == OperationId(1) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(second) / kDraws, 0.2, kTolerance);
}

TEST(LearnedDevicePolicy, SamplesAsItsLogProbabilitiesSay) {
  const Graph graph = fork();
  const CostTable costs = CostTable::reference(graph, 3);
  Episode episode(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 5);
  LearnedDevicePolicy policy(kShape, snapshot.tables[0], snapshot.weights, 3, {});
  policy.begin_episode();
  episode.select(OperationId(0));
  policy.placed(OperationId(0), DeviceId(1));
  episode.place(DeviceId(1));
  episode.select(OperationId(1));
  RandomStream random(3);
  std::map<int, int> counts;
  std::map<int, double> probabilities;
  for (int i = 0; i < kDraws; ++i) {
    const DeviceChoice choice = policy.choose(episode, random);
    ++counts[choice.device.value()];
    probabilities[choice.device.value()] = std::exp(static_cast<double>(choice.log_probability));
  }
  double sum = 0;
  for (const auto& [device, probability] : probabilities) {
    EXPECT_NEAR(static_cast<double>(counts[device]) / kDraws, probability, kTolerance);
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

}  // namespace
}  // namespace doppler
