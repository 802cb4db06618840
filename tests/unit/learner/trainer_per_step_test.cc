// The trainer with encoders that pass messages at each step.
#include <gtest/gtest.h>

#include "learner/graph_encoding.h"
#include "tests/unit/learner/trainer_fixture.h"

namespace doppler {
namespace {

// The policies whose encoder passes messages at each step, and what they decide with.
struct PerStep {
  SelectPolicy select;
  PlacePolicy place;
};
class PerStepTrainerTest : public test::TrainerTest, public ::testing::WithParamInterface<PerStep> {
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

}  // namespace
}  // namespace doppler
