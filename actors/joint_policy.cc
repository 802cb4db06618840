#include "actors/joint_policy.h"

#include "actors/candidate_choice.h"
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
  return choose_candidate(candidates, scores, probabilities, exploration_, random);
}

}  // namespace doppler
