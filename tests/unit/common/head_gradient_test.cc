#include "common/head_gradient.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/levels.h"
#include "common/log_probability_replay.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

class HeadGradientTest : public ::testing::Test {
 protected:
  HeadGradientTest() {
    RandomStream random(5);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = 18, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, 3));
    levels_ = compute_levels(*costs_);
    snapshot_ = test::random_snapshot(graph_->operation_count(), kShape, 7);
    // Played with other weights, so that importance ratios differ from 1.
    trajectory_ = test::sample_episode(
        *costs_, test::random_snapshot(graph_->operation_count(), kShape, 8), 9);
  }

  HeadGradient make(SelectPolicy select = SelectPolicy::kLearned,
                    PlacePolicy place = PlacePolicy::kLearned) const {
    return {kShape, *costs_, levels_, select, place};
  }

  double loss(const WeightSnapshot& snapshot, const LossTerm& term) {
    HeadGradient gradient = make(select_);
    HeadGradients sink;
    sink.reset(kShape, graph_->operation_count());
    const SelectHead head(snapshot.tables[0].select_scores);
    return gradient.add(trajectory_, snapshot.tables[0], snapshot.weights, head, term, sink)->loss;
  }

  // Central differences of the loss against the gradient, for every `stride`-th parameter.
  void check(const LossTerm& term) {
    HeadGradient gradient = make(select_);
    HeadGradients gradients;
    gradients.reset(kShape, graph_->operation_count());
    const SelectHead head(snapshot_.tables[0].select_scores);
    ASSERT_TRUE(
        gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head, term, gradients));
    compare(
        term, gradients.tables.select_scores, 1,
        [](WeightSnapshot & s) -> auto& { return s.tables[0].select_scores; });
    compare(
        term, gradients.tables.place_rows, 7,
        [](WeightSnapshot & s) -> auto& { return s.tables[0].place_rows; });
    compare(
        term, gradients.weights.feature_to_hidden, 3,
        [](WeightSnapshot & s) -> auto& { return s.weights.feature_to_hidden; });
    compare(
        term, gradients.weights.hidden_to_score, 1,
        [](WeightSnapshot & s) -> auto& { return s.weights.hidden_to_score; });
  }

  template <typename Access>
  void compare(const LossTerm& term, const std::vector<float>& gradient, std::size_t stride,
               Access access) {
    constexpr float kStep = 1e-3F;
    int nonzero = 0;
    for (std::size_t i = 0; i < gradient.size(); i += stride) {
      WeightSnapshot above = snapshot_;
      WeightSnapshot below = snapshot_;
      access(above)[i] += kStep;
      access(below)[i] -= kStep;
      const double difference =
          (loss(above, term) - loss(below, term)) /
          (static_cast<double>(access(above)[i]) - static_cast<double>(access(below)[i]));
      // Scores are floats: the difference is good to about 1e-6 of the loss's terms over the step.
      EXPECT_NEAR(gradient[i], difference, 0.01 + 0.01 * std::abs(difference)) << "parameter " << i;
      if (std::abs(difference) > 0.05) ++nonzero;
    }
    EXPECT_GT(nonzero, 0) << "nothing was compared";
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  WeightSnapshot snapshot_;
  Trajectory trajectory_;
  SelectPolicy select_ = SelectPolicy::kLearned;  // of check()
};

TEST_F(HeadGradientTest, ReinforceMatchesFiniteDifferences) {
  check({.kind = LossKind::kPolicyGradient, .advantage = 1.3F});
}

TEST_F(HeadGradientTest, EntropyBonusMatchesFiniteDifferences) {
  check({.kind = LossKind::kPolicyGradient, .advantage = 0.0F, .entropy_weight = 0.7F});
}

