#include "learner/schedule.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

StagesConfig stages() {
  StagesConfig config;
  config.imitation = {.episodes = 100,
                      .share_of_seconds = 0.1,
                      .learning_rate_start = 0.01,
                      .learning_rate_end = 0.01};
  config.simulation = {.episodes = 1000,
                       .share_of_seconds = 0.4,
                       .learning_rate_start = 0.02,
                       .learning_rate_end = 0.0,
                       .entropy_start = 0.1,
                       .entropy_end = 0.0};
  return config;
}

LearnerConfig learner() {
  LearnerConfig config;
  config.batch_episodes = 10;
  return config;
}

// 100 episodes in batches of 10: batches 1 to 10 imitate, 11 to 110 follow.
TEST(Schedule, EpisodeBudgetsAreAFunctionOfTheBatch) {
  const Schedule schedule(stages(), learner(), 0);
  EXPECT_EQ(schedule.at(1, 0)->stage, Stage::kImitation);
  EXPECT_EQ(schedule.at(10, 1e9)->stage, Stage::kImitation);
  EXPECT_EQ(schedule.at(11, 0)->stage, Stage::kSimulation);
  EXPECT_EQ(schedule.at(110, 0)->stage, Stage::kSimulation);
  EXPECT_FALSE(schedule.at(111, 0));
}

// Batch 61 is half way through the second stage (50 of 100 batches done).
TEST(Schedule, RatesRunDownOverTheStage) {
  const Schedule schedule(stages(), learner(), 0);
  EXPECT_DOUBLE_EQ(schedule.at(11, 0)->learning_rate, 0.02);
  EXPECT_DOUBLE_EQ(schedule.at(61, 0)->learning_rate, 0.01);
  EXPECT_DOUBLE_EQ(schedule.at(61, 0)->entropy_weight, 0.05);
  EXPECT_NEAR(schedule.at(110, 0)->learning_rate, 0.0002, 1e-12);
}

// 50 seconds, shares 0.1 and 0.4: 10 s and 40 s, since shares are relative to each other.
TEST(Schedule, SecondsAreSharedOut) {
  const Schedule schedule(stages(), learner(), 50);
  EXPECT_EQ(schedule.at(1, 9.9)->stage, Stage::kImitation);
  EXPECT_EQ(schedule.at(1, 10.1)->stage, Stage::kSimulation);
  EXPECT_DOUBLE_EQ(schedule.at(1, 30)->used_fraction, 0.5);
  EXPECT_FALSE(schedule.at(1, 50));
}

// The same fraction of the budget gives the same rates, whatever the budget's length.
TEST(Schedule, ARunOfAnyLengthEndsWithItsRatesRunDown) {
  for (double seconds : {1.0, 60.0, 86400.0}) {
    const Schedule schedule(stages(), learner(), seconds);
    EXPECT_NEAR(schedule.at(1, seconds * 0.999999)->learning_rate, 0.0, 1e-6);
    EXPECT_NEAR(schedule.at(1, seconds * 0.6)->learning_rate, 0.01, 1e-12);
  }
}

TEST(Schedule, ABatchOpenedInAStageStaysInIt) {
  const Schedule schedule(stages(), learner(), 50);
  const StagePoint point = schedule.within(Stage::kImitation, 1, 49);
  EXPECT_EQ(point.stage, Stage::kImitation);
  EXPECT_DOUBLE_EQ(point.used_fraction, 1.0);
}

TEST(Schedule, LeavesOutDisabledStages) {
  StagesConfig config = stages();
  config.imitation.enabled = false;
  const Schedule schedule(config, learner(), 40);
  EXPECT_EQ(schedule.at(1, 0)->stage, Stage::kSimulation);
  EXPECT_DOUBLE_EQ(schedule.at(1, 20)->used_fraction, 0.5);
}

}  // namespace
}  // namespace doppler
