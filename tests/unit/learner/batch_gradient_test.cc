#include "learner/batch_gradient.h"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/learner/gradient_sums_fixture.h"

namespace doppler {
namespace {

class BatchGradientTest : public test::GradientSumsTest {
 protected:
  struct Found {
    std::vector<std::optional<ReplayStatistics>> replays;
    std::vector<HeadGradients> gradients;
  };
  Found sum(const std::vector<Trajectory>& batch, std::size_t threads) {
    std::vector<Replayers> workspaces;
    for (std::size_t t = 0; t < threads; ++t) workspaces.push_back(replayers());
    const ReplayHeads heads(snapshot_);
    std::vector<float> advantages;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      advantages.push_back(static_cast<float>(i) * 0.25F - 1.0F);
    }
    Found found;
    found.replays = sums_.sum(batch, advantages, kTerm, heads, workspaces, found.gradients);
    return found;
  }

  static constexpr LossTerm kTerm{.weight = 0.125F, .entropy_weight = 0.1F, .clip_ratio = 0.2F};
  BatchGradient sums_;
};

// 29 trajectories are chunks of 8, 8, 8 and 5.
TEST_F(BatchGradientTest, TheNumberOfThreadsDoesNotChangeABit) {
  const std::vector<Trajectory> episodes = batch(29);
  const Found one = sum(episodes, 1);
  const Found three = sum(episodes, 3);
  EXPECT_EQ(one.replays, three.replays);
  EXPECT_EQ(one.gradients, three.gradients);
  // What a larger batch left behind adds nothing to the next.
  const std::vector<Trajectory> fewer(episodes.begin(), episodes.begin() + 11);
  const Found after = sum(fewer, 1);
  sums_ = {};
  EXPECT_EQ(after.gradients, sum(fewer, 1).gradients);
  EXPECT_NE(after.gradients, one.gradients);
}

// Within a chunk trajectories are added one after the other, each to its graph.
TEST_F(BatchGradientTest, AChunkIsTheSumOfItsTrajectories) {
  const std::vector<Trajectory> episodes = batch(8);
  const Found found = sum(episodes, 1);
  const ReplayHeads heads(snapshot_);
  std::vector<HeadGradients> expected;
  heads.reset(expected);
  Replayers own = replayers();
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const std::size_t g = i % 2;
    LossTerm term = kTerm;
    term.advantage = static_cast<float>(i) * 0.25F - 1.0F;
    const auto replay = own.of(g).add(episodes[i], heads.tables(g), heads.weights(),
                                      heads.select(g), term, expected[g]);
    EXPECT_EQ(found.replays[i], replay);
  }
  EXPECT_EQ(found.gradients, expected);
}

TEST_F(BatchGradientTest, WhatDoesNotReplayAddsNothing) {
  std::vector<Trajectory> episodes = batch(8);
  std::swap(episodes[7].operations.front(), episodes[7].operations.back());
  const Found found = sum(episodes, 1);
  EXPECT_FALSE(found.replays[7]);
  EXPECT_TRUE(found.replays[6]);
  Trajectory of_no_graph = episodes[6];
  of_no_graph.graph = 2;
  episodes[7] = of_no_graph;
  EXPECT_FALSE(sum(episodes, 1).replays[7]);
  episodes.pop_back();
  EXPECT_EQ(sum(episodes, 1).gradients, found.gradients);
}

// Makespans of each graph: 10 and 30 about 20, 100 and 100 about 100; better is positive.
TEST_F(BatchGradientTest, AdvantagesAreNormalisedWithinEachGraph) {
  std::vector<Trajectory> episodes = batch(5);
  const std::int64_t makespans[] = {10, 100, 30, 100, 1};
  for (std::size_t i = 0; i < 5; ++i) episodes[i].makespan = SimTime(makespans[i]);
  episodes[4].graph = 2;
  Replayers own = replayers();
  const std::vector<float> advantages = batch_advantages(episodes, 0, training_graphs_, own);
  EXPECT_EQ(advantages, (std::vector<float>{1, 0, -1, 0, 0}));
}

}  // namespace
}  // namespace doppler