// What replays without gradient must find what replays with it finds, for each kind of policy.
TEST_F(HeadGradientTest, ReplayFindsTheLogProbabilitiesOfTheGradient) {
  const SelectHead head(snapshot_.tables[0].select_scores);
  for (SelectPolicy select :
       {SelectPolicy::kLearned, SelectPolicy::kCriticalPath, SelectPolicy::kJoint}) {
    HeadGradient gradient = make(select);
    HeadGradients sink;
    sink.reset(kShape, graph_->operation_count());
    const auto whole = gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head,
                                    {.advantage = 1}, sink);
    LogProbabilityReplay replay(kShape, *costs_, select, PlacePolicy::kLearned);
    const auto alone = replay.replay(trajectory_, snapshot_.tables[0], snapshot_.weights, head);
    ASSERT_TRUE(whole && alone);
    EXPECT_EQ(alone->select_log_probability, whole->select_log_probability);
    EXPECT_EQ(alone->place_log_probability, whole->place_log_probability);
    EXPECT_GT(whole->largest_log_probability_difference, 0.1F);  // played with other weights
    EXPECT_EQ(alone->largest_log_probability_difference, whole->largest_log_probability_difference);
  }
  Trajectory other = trajectory_;
  std::swap(other.operations.front(), other.operations.back());
  LogProbabilityReplay replay(kShape, *costs_, SelectPolicy::kLearned, PlacePolicy::kLearned);
  EXPECT_FALSE(replay.replay(other, snapshot_.tables[0], snapshot_.weights, head));
}

// A clip so wide that no decision reaches it: the gradient of ratio * advantage.
TEST_F(HeadGradientTest, ImportanceRatioMatchesFiniteDifferences) {
  check({.kind = LossKind::kPolicyGradient, .advantage = -0.4F, .clip_ratio = 1e6F});
}

// Ratios of exp(200) overflow a float. Decisions that became that much more probable are clipped,
// whichever way the advantage points.
TEST_F(HeadGradientTest, RatiosThatOverflowAddNothing) {
  for (float& p : trajectory_.select_log_probabilities) p = -200;
  for (float& p : trajectory_.place_log_probabilities) p = -200;
  const SelectHead head(snapshot_.tables[0].select_scores);
  for (float advantage : {1.0F, 0.0F, -1.0F}) {
    HeadGradient gradient = make();
    HeadGradients gradients;
    gradients.reset(kShape, graph_->operation_count());
    const auto replay = gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head,
                                     {.advantage = advantage, .clip_ratio = 0.2F}, gradients);
    ASSERT_TRUE(replay);
    EXPECT_TRUE(std::isfinite(replay->loss));
    for (float value : gradients.tables.place_rows) EXPECT_EQ(value, 0.0F);
    for (float value : gradients.tables.select_scores) EXPECT_EQ(value, 0.0F);
  }
}

