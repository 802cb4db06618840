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
#include <string>
#include <vector>

#include "common/config.h"
#include "common/cost_table.h"
#include "common/group_gradient.h"
#include "common/levels.h"
#include "common/trajectory.h"
#include "common/weight_snapshot.h"
#include "learner/checkpoint.h"

namespace doppler {

// A graph to train on, with what is derived from it.
struct TrainingGraph {
  const CostTable* costs = nullptr;
  const Levels* levels = nullptr;
};

struct UpdateSettings {
  Stage stage = Stage::kSimulation;
  double learning_rate = 0;
  double entropy_weight = 0;
  double self_imitation_weight = 0;  // of all demonstrations together, beside the batch
  double transfer_weight = 0;        // in the energy that advantages are of (energy.h)
  std::uint64_t version = 0;         // of the weights that the update begins with
};

struct UpdateStatistics {
  std::size_t trained = 0;
  std::size_t invalid = 0;    // trajectories that did not replay
  double loss = 0;            // mean over trained trajectories
  double select_entropy = 0;  // mean over their decisions, nats
  double place_entropy = 0;
  double gradient_norm = 0;     // before clipping
  double clipped_fraction = 0;  // of the decisions
  bool skipped = false;         // the gradient was not finite; the weights did not change
  double largest_log_probability_difference = 0;
  // The same over trajectories that were played with the very weights that the update begins with:
  // anything but rounding there means that worker and learner compute different things.
  double log_probability_error = 0;
  // Of the importance ratios r of the decisions, (sum r)^2 / (n sum r^2): 1 where all weights are
  // current, towards 0 where few decisions speak for all.
  double effective_sample_fraction = 1;
};

// The episodes of a ticket within a batch, and the gradient that their worker computed.
struct TrainingGroup {
  std::size_t first = 0;
  std::size_t count = 0;
  GroupGradient gradient;
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

// The heads for any graph, by parameters that were trained elsewhere (zero-shot): the tables per
// operation serve only a graph that stands at the position `table` (-1: none). Throws FormatError
// when the parameters do not fit the model.
WeightSnapshot encode_graph(const ModelConfig& model, const std::vector<NamedTensor>& parameters,
                            const TrainingGraph& graph, std::int64_t table);

// Call first thing in main: LibTorch's own threads, which our parallelism replaces.
void limit_torch_threads(int count);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAINER_H_
