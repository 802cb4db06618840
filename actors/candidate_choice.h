// A choice among candidates by their scores, where these hold for one step alone.
#ifndef DOPPLER_ACTORS_CANDIDATE_CHOICE_H_
#define DOPPLER_ACTORS_CANDIDATE_CHOICE_H_

#include <span>

#include "actors/learned_policy.h"

namespace doppler {

// Softmax over `scores`, one a candidate, into `probabilities`; then a candidate as `exploration`
// says.
OperationChoice choose_candidate(std::span<const OperationId> candidates,
                                 std::span<const float> scores, std::span<float> probabilities,
                                 const Exploration& exploration, RandomStream& random);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_CANDIDATE_CHOICE_H_
