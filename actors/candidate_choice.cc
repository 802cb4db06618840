#include "actors/candidate_choice.h"

#include "common/heads.h"

namespace doppler {

OperationChoice choose_candidate(std::span<const OperationId> candidates,
                                 std::span<const float> scores, std::span<float> probabilities,
                                 const Exploration& exploration, RandomStream& random) {
  const float log_total = softmax(scores, probabilities);
  std::size_t chosen = 0;
  if (exploration.epsilon > 0 && random.next_unit() < exploration.epsilon) {
    chosen = random.next_below(candidates.size());
  } else if (exploration.greedy) {
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
