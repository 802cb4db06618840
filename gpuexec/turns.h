// Measurement in turn: placements of one graph run one after the other, round after round, so that
// whatever drifts on the machine (clocks, other programs) meets all of them alike. What two of them
// take is then compared within rounds.
#ifndef DOPPLER_GPUEXEC_TURNS_H_
#define DOPPLER_GPUEXEC_TURNS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/statistics.h"

namespace doppler {

struct TurnPlacement {
  Assignment assignment;           // [operations]
  std::vector<OperationId> order;  // as in Executor::run()
};

struct TurnTimes {
  std::vector<double> seconds;  // [rounds]; empty where it failed
  std::string failure;          // "out of memory" or "timed out", else empty
};

struct TurnOptions {
  int rounds = 5;
  int warmup = 1;  // unmeasured runs of a placement before its measured one in every round
  double timeout_seconds = 60;  // of one run
  double pause_seconds = 0;     // before each run
  // > 0: a control (Control) is measured whenever that long has passed. Where it took more than
  // `control_tolerance` above its best, what has been measured since it was last quick is measured
  // again, up to `retries` times.
  double control_interval_seconds = 0;
  double control_tolerance = 0.1;
  int retries = 3;
  // Told the round and the placement that is next, both from 0; false ends the measurement.
  std::function<bool(int, std::size_t)> before_placement;
};

// Each placement is loaded and run once measured in every round. One that fails is left out from
// then on. All others have as many times: a round that was not carried to its end counts for
// nothing.
std::vector<TurnTimes> measure_in_turn(GraphRunner& runner,
                                       std::span<const TurnPlacement> placements,
                                       const TurnOptions& options);

// Of the ratio a / b within rounds: its median, and an interval for it. Both must have as many
// rounds, at least one.
struct PairedRatio {
  double median = 1;
  MedianInterval interval;
};
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_TURNS_H_
