// TicketLease: how long a worker may keep a ticket before somebody else gets it too. A few times as
// long as tickets have taken lately, so that a batch waits neither for a worker that stands still
// nor for the slowest of many, and long tickets are not played twice. Whoever answers first is
// heard; the other answer is dropped.
#ifndef DOPPLER_LEARNER_TICKET_LEASE_H_
#define DOPPLER_LEARNER_TICKET_LEASE_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace doppler {

class TicketLease {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kShortest{10};
  static constexpr std::chrono::seconds kLongest{3600};
  static constexpr std::chrono::seconds kFirst{60};  // before any ticket has come back
  static constexpr double kFactor = 4;
  static constexpr double kHalfLifeSeconds = 60;  // of what the longest one counts

  // A ticket came back so long after it was issued.
  void note(Clock::duration taken, Clock::time_point now) {
    longest_ = std::max(longest(now), std::chrono::duration<double>(taken).count());
    noted_at_ = now;
  }

  Clock::duration length(Clock::time_point now) const {
    if (!noted_at_) return kFirst;
    const std::chrono::duration<double> wanted(kFactor * longest(now));
    return std::clamp(std::chrono::duration_cast<Clock::duration>(wanted),
                      Clock::duration(kShortest), Clock::duration(kLongest));
  }

 private:
  double longest(Clock::time_point now) const {
    if (!noted_at_) return 0;
    const double age = std::chrono::duration<double>(now - *noted_at_).count();
    return longest_ * std::exp2(-age / kHalfLifeSeconds);
  }

  double longest_ = 0;  // seconds, as it counted at noted_at_
  std::optional<Clock::time_point> noted_at_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TICKET_LEASE_H_
