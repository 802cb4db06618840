// LossTerm: how one trajectory enters a batch's loss, which is minimised:
//   policy gradient: - sum over decisions of advantage * min-clipped ratio
//                    - entropy_weight * (entropy of SEL and PLC)
//   imitation:       - sum over decisions of sum_a target(a) log pi(a), the target of ties shared
//                      equally
#ifndef DOPPLER_COMMON_LOSS_TERM_H_
#define DOPPLER_COMMON_LOSS_TERM_H_

#include <algorithm>
#include <cmath>

#include "common/config.h"
#include "common/replay_statistics.h"

namespace doppler {

enum class LossKind { kPolicyGradient, kImitation };

struct LossTerm {
  LossKind kind = LossKind::kPolicyGradient;
  float weight = 1;  // of the whole trajectory
  // kPolicyGradient:
  float advantage = 0;
  float entropy_weight = 0;
  float clip_ratio = 0;  // c: a decision whose importance ratio left [1 - c, 1 + c] in the
                         // advantage's direction adds nothing, nor does a punished one whose ratio
                         // exceeds 10; 0: no ratio at all (plain REINFORCE)
  // kImitation: the critical path's targets are all candidates of maximal bottom level and all
  // devices of earliest start; another teacher's are the decisions of the trajectory.
  Teacher teacher = Teacher::kCriticalPath;
};

// What policy gradient makes of one decision, without its entropy.
struct DecisionLoss {
  float chosen_coefficient = 0;  // d loss / d log pi(chosen)
  float value = 0;
};

// A punished decision that became more probable since it was taken may have any ratio; beyond this
// one it teaches no more, since a few such decisions would outweigh, or overflow, all others.
constexpr float kLargestPunishedRatio = 10;

// Of the clipped surrogate: its gradient is that of ratio * advantage, or nothing where the clip
// holds. Notes the ratio in `statistics`.
inline DecisionLoss surrogate(float log_probability, float behaviour_log_probability,
                              const LossTerm& term, ReplayStatistics& statistics) {
  if (term.clip_ratio <= 0) return {-term.advantage, -term.advantage * log_probability};
  const float ratio = std::exp(log_probability - behaviour_log_probability);
  statistics.ratio_sum += static_cast<double>(ratio);
  statistics.ratio_square_sum += static_cast<double>(ratio) * static_cast<double>(ratio);
  ++statistics.ratio_count;
  const float least = term.advantage > 0 ? 0.0F : 1.0F - term.clip_ratio;
  const float largest = term.advantage > 0
                            ? 1.0F + term.clip_ratio
                            : std::max(1.0F + term.clip_ratio, kLargestPunishedRatio);
  if (ratio < least || ratio > largest) {
    ++statistics.clipped_decisions;
    return {0.0F, -term.advantage * std::clamp(ratio, least, largest)};
  }
  return {-term.advantage * ratio, -term.advantage * ratio};
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_LOSS_TERM_H_
