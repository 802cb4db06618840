#include "actors/step_policy.h"

#include <algorithm>

#include "actors/candidate_choice.h"
#include "actors/heuristic_policy.h"

namespace doppler {

StepDevicePolicy::StepDevicePolicy(const HeadShape& shape, const HeadTables& tables,
                                   const HeadWeights& weights, const Graph& graph,
                                   const Levels& levels, std::size_t device_count, bool marks,
                                   bool learns, const Exploration& exploration)
    : encoder_(shape, graph, levels, false),
      tables_(&tables),
      weights_(&weights),
      row_width_(shape.row_width()),
      marks_(marks),
      learns_(learns) {
  rows_.select_scores.resize(graph.operation_count());
  rows_.place_rows.resize(graph.operation_count() * row_width_);
  if (learns) {
    decides_ =
        std::make_unique<LearnedDevicePolicy>(shape, rows_, weights, device_count, exploration);
  } else {
    decides_ = std::make_unique<EarliestStartDevicePolicy>();
  }
}

void StepDevicePolicy::begin_episode() {
  encoder_.reset(*tables_, *weights_);
  decides_->begin_episode();
}

DeviceChoice StepDevicePolicy::choose(const Episode& episode, RandomStream& random) {
  const OperationId operation = episode.selected();
  if (marks_) encoder_.mark(operation);
  if (learns_) {
    encoder_.place_row(
        operation, std::span(rows_.place_rows).subspan(operation.index() * row_width_, row_width_));
  }
  return decides_->choose(episode, random);
}

void StepDevicePolicy::placed(OperationId operation, DeviceId device) {
  encoder_.place(operation, device);
  decides_->placed(operation, device);
}

OperationChoice StepNodePolicy::select(const Episode& episode, RandomStream& random) {
  const auto candidates = episode.candidates();
  if (candidates.size() == 1) return {candidates.front(), 0.0F};
  scores_.resize(std::max(scores_.size(), candidates.size()));
  probabilities_.resize(scores_.size());
  const std::span scores(scores_.data(), candidates.size());
  device_policy_->encoder().select_scores(candidates, scores);
  return choose_candidate(candidates, scores, std::span(probabilities_.data(), candidates.size()),
                          exploration_, random);
}

}  // namespace doppler
