// SearchMonitor: what the threads of one local search share: how far they are, and whether to stop.
#ifndef DOPPLER_SIM_SEARCH_MONITOR_H_
#define DOPPLER_SIM_SEARCH_MONITOR_H_

#include <atomic>
#include <cstdint>

#include "common/sim_time.h"

namespace doppler {

// Thread-safe.
class SearchMonitor {
 public:
  void add_evaluations(std::int64_t count) {
    evaluations_.fetch_add(count, std::memory_order_relaxed);
  }
  std::int64_t evaluations() const { return evaluations_.load(std::memory_order_relaxed); }

  void lower_best(SimTime makespan) {
    std::int64_t best = best_.load(std::memory_order_relaxed);
    while (makespan.ticks() < best &&
           !best_.compare_exchange_weak(best, makespan.ticks(), std::memory_order_relaxed)) {
    }
  }
  SimTime best() const { return SimTime(best_.load(std::memory_order_relaxed)); }

  void request_stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stop_requested() const { return stop_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> evaluations_{0};
  std::atomic<std::int64_t> best_{SimTime::max().ticks()};
  std::atomic<bool> stop_{false};
};

}  // namespace doppler

#endif  // DOPPLER_SIM_SEARCH_MONITOR_H_
