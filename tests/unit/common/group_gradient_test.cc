#include "common/group_gradient.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "common/advantages.h"
#include "common/energy.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};
constexpr std::size_t kOperations = 18;

class GroupGradientTest : public ::testing::Test {
 protected:
  GroupGradientTest() {
    RandomStream random(5);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = kOperations, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, 3));
    levels_ = compute_levels(*costs_);
    snapshot_ = test::random_snapshot(kOperations, kShape, 7);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      group_.push_back(test::sample_episode(*costs_, snapshot_, seed));
    }
  }
  HeadGradient replay() const {
    return {kShape, *costs_, levels_, SelectPolicy::kLearned, PlacePolicy::kLearned};
  }
  GroupGradient of_group(const GradientOrder& order) const {
    HeadGradient gradient = replay();
    const SelectHead head(snapshot_.tables[0].select_scores);
    return group_gradient(group_, snapshot_, head, order, gradient);
  }

  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
  WeightSnapshot snapshot_;
  std::vector<Trajectory> group_;
};

// Episode by episode, with the advantages of the group.
TEST_F(GroupGradientTest, IsTheSumOverTheGroup) {
  const GradientOrder order{.episode_weight = 0.25F, .entropy_weight = 0.1F, .clip_ratio = 0.2F};
  const GroupGradient found = of_group(order);
  std::vector<SimTime> makespans;
  for (const Trajectory& trajectory : group_) makespans.push_back(trajectory.makespan);
  const std::vector<float> advantages = normalised_advantages(makespans);
  HeadGradient gradient = replay();
  const SelectHead head(snapshot_.tables[0].select_scores);
  HeadGradients expected;
  expected.reset(kShape, kOperations);
  double loss = 0;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    const LossTerm term{
        .weight = 0.25F, .advantage = advantages[i], .entropy_weight = 0.1F, .clip_ratio = 0.2F};
    loss +=
        gradient.add(group_[i], snapshot_.tables[0], snapshot_.weights, head, term, expected)->loss;
  }
  EXPECT_EQ(found.sum, expected);
  EXPECT_EQ(found.statistics.loss, loss);
  EXPECT_NE(expected.tables.select_scores, std::vector<float>(kOperations, 0.0F));
}

// With the transfers, other episodes are the good ones: as if the makespans were the energies.
TEST_F(GroupGradientTest, TakesAdvantagesOfEnergies) {
  const GroupGradient found = of_group({.transfer_weight = 3});
  EXPECT_NE(found.sum, of_group({}).sum);
  for (Trajectory& trajectory : group_) trajectory.makespan = energy(*costs_, trajectory, 3);
  EXPECT_EQ(found.sum, of_group({}).sum);
}

TEST_F(GroupGradientTest, OfTheImitationStageFollowsTheTeacher) {
  for (Trajectory& trajectory : group_) trajectory.stage = Stage::kImitation;
  const GroupGradient critical = of_group({.teacher = Teacher::kCriticalPath});
  const GroupGradient own = of_group({.teacher = Teacher::kBest});
  EXPECT_NE(critical.sum, own.sum);
  // Advantages play no part: all makespans alike change nothing.
  for (Trajectory& trajectory : group_) trajectory.makespan = SimTime(5);
  EXPECT_EQ(of_group({.teacher = Teacher::kBest}), own);
}

TEST_F(GroupGradientTest, IsSoundOnlyInItsOwnShapeAndFinite) {
  const GroupGradient good = of_group({});
  EXPECT_TRUE(is_sound(good, kShape, kOperations));
  EXPECT_FALSE(is_sound(good, kShape, kOperations + 1));
  EXPECT_FALSE(is_sound(good, {.aggregate_rank = 16, .place_hidden = 8}, kOperations));
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    for (std::size_t at : {std::size_t{0}, good.sum.tables.place_rows.size() - 1}) {
      GroupGradient damaged = good;
      damaged.sum.tables.place_rows[at] = bad;
      EXPECT_FALSE(is_sound(damaged, kShape, kOperations)) << bad << " at " << at;
    }
    GroupGradient damaged = good;
    damaged.sum.weights.hidden_to_score.back() = bad;
    EXPECT_FALSE(is_sound(damaged, kShape, kOperations));
    damaged = good;
    damaged.statistics.loss = static_cast<double>(bad);
    EXPECT_FALSE(is_sound(damaged, kShape, kOperations));
  }
}

}  // namespace
}  // namespace doppler
