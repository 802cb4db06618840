#include "gpuexec/turns.h"

#include "common/check.h"

namespace doppler {
namespace {

// Seconds, or what went wrong.
TurnTimes run_once(GraphRunner& runner, const TurnPlacement& placement, double timeout_seconds) {
  if (!runner.load(placement.assignment).empty()) return {{}, "out of memory"};
  for (int run = 0;; ++run) {
    const auto time = runner.run(placement.order, timeout_seconds);
    if (!time) return {{}, "timed out"};
    if (run == 1) return {{time->seconds()}, ""};
  }
}

}  // namespace

std::vector<TurnTimes> measure_in_turn(GraphRunner& runner,
                                       std::span<const TurnPlacement> placements, int rounds,
                                       double timeout_seconds,
                                       const std::function<bool(int)>& before_round) {
  std::vector<TurnTimes> times(placements.size());
  for (int round = 0; round < rounds; ++round) {
    if (before_round && !before_round(round)) break;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (!times[i].failure.empty()) continue;
      const TurnTimes once = run_once(runner, placements[i], timeout_seconds);
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
