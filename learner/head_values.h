// Heads as LibTorch has them, as plain values: what actors and replays need. Private to the
// learner.
#ifndef DOPPLER_LEARNER_HEAD_VALUES_H_
#define DOPPLER_LEARNER_HEAD_VALUES_H_

#include <vector>

#include <torch/torch.h>

#include "common/weight_snapshot.h"
#include "learner/named_tensors.h"
#include "learner/policy_network.h"

namespace doppler {

inline HeadTables to_tables(const HeadTensors& tensors) {
  return {.select_scores = to_vector(tensors.select_scores),
          .place_rows = to_vector(tensors.place_rows),
          .step_input = to_vector(tensors.step_input),
          .step_select = to_vector(tensors.step_select),
          .step_place = to_vector(tensors.step_place)};
}

// What PolicyNetwork::forward() gave for each graph, and step_weights(), under its present
// parameters; the snapshot's version and lineage are the caller's to say.
inline WeightSnapshot to_snapshot(PolicyNetwork& network, const std::vector<HeadTensors>& heads,
                                  const torch::Tensor& step_weights) {
  WeightSnapshot snapshot;
  snapshot.shape = network->head_shape();
  snapshot.weights = {.feature_to_hidden = to_vector(network->feature_to_hidden()),
                      .hidden_to_score = to_vector(network->hidden_to_score()),
                      .step = to_vector(step_weights)};
  for (const HeadTensors& tensors : heads) snapshot.tables.push_back(to_tables(tensors));
  return snapshot;
}

}  // namespace doppler

#endif  // DOPPLER_LEARNER_HEAD_VALUES_H_
