#include "learner/trainer.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/energy.h"
#include "common/error.h"
#include "common/head_gradient.h"
#include "learner/graph_encoding.h"
#include "learner/torch_threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

using ::testing::HasSubstr;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    limit_threads_once();
    RandomStream random(3);
    graph_ = std::make_unique<Graph>(
        test::random_graph({.operation_count = 24, .least_cost = 1}, random));
    costs_ = std::make_unique<CostTable>(CostTable::reference(*graph_, 3));
    levels_ = compute_levels(*costs_);
  }
  static void limit_threads_once() {
    static const bool kDone = [] {
      limit_torch_threads(1);
      return true;
    }();
    (void)kDone;
  }

  std::unique_ptr<Trainer> make(const ModelConfig& model = {}, std::int64_t threads = 1) const {
    LearnerConfig learner;
    learner.threads = threads;
    return std::make_unique<Trainer>(model, learner, Teacher::kCriticalPath,
                                     std::vector<TrainingGraph>{{costs_.get(), &levels_}}, 42);
  }

  // A batch played with the trainer's own weights.
  std::vector<Trajectory> batch(Trainer& trainer, std::uint64_t first_episode, std::size_t count) {
    const WeightSnapshot snapshot = trainer.snapshot(0, 0);
    std::vector<Trajectory> result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(test::sample_episode(*costs_, snapshot, first_episode + i));
      result.back().episode = first_episode + i;
    }
    return result;
  }

  UpdateStatistics step(Trainer& trainer, std::uint64_t first_episode) {
    std::vector<bool> invalid;
    return trainer.update(batch(trainer, first_episode, 20), {}, kSettings, invalid);
  }

  static constexpr UpdateSettings kSettings{
      .stage = Stage::kSimulation, .learning_rate = 0.02, .entropy_weight = 0.01};
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<CostTable> costs_;
  Levels levels_;
};

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

// Batches of 16 in two groups of 8, as workers would bring them.
class GroupsTest : public TrainerTest {
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

// The policies whose encoder passes messages at each step, and what they decide with.
struct PerStep {
  SelectPolicy select;
  PlacePolicy place;
};
class PerStepTrainerTest : public TrainerTest, public ::testing::WithParamInterface<PerStep> {
 protected:
  static ModelConfig model() {
    ModelConfig model;
    model.hidden_width = 16;
    model.message_rounds = 2;
    model.select = GetParam().select;
    model.place = GetParam().place;
    model.encode = EncodeTime::kPerStep;
    return model;
  }
  std::vector<Trajectory> play(Trainer& trainer, std::uint64_t first_episode) {
    const WeightSnapshot snapshot = trainer.snapshot(0, 0);
    std::vector<Trajectory> result;
    for (std::size_t i = 0; i < 20; ++i) {
      result.push_back(test::sample_episode(*costs_, snapshot, first_episode + i, GetParam().select,
                                            GetParam().place));
    }
    return result;
  }
};

TEST_P(PerStepTrainerTest, AReplayFindsTheWorkersLogProbabilitiesToTheLastBit) {
  auto trainer = make(model());
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::vector<bool> invalid;
    const auto statistics = trainer->update(play(*trainer, 100 * i), {}, kSettings, invalid);
    EXPECT_EQ(statistics.trained, 20U);
    EXPECT_EQ(statistics.largest_log_probability_difference, 0);
    EXPECT_GT(statistics.gradient_norm, 0);
  }
}

TEST_P(PerStepTrainerTest, TheNumberOfThreadsDoesNotChangeABit) {
  auto one = make(model(), 1);
  auto three = make(model(), 3);
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::vector<bool> invalid;
    one->update(play(*one, 100 * i), {}, kSettings, invalid);
    three->update(play(*three, 100 * i), {}, kSettings, invalid);
  }
  EXPECT_EQ(one->parameters(), three->parameters());
}

TEST_P(PerStepTrainerTest, PolicyGradientShortensTheMakespan) {
  // Where devices are chosen by earliest start, the order alone makes too little difference here.
  if (GetParam().place == PlacePolicy::kEarliestStart) return;
  auto trainer = make(model());
  const auto mean = [&](std::uint64_t first_episode) {
    double sum = 0;
    for (const Trajectory& t : play(*trainer, first_episode)) {
      sum += static_cast<double>(t.makespan.ticks());
    }
    return sum / 20;
  };
  const double before = mean(1000000);
  std::vector<bool> invalid;
  for (std::uint64_t i = 0; i < 60; ++i) {
    trainer->update(play(*trainer, 100 * i), {}, kSettings, invalid);
  }
  EXPECT_LT(mean(1000000), 0.9 * before);
}

// The encoder that a checkpoint gives for a trained graph is the one that was trained.
TEST_P(PerStepTrainerTest, EncodingATrainedGraphEqualsTheSnapshot) {
  auto trainer = make(model());
  std::vector<bool> invalid;
  trainer->update(play(*trainer, 0), {}, kSettings, invalid);
  const WeightSnapshot snapshot = trainer->snapshot(0, 0);
  ASSERT_TRUE(snapshot.shape.step.used());
  EXPECT_EQ(encode_graph(model(), trainer->parameters(), {costs_.get(), &levels_}, 0), snapshot);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, PerStepTrainerTest,
    ::testing::Values(PerStep{SelectPolicy::kLearned, PlacePolicy::kLearned},
                      PerStep{SelectPolicy::kLearned, PlacePolicy::kEarliestStart},
                      PerStep{SelectPolicy::kCriticalPath, PlacePolicy::kLearned},
                      PerStep{SelectPolicy::kLearned, PlacePolicy::kPooled},
                      PerStep{SelectPolicy::kTopological, PlacePolicy::kPooled}));

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
