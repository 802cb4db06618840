#include "learner/trainer.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/energy.h"
#include "common/error.h"
#include "common/head_gradient.h"
#include "learner/graph_encoding.h"
#include "tests/support/expect_error.h"
#include "tests/unit/learner/trainer_fixture.h"

namespace doppler {
namespace {

using test::TrainerTest;
using ::testing::HasSubstr;

TEST_F(TrainerTest, EqualSeedsGiveEqualWeights) {
  auto a = make();
  auto b = make();
  for (int i = 0; i < 3; ++i) {
    step(*a, 100U * static_cast<unsigned>(i));
    step(*b, 100U * static_cast<unsigned>(i));
  }
  EXPECT_EQ(a->snapshot(3, 0), b->snapshot(3, 0));
}

// The self-test: what a worker says of its decisions must be what the learner finds with the same
// weights. Of other weights it may differ.
TEST_F(TrainerTest, FindsALogProbabilityThatItsOwnWeightsDoNotGive) {
  auto trainer = make();
  auto played = batch(*trainer, 0, 8);
  for (Trajectory& trajectory : played) trajectory.weight_version = 4;
  UpdateSettings settings = kSettings;
  settings.version = 4;
  std::vector<bool> invalid;
  const auto honest = make()->update(played, {}, settings, invalid);
  EXPECT_LT(honest.log_probability_error, 1e-4);
  EXPECT_NEAR(honest.effective_sample_fraction, 1.0, 1e-5);

  played[3].place_log_probabilities[5] += 0.25F;
  const auto lie = make()->update(played, {}, settings, invalid);
  EXPECT_NEAR(lie.log_probability_error, 0.25, 1e-3);
  played[3].weight_version = 3;
  const auto stale = make()->update(played, {}, settings, invalid);
  EXPECT_LT(stale.log_probability_error, 1e-4);
  EXPECT_NEAR(stale.largest_log_probability_difference, 0.25, 1e-3);
}

// n decisions of ratio 1 and one of ratio 1/2: (n + 1/2)^2 / ((n + 1) (n + 1/4)).
TEST_F(TrainerTest, EffectiveSamplesFallWithTheSpreadOfTheRatios) {
  auto trainer = make();
  auto played = batch(*trainer, 0, 1);
  played.front().place_log_probabilities[5] += std::log(2.0F);
  std::vector<bool> invalid;
  const auto statistics = trainer->update(played, {}, kSettings, invalid);
  // Places are decided 24 times; operations only where there are several candidates.
  bool matches = false;
  for (int decisions = 24; decisions <= 48; ++decisions) {
    const double n = decisions - 1;
    const double expected = (n + 0.5) * (n + 0.5) / ((n + 1) * (n + 0.25));
    matches = matches || std::abs(expected - statistics.effective_sample_fraction) < 1e-6;
  }
  EXPECT_TRUE(matches) << statistics.effective_sample_fraction;
  EXPECT_LT(statistics.effective_sample_fraction, 0.9999);
}

Checkpoint checkpoint_of(const Trainer& trainer, std::uint64_t content_hash) {
  Checkpoint checkpoint;
  checkpoint.parameters = trainer.parameters();
  checkpoint.graphs.resize(1);
  checkpoint.graphs[0].content_hash = content_hash;
  return checkpoint;
}

TEST_F(TrainerTest, AdoptsEverythingForAGraphThatBothKnow) {
  auto taught = make();
  step(*taught, 0);
  auto fresh = make();
  ASSERT_NE(fresh->parameters(), taught->parameters());
  fresh->adopt(checkpoint_of(*taught, graph_->content_hash()));
  EXPECT_EQ(fresh->parameters(), taught->parameters());
}

TEST_F(TrainerTest, LeavesTheTablesOfOtherGraphsBehind) {
  auto taught = make();
  step(*taught, 0);
  auto fresh = make();
  const std::vector<NamedTensor> before = fresh->parameters();
  fresh->adopt(checkpoint_of(*taught, graph_->content_hash() + 1));
  const std::vector<NamedTensor> after = fresh->parameters();
  const std::vector<NamedTensor> theirs = taught->parameters();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool table = after[i].name.starts_with("table_");
    EXPECT_EQ(after[i], table ? before[i] : theirs[i]) << after[i].name;
  }
}

TEST_F(TrainerTest, RefusesToAdoptAnotherModelAndStaysAsItIs) {
  ModelConfig narrow;
  narrow.hidden_width = 16;
  auto taught = make(narrow);
  auto fresh = make();
  const std::vector<NamedTensor> before = fresh->parameters();
  EXPECT_THAT(test::message_of<FormatError>(
                  [&] { fresh->adopt(checkpoint_of(*taught, graph_->content_hash())); }),
              HasSubstr("in the checkpoint and"));
  EXPECT_EQ(fresh->parameters(), before);
}

TEST_F(TrainerTest, TheNumberOfThreadsDoesNotChangeABit) {
  auto one = make({}, 1);
  auto three = make({}, 3);
  for (int i = 0; i < 3; ++i) {
    step(*one, 100U * static_cast<unsigned>(i));
    step(*three, 100U * static_cast<unsigned>(i));
  }
  EXPECT_EQ(one->parameters(), three->parameters());
}

TEST_F(TrainerTest, PolicyGradientShortensTheMakespan) {
  auto trainer = make();
  const auto mean = [&](std::uint64_t first) {
    double sum = 0;
    for (const Trajectory& t : batch(*trainer, first, 200)) {
      sum += static_cast<double>(t.makespan.ticks()) / 200;
    }
    return sum;
  };
  const double before = mean(1000000);
  for (int i = 0; i < 60; ++i) step(*trainer, 100U * static_cast<unsigned>(i));
  EXPECT_LT(mean(1000000), 0.9 * before);
}

TEST_F(TrainerTest, AReplayAtLagZeroFindsTheWorkersLogProbabilities) {
  auto trainer = make();
  step(*trainer, 0);
  const UpdateStatistics statistics = step(*trainer, 500);
  EXPECT_LT(statistics.largest_log_probability_difference, 1e-5);
}

TEST_F(TrainerTest, MarksWhatDoesNotReplay) {
  auto trainer = make();
  std::vector<Trajectory> trajectories = batch(*trainer, 0, 10);
  trajectories[4].operations[0] = trajectories[4].operations[1];
  std::vector<bool> invalid;
  const UpdateStatistics statistics = trainer->update(trajectories, {}, kSettings, invalid);
  EXPECT_EQ(statistics.invalid, 1U);
  EXPECT_EQ(statistics.trained, 9U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(invalid[i], i == 4);
}

// With the transfers, as if the makespans were the energies. What does not replay has none.
TEST_F(TrainerTest, AdvantagesAreOfEnergies) {
  auto weighing = make();
  auto told = make();
  std::vector<Trajectory> episodes = batch(*weighing, 0, 10);
  episodes[4].operations[0] = OperationId(1000000);
  UpdateSettings settings = kSettings;
  settings.transfer_weight = 2;
  std::vector<bool> invalid;
  EXPECT_EQ(weighing->update(episodes, {}, settings, invalid).invalid, 1U);
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    if (i != 4) episodes[i].makespan = energy(*costs_, episodes[i], 2);
  }
  told->update(episodes, {}, kSettings, invalid);
  EXPECT_EQ(weighing->parameters(), told->parameters());
  auto plain = make();
  plain->update(batch(*plain, 0, 10), {}, kSettings, invalid);
  EXPECT_NE(weighing->parameters(), plain->parameters());
}

TEST_F(TrainerTest, ARestoredTrainerContinuesBitForBit) {
  auto straight = make();
  for (int i = 0; i < 3; ++i) step(*straight, 100U * static_cast<unsigned>(i));
  auto resumed = make();
  resumed->restore(straight->parameters(), straight->optimizer_state());
  for (int i = 3; i < 6; ++i) {
    step(*straight, 100U * static_cast<unsigned>(i));
    step(*resumed, 100U * static_cast<unsigned>(i));
  }
  EXPECT_EQ(straight->parameters(), resumed->parameters());
  EXPECT_EQ(straight->optimizer_state(), resumed->optimizer_state());
}

TEST_F(TrainerTest, RefusesTensorsOfAnotherModelAndChangesNothing) {
  auto trainer = make();
  ModelConfig wide;
  wide.hidden_width = 64;
  auto other = make(wide);
  const auto before = trainer->parameters();
  EXPECT_THAT(test::message_of<FormatError>(
                  [&] { trainer->restore(other->parameters(), other->optimizer_state()); }),
              HasSubstr("input.weight"));
  EXPECT_EQ(trainer->parameters(), before);

  std::vector<NamedTensor> missing = trainer->parameters();
  missing.erase(missing.begin() + 2);
  EXPECT_THAT(
      test::message_of<FormatError>([&] { trainer->restore(missing, trainer->optimizer_state()); }),
      HasSubstr("has no tensor"));
}

TEST_F(TrainerTest, EncodesAGraphItWasNotTrainedOn) {
  auto trainer = make();
  RandomStream random(9);
  const Graph other = test::random_graph({.operation_count = 50, .least_cost = 1}, random);
  const CostTable costs = CostTable::reference(other, 5);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot =
      encode_graph(ModelConfig{}, trainer->parameters(), {&costs, &levels}, -1);
  const Trajectory trajectory = test::sample_episode(costs, snapshot, 1);
  EXPECT_EQ(trajectory.operations.size(), 50U);
}

TEST_F(TrainerTest, EncodingATrainedGraphEqualsTheSnapshot) {
  auto trainer = make();
  step(*trainer, 0);
  WeightSnapshot own = trainer->snapshot(0, 0);
  EXPECT_EQ(encode_graph(ModelConfig{}, trainer->parameters(), {costs_.get(), &levels_}, 0), own);
}

// Two epochs go on where one stops, from the same batch.
TEST_F(TrainerTest, EpochsAreStepsOnOneBatch) {
  LearnerConfig learner;
  learner.epochs = 2;
  Trainer twice({}, learner, Teacher::kCriticalPath, {{costs_.get(), &levels_}}, 42);
  auto once = make();
  const std::vector<Trajectory> trajectories = batch(*once, 0, 20);
  std::vector<bool> invalid;
  const UpdateStatistics statistics = twice.update(trajectories, {}, kSettings, invalid);
  EXPECT_EQ(statistics.trained, 20U);
  // At the first step weights are those that played.
  EXPECT_LT(statistics.largest_log_probability_difference, 1e-5);
  once->update(trajectories, {}, kSettings, invalid);
  EXPECT_NE(once->parameters(), twice.parameters());
  once->update(trajectories, {}, kSettings, invalid);
  EXPECT_EQ(once->parameters(), twice.parameters());
}

// Batches that teach nothing, so that the demonstration alone does.
TEST_F(TrainerTest, ADemonstrationBecomesMoreProbable) {
  auto trainer = make();
  std::vector<Trajectory> trajectories = batch(*trainer, 0, 8);
  const Trajectory demonstration = trajectories[3];
  for (Trajectory& t : trajectories) t.makespan = SimTime(1000);
  UpdateSettings settings = kSettings;
  settings.entropy_weight = 0;
  settings.self_imitation_weight = 1;
  const auto log_probability = [&] {
    const WeightSnapshot snapshot = trainer->snapshot(0, 0);
    const SelectHead head(snapshot.tables[0].select_scores);
    HeadGradient gradient(snapshot.shape, *costs_, levels_, SelectPolicy::kLearned,
                          PlacePolicy::kLearned);
    HeadGradients sink;
    sink.reset(snapshot.shape, graph_->operation_count());
    const auto replay = gradient.add(demonstration, snapshot.tables[0], snapshot.weights, head,
                                     {.advantage = 1}, sink);
    return replay->select_log_probability + replay->place_log_probability;
  };
  const double before = log_probability();
  std::vector<bool> invalid;
  for (int i = 0; i < 40; ++i) trainer->update(trajectories, {demonstration}, settings, invalid);
  EXPECT_GT(log_probability(), 0.5 * before);  // logarithms are negative
}

// All makespans equal: no advantage, no entropy bonus, no change.
TEST_F(TrainerTest, LearnsNothingWhereAllEpisodesAreEqual) {
  auto trainer = make();
  const auto before = trainer->parameters();
  std::vector<Trajectory> trajectories = batch(*trainer, 0, 8);
  for (Trajectory& t : trajectories) t.makespan = SimTime(1000);
  std::vector<bool> invalid;
  UpdateSettings settings = kSettings;
  settings.entropy_weight = 0;
  trainer->update(trajectories, {}, settings, invalid);
  EXPECT_EQ(trainer->parameters(), before);
}

}  // namespace
}  // namespace doppler
