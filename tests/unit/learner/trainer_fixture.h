// What the tests of the trainer share.
#ifndef DOPPLER_TESTS_UNIT_LEARNER_TRAINER_FIXTURE_H_
#define DOPPLER_TESTS_UNIT_LEARNER_TRAINER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "learner/torch_threads.h"
#include "learner/trainer.h"
#include "tests/support/random_graph.h"
#include "tests/support/rollouts.h"

namespace doppler::test {

// A trainer on a small random graph, and batches played with its own weights.
class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    limit_threads_once();
    RandomStream random(3);
    graph_ =
        std::make_unique<Graph>(random_graph({.operation_count = 24, .least_cost = 1}, random));
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
      result.push_back(sample_episode(*costs_, snapshot, first_episode + i));
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

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_UNIT_LEARNER_TRAINER_FIXTURE_H_
