// The one place where physical quantities become simulated time: seconds, FLOPs and bytes are real
// numbers, a SimTime is a whole number of picoseconds.
//
// Rounding is to the nearest picosecond, halves away from zero. Nothing else in the project rounds
// to time. Functions are pure; any thread may call them.
#ifndef DOPPLER_COMMON_TIME_ROUNDING_H_
#define DOPPLER_COMMON_TIME_ROUNDING_H_

#include <cstdint>

#include "common/sim_time.h"

namespace doppler {

inline constexpr double kTicksPerSecond = 1e12;
// Half of what a SimTime can hold, so that sums of two have room.
inline constexpr std::int64_t kLargestTicks = std::int64_t{1} << 62;

// A number of ticks (not negative, finite or infinite) as a time; more than kLargestTicks become
// kLargestTicks, which nothing that is checked may reach (exceeds_time()).
SimTime round_ticks(double ticks);

// The same for seconds: round_ticks(seconds * 1e12).
SimTime round_seconds(double seconds);

// `time` times `factor` (not negative), for noise and penalties.
SimTime scale_time(SimTime time, double factor);

// Whether rounding had to cut off.
inline bool exceeds_time(SimTime time) {
  return time.ticks() >= kLargestTicks;
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_TIME_ROUNDING_H_
