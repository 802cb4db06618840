// Time inside sim, gpuexec and the episode: a 64-bit integer, so that ties are exact and sums are
// the same everywhere. One tick is one picosecond where costs are physical; in reference mode it is
// the unit of the graph file.
#ifndef DOPPLER_COMMON_SIM_TIME_H_
#define DOPPLER_COMMON_SIM_TIME_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <ostream>

namespace doppler {

class SimTime {
 public:
  constexpr SimTime() = default;
  constexpr explicit SimTime(std::int64_t ticks) : ticks_(ticks) {}
  static constexpr SimTime max() { return SimTime(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr double seconds() const {
    return static_cast<double>(ticks_) * 1e-12;
  }  // physical costs only

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(SimTime other) {
    ticks_ += other.ticks_;
    return *this;
  }
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return SimTime(a.ticks_ + b.ticks_); }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return SimTime(a.ticks_ - b.ticks_); }
  friend std::ostream& operator<<(std::ostream& out, SimTime t) { return out << t.ticks_; }

 private:
  std::int64_t ticks_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_SIM_TIME_H_
