#include "gpuexec/turns.h"

#include <chrono>
#include <thread>

#include "common/check.h"

namespace doppler {
namespace {

// Seconds, or what went wrong.
TurnTimes run_once(GraphRunner& runner, const TurnPlacement& placement,
                   const TurnOptions& options) {
  if (!runner.load(placement.assignment).empty()) return {{}, "out of memory"};
  for (int run = 0;; ++run) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.pause_seconds));
    const auto time = runner.run(placement.order, options.timeout_seconds);
    if (!time) return {{}, "timed out"};
    if (run == options.warmup) return {{time->seconds()}, ""};
  }
}

}  // namespace

std::vector<TurnTimes> measure_in_turn(GraphRunner& runner,
                                       std::span<const TurnPlacement> placements,
                                       const TurnOptions& options) {
  std::vector<TurnTimes> times(placements.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (options.before_placement && !options.before_placement(round, i)) {
        for (TurnTimes& begun : times) {
          if (begun.failure.empty()) begun.seconds.resize(static_cast<std::size_t>(round));
        }
        return times;
      }
      if (!times[i].failure.empty()) continue;
      const TurnTimes once = run_once(runner, placements[i], options);
      if (once.failure.empty()) {
        times[i].seconds.push_back(once.seconds.front());
      } else {
        times[i] = once;
      }
    }
  }
  return times;
}

PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b) {
  DP_CHECK_EQ(a.size(), b.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return {median(ratios), median_interval(ratios)};
}

}  // namespace doppler