// Scores of the graph far apart, so that weights against the largest of them are below what a float
// holds: gradients depend on differences between candidates alone, and stay as they are where one
// operation that never competes gets a far larger score.
TEST_F(HeadGradientTest, ScoresFarApartKeepTheGradientFinite) {
  for (float score : {200.0F, 2000.0F}) {
    WeightSnapshot snapshot = snapshot_;
    std::vector<float>& scores = snapshot.tables[0].select_scores;
    scores[trajectory_.operations.front().index()] += score;
    const SelectHead head(scores);
    HeadGradient gradient = make();
    HeadGradients gradients;
    gradients.reset(kShape, graph_->operation_count());
    const auto replay =
        gradient.add(trajectory_, snapshot.tables[0], snapshot.weights, head,
                     {.advantage = 1.0F, .entropy_weight = 0.1F, .clip_ratio = 0.2F}, gradients);
    ASSERT_TRUE(replay);
    EXPECT_TRUE(std::isfinite(replay->select_entropy));
    EXPECT_GT(replay->select_entropy, 0.1);
    for (float value : gradients.tables.select_scores) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_F(HeadGradientTest, ImitationOfTheCriticalPathMatchesFiniteDifferences) {
  check({.kind = LossKind::kImitation, .teacher = Teacher::kCriticalPath});
}

TEST_F(HeadGradientTest, ImitationOfAPlanMatchesFiniteDifferences) {
  check({.kind = LossKind::kImitation, .teacher = Teacher::kHeft});
}

TEST_F(HeadGradientTest, JointPolicyMatchesFiniteDifferences) {
  select_ = SelectPolicy::kJoint;
  check({.kind = LossKind::kPolicyGradient, .advantage = 1.3F});
  check({.kind = LossKind::kPolicyGradient, .advantage = 0.0F, .entropy_weight = 0.7F});
  check({.kind = LossKind::kImitation, .teacher = Teacher::kCriticalPath});
}

// Central differences for every number of every row, where rows hold terms of 3 devices and then
// padding from the column `terms_at` on.
void check_terms(const HeadShape& shape, std::size_t terms_at, SelectPolicy select,
                 PlacePolicy place, const CostTable& costs, const Levels& levels) {
  const std::size_t operations = costs.graph().operation_count();
  WeightSnapshot snapshot = test::random_snapshot(operations, shape, 11);
  const Trajectory played =
      test::sample_episode(costs, test::random_snapshot(operations, shape, 12), 9);
  const LossTerm term{.kind = LossKind::kPolicyGradient, .advantage = 1.3F, .entropy_weight = 0.2F};
  HeadGradient gradient(shape, costs, levels, select, place);
  const SelectHead head(snapshot.tables[0].select_scores);
  const auto loss = [&](HeadGradients& into) {
    into.reset(shape, operations);
    return gradient.add(played, snapshot.tables[0], snapshot.weights, head, term, into)->loss;
  };
  HeadGradients gradients;
  HeadGradients sink;
  loss(gradients);
  std::vector<float>& rows = snapshot.tables[0].place_rows;
  ASSERT_EQ(rows.size(), operations * (terms_at + 8));
  double largest_term = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float before = rows[i];
    rows[i] = before + 1e-3F;
    const double above = loss(sink);
    rows[i] = before - 1e-3F;
    const double difference = (above - loss(sink)) / 2e-3;
    rows[i] = before;
    EXPECT_NEAR(gradients.tables.place_rows[i], difference, 0.01 + 0.01 * std::abs(difference))
        << i;
    const std::size_t column = i % (terms_at + 8);
    if (column >= terms_at + 3) {
      EXPECT_EQ(gradients.tables.place_rows[i], 0);  // padding
    } else if (column >= terms_at) {
      largest_term = std::max(largest_term, std::abs(difference));
    }
  }
  EXPECT_GT(largest_term, 0.05) << "nothing was compared";
}

// Scores that are parameters themselves.
TEST_F(HeadGradientTest, OnePassPlacementMatchesFiniteDifferences) {
  check_terms({.aggregate_rank = 8, .place_hidden = 8, .one_pass_devices = 3}, 0,
              SelectPolicy::kCriticalPath, PlacePolicy::kOnePass, *costs_, levels_);
}

// And such terms beside all others: 16 features, 8 + 8, 8 + 8.
TEST_F(HeadGradientTest, TermsOfDevicesMatchFiniteDifferences) {
  check_terms({.aggregate_rank = 8, .place_hidden = 8, .device_terms = 3}, 48,
              SelectPolicy::kLearned, PlacePolicy::kLearned, *costs_, levels_);
}

TEST_F(HeadGradientTest, WeightScalesTheGradient) {
  HeadGradient gradient = make();
  const SelectHead head(snapshot_.tables[0].select_scores);
  HeadGradients whole;
  HeadGradients half;
  whole.reset(kShape, graph_->operation_count());
  half.reset(kShape, graph_->operation_count());
  gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head, {.advantage = 1}, whole);
  gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head,
               {.weight = 0.5F, .advantage = 1}, half);
  half.add(half);
  for (std::size_t i = 0; i < whole.tables.place_rows.size(); ++i) {
    EXPECT_NEAR(whole.tables.place_rows[i], half.tables.place_rows[i], 1e-5);
  }
}

