// The trainer's updates from gradients that workers computed.
#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "common/group_gradient.h"
#include "common/head_gradient.h"
#include "tests/unit/learner/trainer_fixture.h"

namespace doppler {
namespace {

// Batches of 16 in two groups of 8, as workers would bring them.
class GroupsTest : public test::TrainerTest {
 protected:
  GroupsTest() {
    learner_.batch_episodes = 16;
    settings_.entropy_weight = 0.25;
  }
  std::unique_ptr<Trainer> make_own() const {
    return std::make_unique<Trainer>(ModelConfig{}, learner_, Teacher::kCriticalPath,
                                     std::vector<TrainingGraph>{{costs_.get(), &levels_}}, 42);
  }
  std::vector<TrainingGroup> groups_of(Trainer& trainer, const std::vector<Trajectory>& batch,
                                       std::size_t size) const {
    const WeightSnapshot snapshot = trainer.snapshot(0, 0);
    const SelectHead head(snapshot.tables[0].select_scores);
    HeadGradient replay(snapshot.shape, *costs_, levels_, SelectPolicy::kLearned,
                        PlacePolicy::kLearned);
    const GradientOrder order{.episode_weight = 1.0F / 16,
                              .entropy_weight = static_cast<float>(settings_.entropy_weight),
                              .clip_ratio = static_cast<float>(learner_.clip_ratio)};
    std::vector<TrainingGroup> groups;
    for (std::size_t first = 0; first < batch.size(); first += size) {
      const std::span group(batch.data() + first, std::min(size, batch.size() - first));
      groups.push_back({first, group.size(), group_gradient(group, snapshot, head, order, replay)});
    }
    return groups;
  }

