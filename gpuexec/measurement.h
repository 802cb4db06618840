// Measurement: what an assignment takes in reality, told so that noise cannot mislead.
//
// An assignment is loaded, run `warmup` times unmeasured, then `repeats` times. Of these runs the
// outliers are dropped (without_outliers()); the rest give the median and an interval for it
// (median_interval()). A run that takes longer than the time-out ends the measurement.
//
// Disturbance. Before the first measurement a *control* assignment (Control) is measured; it is
// measured again when `control_interval_seconds` have passed. Where its median is more than
// `control_tolerance` above its best so far, somebody else uses the machine: what was measured
// since the last good control is marked, and this measurement is repeated, up to `retries` times.
//
// Paired. A run of the control goes before every measured run, and what counts is the ratio of the
// two, times what the control takes typically. What slows both slows neither: on two virtual cores
// the median of 3 runs of 6 ms had a deviation of 8 to 10 %, paired 3 to 4 %.
#ifndef DOPPLER_GPUEXEC_MEASUREMENT_H_
#define DOPPLER_GPUEXEC_MEASUREMENT_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/executor.h"
#include "gpuexec/control.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/statistics.h"

namespace doppler {

struct MeasurementOptions {
  int warmup = 1;
  int repeats = 5;              // at least 1; 6 for an interval of 95 %
  double timeout_seconds = 60;  // of one run
  double pause_seconds = 0;     // before each run: lets a machine cool down, and others catch up
  bool paired = false;          // costs as many runs again; the control is then looked at no more
  int typical_runs = 15;        // of the control, at first, where paired
  bool control = true;          // look out for disturbance; costs a few runs now and then
  double control_tolerance = 0.1;
  double control_interval_seconds = 2;
  int control_repeats = 3;
  int retries = 1;
};

enum class MeasurementStatus { kDone, kTimedOut, kOutOfMemory };

const char* status_name(MeasurementStatus status);  // "done", "timed out", "out of memory"

struct Measurement {
  MeasurementStatus status = MeasurementStatus::kDone;
  double seconds = 0;       // the median; only where done, as what follows
  MedianInterval interval;  // seconds
  // Seconds, in the order of the runs, outliers included; where paired, those of a typical time.
  std::vector<double> samples;
  std::size_t dropped = 0;    // outliers
  double spread_seconds = 0;  // standard deviation of the samples that stay
  bool disturbed = false;     // the control was slow around it, also the last time
  double control_ratio = 1;   // of the control's last median to its best
  int attempts = 1;
  std::vector<MemoryShortage> shortages;  // out of memory
  std::optional<Execution> record;        // of the run nearest the median, if asked for
};

class Measurer {
 public:
  // `runner` must outlive it.
  Measurer(GraphRunner& runner, const MeasurementOptions& options);

  // With `keep_record`, the measurement holds the record of its run nearest the median.
  Measurement measure(const Assignment& assignment, std::span<const OperationId> order,
                      bool keep_record = false);

  const MeasurementOptions& options() const { return options_; }

 private:
  Measurement measure_once(const Assignment& assignment, std::span<const OperationId> order,
                           bool keep_record);
  std::optional<std::vector<double>> time_paired(const Assignment& assignment,
                                                 std::span<const OperationId> order, double typical,
                                                 const std::function<void()>& after_each);

  GraphRunner* runner_;
  MeasurementOptions options_;
  Control control_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_MEASUREMENT_H_
