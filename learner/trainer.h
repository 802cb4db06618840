// Trainer: owns the network and its optimizer and turns batches of trajectories into better
// weights. It knows nothing of processes, files or time; everything it does is a function of its
// inputs (bit-identical for equal inputs on the same kind of machine, whatever the number of
// gradient threads).
//
// LibTorch stays behind this header. Not thread-safe.
#ifndef DOPPLER_LEARNER_TRAINER_H_
#define DOPPLER_LEARNER_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/config.h"
#include "common/stage.h"
#include "common/trajectory.h"
#include "common/weight_snapshot.h"
#include "learner/checkpoint.h"
#include "learner/group_sum.h"
#include "learner/training_graph.h"
#include "learner/update_statistics.h"

namespace doppler {

struct UpdateSettings {
  Stage stage = Stage::kSimulation;
  double learning_rate = 0;
  double entropy_weight = 0;
  double self_imitation_weight = 0;  // of all demonstrations together, beside the batch
  double transfer_weight = 0;        // in the energy that advantages are of (energy.h)
  std::uint64_t version = 0;         // of the weights that the update begins with
};

class Trainer {
 public:
  // Costs and levels must outlive it.
  Trainer(const ModelConfig& model, const LearnerConfig& learner, Teacher teacher,
          std::vector<TrainingGraph> graphs, std::uint64_t seed);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // LearnerConfig::epochs gradient steps on `batch`, whose order is part of the result. invalid[i]
  // is set for trajectories that did not replay; they add nothing. Advantages are normalised per
  // graph over the batch. `demonstrations` are imitated besides, by their decisions alone. The
  // statistics are those of the first step, but for the norm and `skipped`, which are the last's.
  UpdateStatistics update(const std::vector<Trajectory>& batch,
                          const std::vector<Trajectory>& demonstrations,
                          const UpdateSettings& settings, std::vector<bool>& invalid);

  // The same, one step, from gradients that workers computed: the sum over `groups`, whose order is
  // part of the result, goes through the encoder. Demonstrations are replayed here. A group whose
  // gradient is not sound, or one of whose trajectories does not replay, adds nothing and all of it
  // is invalid; without any other the update is skipped. log_probability_error is that of the
  // caller's to find (log_probability_error()).
  UpdateStatistics update(const std::vector<Trajectory>& batch,
                          const std::vector<TrainingGroup>& groups,
                          const std::vector<Trajectory>& demonstrations,
                          const UpdateSettings& settings, std::vector<bool>& invalid);

  // How far a trajectory's log-probabilities are from those that `snapshot`, which it says it was
  // played with, gives it; nullopt where it does not replay.
  std::optional<double> log_probability_error(const Trajectory& trajectory,
                                              const WeightSnapshot& snapshot);

  // The current weights as actors need them.
  WeightSnapshot snapshot(std::uint64_t version, std::uint32_t lineage);

  // Begins with what was learned elsewhere, on these graphs or others: everything but the tables
  // per operation, and those of graphs that both know. The optimizer begins anew. Throws
  // FormatError naming the first tensor that does not fit; nothing is changed then.
  void adopt(const Checkpoint& checkpoint);

  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> optimizer_state() const;
  // Throws FormatError naming the first tensor whose name or shape differs; nothing is changed
  // then.
  void restore(const std::vector<NamedTensor>& parameters,
               const std::vector<NamedTensor>& optimizer_state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAINER_H_
