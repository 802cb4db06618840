// TryMonitor: how a baseline that makes many tries tells how far it is, and learns that it should
// stop.
#ifndef DOPPLER_SIM_TRY_MONITOR_H_
#define DOPPLER_SIM_TRY_MONITOR_H_

#include <cstdint>
#include <functional>
#include <stop_token>

#include "common/sim_time.h"

namespace doppler {

struct SearchProgress {
  double fraction = 0;           // of the budget
  std::int64_t evaluations = 0;  // so far, of all threads
  SimTime best;                  // so far, of all threads; SimTime::max(): none yet
};

struct TryMonitor {
  std::stop_token stop = {};
  // Called before each try but the first, by the thread that makes them.
  std::function<void(const SearchProgress&)> on_progress = {};

  // Whether the tries end here, after `done` (>= 1) of `all`.
  bool ends(std::int64_t done, std::int64_t all, SimTime best) const {
    if (done >= all || stop.stop_requested()) return true;
    if (on_progress) {
      on_progress({.fraction = static_cast<double>(done) / static_cast<double>(all),
                   .evaluations = done,
                   .best = best});
    }
    return false;
  }
};

}  // namespace doppler

#endif  // DOPPLER_SIM_TRY_MONITOR_H_
