// Advantages: how much better than its companions each episode of a group was, which is what policy
// gradient weighs its decisions with.
#ifndef DOPPLER_COMMON_ADVANTAGES_H_
#define DOPPLER_COMMON_ADVANTAGES_H_

#include <span>
#include <vector>

#include "common/sim_time.h"
#include "common/trajectory.h"

namespace doppler {

// (mean - energy) / standard deviation over the episodes of one graph: positive where an episode
// beat its companions. All 0 where all energies are equal.
std::vector<float> normalised_advantages(std::span<const SimTime> energies);

// The variance of a trajectory's makespan as an estimate of what its placement takes, in ticks
// squared: that of the median of its runs, (1.2533 x spread)^2 / runs for normal noise. 0 where the
// makespan was computed, or measured once.
double noise_variance(const Trajectory& trajectory);

// Draws each of normalised_advantages() towards 0 by what of it is likely to be noise. With the
// variances n_i of the energies and v of the group, the placements themselves differ with variance
// t = max(0, v - mean n); the best guess at what one of them takes lies t / (t + n_i) of the way
// from the mean to what was measured. A spread of a few runs is itself uncertain, so n_i is the
// mean of its own and the group's. Does nothing without noise. [energies] all.
void shrink_by_noise(std::span<const SimTime> energies, std::span<const double> noise_variances,
                     std::vector<float>& advantages);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ADVANTAGES_H_
