// The cost as the paper's published simulator prints it, and as reports show it.
#ifndef DOPPLER_COMMON_REFERENCE_COST_H_
#define DOPPLER_COMMON_REFERENCE_COST_H_

#include "common/sim_time.h"

namespace doppler {

// float32(makespan) / float32(1e10), exactly, as a double.
inline double reference_cost(SimTime makespan) {
  return static_cast<double>(static_cast<float>(makespan.ticks()) / 1e10F);
}

// What reports show of a makespan: seconds where ticks are picoseconds, else the reference's cost.
inline double displayed_cost(SimTime makespan, bool physical) {
  return physical ? makespan.seconds() : reference_cost(makespan);
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_REFERENCE_COST_H_
