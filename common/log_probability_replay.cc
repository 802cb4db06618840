#include "common/log_probability_replay.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "common/check.h"

namespace doppler {

LogProbabilityReplay::LogProbabilityReplay(const HeadShape& shape, const CostTable& costs,
                                           SelectPolicy select_policy, PlacePolicy place_policy)
    : select_policy_(select_policy),
      place_policy_(place_policy),
      check_(costs),
      episode_(costs),
      place_head_(shape, static_cast<std::size_t>(costs.device_count())),
      scores_(static_cast<std::size_t>(costs.device_count())),
      place_probabilities_(scores_.size()),
      joint_scores_(costs.graph().operation_count()),
      probabilities_(costs.graph().operation_count()) {
  DP_CHECK(!shape.step.used());
}

std::optional<ReplayStatistics> LogProbabilityReplay::replay(const Trajectory& trajectory,
                                                             const HeadTables& tables,
                                                             const HeadWeights& weights,
                                                             const SelectHead& select_head) {
  if (!check_.passes(trajectory)) return std::nullopt;
  ReplayStatistics statistics;
  episode_.reset();
  place_head_.reset(tables, weights);
  const auto compare = [&](float found, float behaviour) {
    statistics.largest_log_probability_difference =
        std::max(statistics.largest_log_probability_difference, std::abs(found - behaviour));
  };
  for (std::size_t step = 0; step < trajectory.operations.size(); ++step) {
    const OperationId operation = trajectory.operations[step];
    if (select_policy_ != SelectPolicy::kCriticalPath) {
      const float selected = select_log_probability(operation, tables, select_head);
      statistics.select_log_probability += static_cast<double>(selected);
      if (episode_.candidates().size() > 1) {
        compare(selected, trajectory.select_log_probabilities[step]);
      }
    }
    if (place_policy_ == PlacePolicy::kEarliestStart) {
      episode_.select(operation);
    } else {
      score(operation);
      const float placed =
          scores_[trajectory.devices[step].index()] - softmax(scores_, place_probabilities_);
      statistics.place_log_probability += static_cast<double>(placed);
      compare(placed, trajectory.place_log_probabilities[step]);
      place_head_.add(operation, trajectory.devices[step]);
    }
    episode_.place(trajectory.devices[step]);
  }
  return statistics;
}

// 0 for a policy without probabilities.
float LogProbabilityReplay::select_log_probability(OperationId chosen, const HeadTables& tables,
                                                   const SelectHead& select_head) {
  const auto candidates = episode_.candidates();
  if (select_policy_ == SelectPolicy::kLearned) {
    return select_head.log_probability(chosen, select_head.sum(candidates));
  }
  if (select_policy_ != SelectPolicy::kJoint) return 0;
  std::size_t chosen_at = 0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    score(candidates[c]);
    joint_scores_[c] =
        tables.select_scores[candidates[c].index()] + softmax(scores_, place_probabilities_);
    if (candidates[c] == chosen) chosen_at = c;
  }
  const std::span scores(joint_scores_.data(), candidates.size());
  return scores[chosen_at] - softmax(scores, std::span(probabilities_.data(), candidates.size()));
}

// On all devices, into scores_.
void LogProbabilityReplay::score(OperationId operation) {
  episode_.select(operation);
  place_head_.score(operation, episode_.features(), episode_.used_features(), scores_);
  mask_scores(episode_, scores_);
}

}  // namespace doppler