  LearnerConfig learner_;
  UpdateSettings settings_ = kSettings;
};

// Imitation knows no advantages, and a group of 8 is what the learner sums first.
TEST_F(GroupsTest, ImitationIsTheLearnersOwnToTheLastBit) {
  settings_.stage = Stage::kImitation;
  auto own = make_own();
  auto spared = make_own();
  std::vector<Trajectory> episodes = batch(*own, 0, 16);
  for (Trajectory& trajectory : episodes) trajectory.stage = Stage::kImitation;
  settings_.self_imitation_weight = 0.5;
  std::vector<bool> invalid;
  for (int i = 0; i < 3; ++i) {
    const auto groups = groups_of(*spared, episodes, 8);
    const auto expected = own->update(episodes, {episodes[2]}, settings_, invalid);
    const auto found = spared->update(episodes, groups, {episodes[2]}, settings_, invalid);
    EXPECT_EQ(found.gradient_norm, expected.gradient_norm);
    EXPECT_DOUBLE_EQ(found.loss, expected.loss);
    EXPECT_EQ(found.trained, 16U);
  }
  EXPECT_EQ(spared->parameters(), own->parameters());
  EXPECT_EQ(spared->optimizer_state(), own->optimizer_state());
}

// One group, and so the same advantages; only the order of summing differs. What is compared is the
// gradient, as Adam's first moment, 0.1 g, has it: Adam's step divides by |g|, which near 0 is
// rounding alone.
TEST_F(GroupsTest, PolicyGradientOfOneGroupIsTheLearnersOwnUpToRounding) {
  auto own = make_own();
  auto spared = make_own();
  std::vector<bool> invalid;
  const std::vector<Trajectory> episodes = batch(*own, 0, 16);
  const auto groups = groups_of(*spared, episodes, 16);
  const auto expected = own->update(episodes, {}, settings_, invalid);
  const auto found = spared->update(episodes, groups, {}, settings_, invalid);
  EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-5 * expected.gradient_norm);
  EXPECT_NEAR(found.select_entropy, expected.select_entropy, 1e-9);
  EXPECT_NEAR(found.place_entropy, expected.place_entropy, 1e-9);
  EXPECT_NEAR(found.effective_sample_fraction, 1.0, 1e-5);
  const auto a = own->optimizer_state();
  const auto b = spared->optimizer_state();
  int compared = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    if (!a[t].name.ends_with("/exp_avg")) continue;
    for (std::size_t i = 0; i < a[t].values.size(); ++i) {
      ASSERT_NEAR(a[t].values[i], b[t].values[i], 1e-6) << a[t].name << " " << i;
      compared += std::abs(a[t].values[i]) > 1e-4F ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST_F(GroupsTest, WhatIsNotSoundIsInvalidAndChangesNothing) {
  auto trainer = make_own();
  auto without = make_own();
  const std::vector<Trajectory> episodes = batch(*trainer, 0, 24);
  const std::vector<Trajectory> good(episodes.begin(), episodes.begin() + 16);
  std::vector<TrainingGroup> groups = groups_of(*trainer, episodes, 8);
  groups[2].gradient.sum.tables.place_rows[7] = std::nanf("");
  std::vector<bool> invalid;
  const auto found = trainer->update(episodes, groups, {}, settings_, invalid);
  EXPECT_EQ(found.trained, 16U);
  EXPECT_EQ(found.invalid, 8U);
  EXPECT_FALSE(invalid[15]);
  EXPECT_TRUE(invalid[16]);
  EXPECT_TRUE(invalid[23]);
  EXPECT_TRUE(std::isfinite(found.gradient_norm));

  // The same with a decision that does not replay.
  groups = groups_of(*without, episodes, 8);
  std::vector<Trajectory> wrong = episodes;
  std::swap(wrong[20].operations.front(), wrong[20].operations.back());
  without->update(wrong, groups, {}, settings_, invalid);
  EXPECT_TRUE(invalid[16]);
  EXPECT_FALSE(invalid[0]);
  EXPECT_EQ(without->parameters(), trainer->parameters());
}

TEST_F(GroupsTest, WithoutAnySoundGroupTheUpdateIsSkipped) {
  auto trainer = make_own();
  const auto before = trainer->parameters();
  const std::vector<Trajectory> episodes = batch(*trainer, 0, 16);
  std::vector<TrainingGroup> groups = groups_of(*trainer, episodes, 8);
  for (TrainingGroup& group : groups) group.gradient.sum.tables.select_scores.pop_back();
  std::vector<bool> invalid;
  const auto found = trainer->update(episodes, groups, {}, settings_, invalid);
  EXPECT_TRUE(found.skipped);
  EXPECT_EQ(found.invalid, 16U);
  EXPECT_EQ(trainer->parameters(), before);
}

// Of 16 episodes 8 came in: each counts twice, as it does where the learner replays them.
TEST_F(GroupsTest, ABatchThatLostTicketsIsAMeanOverTheRest) {
  auto own = make_own();
  auto spared = make_own();
  const std::vector<Trajectory> episodes = batch(*own, 0, 8);
  std::vector<bool> invalid;
  const auto expected = own->update(episodes, {}, settings_, invalid);
  const auto found =
      spared->update(episodes, groups_of(*spared, episodes, 8), {}, settings_, invalid);
  EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-5 * expected.gradient_norm);
}

// The self-test where nothing is replayed.
TEST_F(GroupsTest, FindsATrajectoryThatItsWeightsDoNotGive) {
  auto trainer = make_own();
  const WeightSnapshot snapshot = trainer->snapshot(0, 0);
  Trajectory trajectory = batch(*trainer, 0, 1).front();
  EXPECT_LT(trainer->log_probability_error(trajectory, snapshot).value(), 1e-4);
  trajectory.place_log_probabilities[5] -= 0.25F;
  EXPECT_NEAR(trainer->log_probability_error(trajectory, snapshot).value(), 0.25, 1e-3);
  std::swap(trajectory.operations.front(), trajectory.operations.back());
  EXPECT_FALSE(trainer->log_probability_error(trajectory, snapshot));
}

}  // namespace
}  // namespace doppler
