#include "actors/joint_policy.h"

#include "common/check.h"

namespace doppler {

JointNodePolicy::JointNodePolicy(Episode& episode, const HeadTables& tables,
                                 LearnedDevicePolicy& device_policy, const Exploration& exploration)
    : episode_(&episode),
      tables_(&tables),
      device_policy_(&device_policy),
      exploration_(exploration),
      scores_(tables.select_scores.size()),
      probabilities_(tables.select_scores.size()) {}

OperationChoice JointNodePolicy::select(const Episode& episode, RandomStream& random) {
  DP_CHECK(&episode == episode_);
  const auto candidates = episode_->candidates();
  const std::span scores(scores_.data(), candidates.size());
  const std::span probabilities(probabilities_.data(), candidates.size());
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    episode_->select(candidates[c]);
    scores[c] =
        tables_->select_scores[candidates[c].index()] + device_policy_->log_total(*episode_);
  }
  const float log_total = softmax(scores, probabilities);
  std::size_t chosen = 0;
  if (exploration_.epsilon > 0 && random.next_unit() < exploration_.epsilon) {
    chosen = random.next_below(candidates.size());
  } else if (exploration_.greedy) {
    for (std::size_t c = 1; c < candidates.size(); ++c) {
      const bool equal_but_smaller =
          scores[c] == scores[chosen] && candidates[c] < candidates[chosen];
      if (scores[c] > scores[chosen] || equal_but_smaller) chosen = c;
    }
  } else if (candidates.size() > 1) {
    double rest = random.next_unit();
    chosen = candidates.size() - 1;  // rounding may leave a rest behind the last
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      rest -= static_cast<double>(probabilities[c]);
      if (rest < 0) {
        chosen = c;
        break;
      }
    }
  }
  return {candidates[chosen], scores[chosen] - log_total};
}

}  // namespace doppler
