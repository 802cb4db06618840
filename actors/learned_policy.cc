#include "actors/learned_policy.h"

#include <algorithm>

namespace doppler {

// With epsilon-greedy the log-probability stays that of the policy itself: it is what the learner
// corrects against.

OperationChoice LearnedNodePolicy::select(const Episode& episode, RandomStream& random) {
  const auto candidates = episode.candidates();
  const SelectHead::Sum sum = head_->sum(candidates);
  OperationId chosen = candidates.front();
  if (exploration_.epsilon > 0 && random.next_unit() < exploration_.epsilon) {
    chosen = candidates[random.next_below(candidates.size())];
  } else if (exploration_.greedy) {
    for (OperationId candidate : candidates) {
      const double weight = head_->weight(candidate, sum);
      const double best = head_->weight(chosen, sum);
      if (weight > best || (weight == best && candidate < chosen)) chosen = candidate;
    }
  } else if (candidates.size() > 1) {
    double rest = random.next_unit() * sum.total;
    // Rounding may leave a rest behind the last weight; the last candidate takes it.
    chosen = candidates.back();
    for (OperationId candidate : candidates) {
      rest -= head_->weight(candidate, sum);
      if (rest < 0) {
        chosen = candidate;
        break;
      }
    }
  }
  return {chosen, head_->log_probability(chosen, sum)};
}

namespace {

// One of the devices that the selected operation may run on, all equally likely.
std::size_t any_allowed(const Episode& episode, RandomStream& random) {
  const std::size_t devices = episode.earliest_start().size();
  std::size_t chosen = 0;
  std::uint64_t count = 0;
  for (std::size_t d = 0; d < devices; ++d) {
    if (episode.allowed(d) && random.next_below(++count) == 0) chosen = d;
  }
  return chosen;
}

}  // namespace

LearnedDevicePolicy::LearnedDevicePolicy(const HeadShape& shape, const HeadTables& tables,
                                         const HeadWeights& weights, std::size_t device_count,
                                         const Exploration& exploration)
    : head_(shape, device_count),
      tables_(&tables),
      weights_(&weights),
      exploration_(exploration),
      scores_(device_count),
      probabilities_(device_count) {}

void LearnedDevicePolicy::begin_episode() {
  head_.reset(*tables_, *weights_);
}

float LearnedDevicePolicy::log_total(const Episode& episode) {
  head_.score(episode.selected(), episode.features(), episode.used_features(), scores_);
  mask_scores(episode, scores_);
  return softmax(scores_, probabilities_);
}

DeviceChoice LearnedDevicePolicy::choose(const Episode& episode, RandomStream& random) {
  const float log_sum = log_total(episode);
  std::size_t chosen = 0;
  if (exploration_.epsilon > 0 && random.next_unit() < exploration_.epsilon) {
    chosen = any_allowed(episode, random);
  } else if (exploration_.greedy) {
    chosen = static_cast<std::size_t>(std::max_element(scores_.begin(), scores_.end()) -
                                      scores_.begin());
  } else {
    double rest = random.next_unit();
    for (std::size_t d = 0; d < scores_.size(); ++d) {
      if (probabilities_[d] <= 0) continue;
      chosen = d;  // rounding may leave a rest behind the last possible device, which takes it
      rest -= static_cast<double>(probabilities_[d]);
      if (rest < 0) break;
    }
  }
  return {DeviceId(static_cast<std::int32_t>(chosen)), scores_[chosen] - log_sum};
}

void LearnedDevicePolicy::placed(OperationId operation, DeviceId device) {
  head_.add(operation, device);
}

}  // namespace doppler
