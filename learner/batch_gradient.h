// BatchGradient: the gradient of a batch's loss with respect to the tables and weights of the
// heads, from the learner's own replays on several threads. To the last bit a function of its
// inputs, however many threads there are.
//
// One thread calls; what it needs of threads it starts and ends itself.
#ifndef DOPPLER_LEARNER_BATCH_GRADIENT_H_
#define DOPPLER_LEARNER_BATCH_GRADIENT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/head_gradients.h"
#include "common/loss_term.h"
#include "common/replay_statistics.h"
#include "common/trajectory.h"
#include "learner/replay_heads.h"
#include "learner/replayers.h"
#include "learner/training_graph.h"

namespace doppler {

// Normalised over the batch's trajectories of each graph, of energies with this weight of transfers
// (energy.h); 0 for a graph that is not one of `graphs`. [batch]
std::vector<float> batch_advantages(const std::vector<Trajectory>& batch, double transfer_weight,
                                    std::span<const TrainingGraph> graphs, Replayers& replayers);

class BatchGradient {
 public:
  // Writes the sum over the batch, in its order, into gradients [graphs], and returns what each
  // replay found [batch], nothing where one does not replay. `term` is that of each trajectory, but
  // for its advantage. As many threads as `replayers`, at least one.
  std::vector<std::optional<ReplayStatistics>> sum(const std::vector<Trajectory>& batch,
                                                   std::span<const float> advantages,
                                                   const LossTerm& term, const ReplayHeads& heads,
                                                   std::span<Replayers> replayers,
                                                   std::vector<HeadGradients>& gradients);

 private:
  // Of all chunks but the first, kept from batch to batch.
  std::vector<std::vector<HeadGradients>> rest_;  // [chunks - 1][graphs]
};

// Adds the gradient of a loss that makes the decisions of `demonstrations` more probable: `weight`
// is that of all of them together. They must be of graphs that the heads are of.
void add_imitation(const std::vector<Trajectory>& demonstrations, double weight,
                   const ReplayHeads& heads, Replayers& replayers,
                   std::vector<HeadGradients>& gradients);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_BATCH_GRADIENT_H_
