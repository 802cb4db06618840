#include "common/time_rounding.h"

#include <cmath>

namespace doppler {

SimTime round_ticks(double ticks) {
  if (!(ticks < static_cast<double>(kLargestTicks))) return SimTime(kLargestTicks);
  return SimTime(std::llround(ticks));
}

SimTime round_seconds(double seconds) {
  return round_ticks(seconds * kTicksPerSecond);
}

SimTime scale_time(SimTime time, double factor) {
  return round_ticks(static_cast<double>(time.ticks()) * factor);
}

}  // namespace doppler
