// Control: an assignment that is measured now and again, only to see whether somebody else uses the
// machine meanwhile. Round robin: it keeps all devices busy, so that whoever takes one from us
// shows.
#ifndef DOPPLER_GPUEXEC_CONTROL_H_
#define DOPPLER_GPUEXEC_CONTROL_H_

#include <cstdint>
#include <optional>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/timed_runs.h"

namespace doppler {

// Operation after operation in topological order, each on the next of the devices that it may run
// on.
Assignment round_robin_assignment(const CostTable& costs);

class Control {
 public:
  // `runner` must outlive it.
  Control(GraphRunner& runner, const TimedRuns& runs);

  // Measures it now: its median over its best so far, 1 or more. Always 1 where it cannot run for
  // want of memory or time. What was loaded before is loaded no more.
  double measure();
  // Runs it once: its seconds; nothing where it cannot run for want of memory or time, now and from
  // then on. What was loaded before is loaded no more.
  std::optional<double> run_once();
  // Its median of `runs` runs, measured when first asked for and never again: what ratios to it are
  // turned back into seconds by. Nothing as in run_once().
  std::optional<double> typical_seconds(int runs);

  bool measured() const { return measured_at_.has_value(); }
  // Since the last measure() began, which must have been.
  double age_seconds() const;

 private:
  GraphRunner* runner_;
  TimedRuns runs_;
  Assignment assignment_;
  bool works_ = true;
  std::optional<double> best_seconds_;
  std::optional<double> typical_seconds_;
  std::optional<std::int64_t> measured_at_;  // nanoseconds
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CONTROL_H_