// Behaviour weights and replayed weights are the same: the replay finds the worker's
// log-probabilities to the last bit.
TEST_F(HeadGradientTest, ReplayFindsTheWorkersLogProbabilities) {
  const Trajectory own = test::sample_episode(*costs_, snapshot_, 21);
  HeadGradient gradient = make();
  HeadGradients sink;
  sink.reset(kShape, graph_->operation_count());
  const SelectHead head(snapshot_.tables[0].select_scores);
  const auto statistics = gradient.add(own, snapshot_.tables[0], snapshot_.weights, head,
                                       {.advantage = 1, .clip_ratio = 0.2F}, sink);
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->largest_log_probability_difference, 0.0F);
  EXPECT_EQ(statistics->clipped_decisions, 0);
}

// Ratio far outside of the clip for a positive advantage: no decision of which the ratio exceeds 1
// + c adds anything.
TEST_F(HeadGradientTest, ClippedDecisionsAddNothing) {
  for (float& value : trajectory_.select_log_probabilities) value = -100;
  for (float& value : trajectory_.place_log_probabilities) value = -100;
  HeadGradient gradient = make();
  HeadGradients gradients;
  gradients.reset(kShape, graph_->operation_count());
  const SelectHead head(snapshot_.tables[0].select_scores);
  const auto statistics = gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head,
                                       {.advantage = 1, .clip_ratio = 0.2F}, gradients);
  ASSERT_TRUE(statistics);
  EXPECT_GT(statistics->clipped_decisions, 0);
  for (float value : gradients.tables.place_rows) EXPECT_EQ(value, 0.0F);
}

TEST_F(HeadGradientTest, ARuleInPlaceOfAHeadHasNoGradient) {
  HeadGradient gradient = make(SelectPolicy::kCriticalPath, PlacePolicy::kLearned);
  HeadGradients gradients;
  gradients.reset(kShape, graph_->operation_count());
  const SelectHead head(snapshot_.tables[0].select_scores);
  gradient.add(trajectory_, snapshot_.tables[0], snapshot_.weights, head, {.advantage = 1},
               gradients);
  for (float value : gradients.tables.select_scores) EXPECT_EQ(value, 0.0F);
}

TEST_F(HeadGradientTest, RefusesWhatDoesNotReplayAndAddsNothing) {
  HeadGradient gradient = make();
  const SelectHead head(snapshot_.tables[0].select_scores);
  const auto refused = [&](Trajectory trajectory) {
    HeadGradients gradients;
    gradients.reset(kShape, graph_->operation_count());
    const bool added = gradient
                           .add(trajectory, snapshot_.tables[0], snapshot_.weights, head,
                                {.advantage = 1}, gradients)
                           .has_value();
    if (!added) {
      for (float value : gradients.tables.place_rows) EXPECT_EQ(value, 0.0F);
    }
    return !added;
  };
  EXPECT_FALSE(refused(trajectory_));
  Trajectory broken = trajectory_;
  broken.operations.pop_back();
  EXPECT_TRUE(refused(broken)) << "too short";
  broken = trajectory_;
  broken.operations[1] = broken.operations[0];
  EXPECT_TRUE(refused(broken)) << "an operation twice";
  broken = trajectory_;
  std::reverse(broken.operations.begin(), broken.operations.end());
  EXPECT_TRUE(refused(broken)) << "successors before predecessors";
  broken = trajectory_;
  broken.devices[3] = DeviceId(3);
  EXPECT_TRUE(refused(broken)) << "no such device";
  broken = trajectory_;
  broken.operations[0] = OperationId(1000000);
  EXPECT_TRUE(refused(broken)) << "no such operation";
}

}  // namespace
}  // namespace doppler
