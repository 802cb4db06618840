#include "gpuexec/turns.h"

#include <utility>

#include "common/check.h"
#include "gpuexec/control.h"
#include "gpuexec/timed_runs.h"

namespace doppler {
namespace {

class Turns {
 public:
  Turns(GraphRunner& runner, std::span<const TurnPlacement> placements, const TurnOptions& options)
      : runner_(runner),
        placements_(placements),
        options_(options),
        control_(runner, once()),
        times_(placements.size()) {}

  std::vector<TurnTimes> measure() {
    if (options_.control_interval_seconds > 0) control_.measure();
    for (int round = 0; round < options_.rounds; ++round) {
      if (run_round(round)) continue;
      for (TurnTimes& begun : times_) {
        if (begun.failure.empty()) begun.seconds.resize(static_cast<std::size_t>(round));
      }
      break;
    }
    return std::move(times_);
  }

 private:
  TimedRuns once() const {
    return {.warmup = options_.warmup,
            .repeats = 1,
            .timeout_seconds = options_.timeout_seconds,
            .pause_seconds = options_.pause_seconds};
  }

  // Whether it was carried to its end.
  bool run_round(int round) {
    std::size_t trusted = 0;  // how many have been measured on a quiet machine, as far as we know
    int attempts = 1;
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      if (options_.before_placement && !options_.before_placement(round, i)) return false;
      if (times_[i].failure.empty()) run_once(i, static_cast<std::size_t>(round));
      const bool last = i + 1 == placements_.size();
      if (options_.control_interval_seconds <= 0 ||
          (!last && control_.age_seconds() < options_.control_interval_seconds)) {
        continue;
      }
      if (control_.measure() <= 1 + options_.control_tolerance || attempts > options_.retries) {
        trusted = i + 1;
        attempts = 1;
      } else {
        ++attempts;
        i = trusted - 1;  // on with the first that is in doubt
      }
    }
    return true;
  }

  void run_once(std::size_t placement, std::size_t round) {
    TurnTimes& times = times_[placement];
    if (!runner_.load(placements_[placement].assignment).empty()) {
      times = {{}, "out of memory"};
      return;
    }
    const auto seconds = time_runs(runner_, placements_[placement].order, once());
    if (!seconds) {
      times = {{}, "timed out"};
      return;
    }
    times.seconds.resize(round);  // drops what was in doubt
    times.seconds.push_back(seconds->front());
  }

  GraphRunner& runner_;
  const std::span<const TurnPlacement> placements_;
  const TurnOptions& options_;
  Control control_;
  std::vector<TurnTimes> times_;
};

}  // namespace

std::vector<TurnTimes> measure_in_turn(GraphRunner& runner,
                                       std::span<const TurnPlacement> placements,
                                       const TurnOptions& options) {
  return Turns(runner, placements, options).measure();
}

PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b) {
  DP_CHECK_EQ(a.size(), b.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return {median(ratios), median_interval(ratios)};
}

}  // namespace doppler
