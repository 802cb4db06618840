// One whole episode: decide every step with two policies, carry the assignment out, record the
// trajectory.
#ifndef DOPPLER_ACTORS_ROLLOUT_H_
#define DOPPLER_ACTORS_ROLLOUT_H_

#include <cstdint>

#include "actors/policy.h"
#include "common/episode.h"
#include "common/executor.h"
#include "common/trajectory.h"

namespace doppler {

// Fills decisions, log-probabilities, seed, makespan and what was measured of `trajectory`; leaves
// its other fields alone. Everything random follows from `seed`. Reuses the memory of the
// trajectory's vectors and of `assignment` (scratch).
void play_episode(std::uint64_t seed, Episode& episode, NodePolicy& node_policy,
                  DevicePolicy& device_policy, Executor& executor, Assignment& assignment,
                  Trajectory& trajectory);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_ROLLOUT_H_
