// Schedule: which stage a batch belongs to, how far the stage's budget is used, and what follows
// for learning rate and entropy. A budget is a number of episodes (then everything is a function of
// the batch number) or of seconds.
#ifndef DOPPLER_LEARNER_SCHEDULE_H_
#define DOPPLER_LEARNER_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/config.h"
#include "common/stage.h"

namespace doppler {

struct StagePoint {
  Stage stage = Stage::kSimulation;
  double used_fraction = 0;  // of the stage's budget, 0..1
  double learning_rate = 0;
  double entropy_weight = 0;
  double self_imitation_weight = 0;
  double transfer_weight = 0;
};

class Schedule {
 public:
  // training_seconds: of the whole training, when the budget is in seconds; otherwise 0.
  Schedule(const StagesConfig& stages, const LearnerConfig& learner, double training_seconds);

  bool by_seconds() const { return training_seconds_ > 0; }
  // The point of batch `batch` (from 1) when `elapsed_seconds` of training have passed; nullopt
  // when the budget is used.
  std::optional<StagePoint> at(std::uint64_t batch, double elapsed_seconds) const;
  // The same within a stage that was fixed when the batch was opened: its fraction is held at 1
  // beyond the stage's end.
  StagePoint within(Stage stage, std::uint64_t batch, double elapsed_seconds) const;
  // Over all stages, for progress: 0..1.
  double used_fraction(std::uint64_t batch, double elapsed_seconds) const;

 private:
  struct Span {
    Stage stage = Stage::kSimulation;
    StageConfig config;
    double begin = 0;  // batches or seconds
    double end = 0;
  };
  double position(std::uint64_t batch, double elapsed_seconds) const;
  StagePoint point(const Span& span, double position) const;

  double training_seconds_;
  std::vector<Span> spans_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_SCHEDULE_H_
