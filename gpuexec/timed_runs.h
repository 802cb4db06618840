// Timed runs of what a GraphRunner has loaded.
#ifndef DOPPLER_GPUEXEC_TIMED_RUNS_H_
#define DOPPLER_GPUEXEC_TIMED_RUNS_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/ids.h"
#include "gpuexec/graph_runner.h"

namespace doppler {

struct TimedRuns {
  int warmup = 1;               // runs that are not measured, before those that are
  int repeats = 1;              // runs that are
  double timeout_seconds = 60;  // of one run
  double pause_seconds = 0;     // before each run: lets a machine cool down, and others catch up
};

// Seconds of the measured runs, in their order; nothing if one did not end in time. `order` as in
// Executor::run(). `after_each` is called after each measured run.
std::optional<std::vector<double>> time_runs(GraphRunner& runner,
                                             std::span<const OperationId> order,
                                             const TimedRuns& runs,
                                             const std::function<void()>& after_each = {});

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_TIMED_RUNS_H_
