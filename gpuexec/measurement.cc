#include "gpuexec/measurement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "gpuexec/timed_runs.h"

namespace doppler {

const char* status_name(MeasurementStatus status) {
  switch (status) {
    case MeasurementStatus::kDone:
      return "done";
    case MeasurementStatus::kTimedOut:
      return "timed out";
    case MeasurementStatus::kOutOfMemory:
      return "out of memory";
  }
  return "";
}

Measurer::Measurer(GraphRunner& runner, const MeasurementOptions& options)
    : runner_(&runner),
      options_(options),
      control_(runner, {.warmup = options.warmup,
                        .repeats = options.control_repeats,
                        .timeout_seconds = options.timeout_seconds,
                        .pause_seconds = options.pause_seconds}) {
  DP_CHECK_GE(options.repeats, 1);
  DP_CHECK_GE(options.warmup, 0);
}

Measurement Measurer::measure(const Assignment& assignment, std::span<const OperationId> order,
                              bool keep_record) {
  if (!options_.control || options_.paired) return measure_once(assignment, order, keep_record);
  if (!control_.measured()) control_.measure();
  Measurement result;
  for (int attempt = 1;; ++attempt) {
    result = measure_once(assignment, order, keep_record);
    result.attempts = attempt;
    if (result.status != MeasurementStatus::kDone ||
        (attempt == 1 && control_.age_seconds() < options_.control_interval_seconds)) {
      return result;
    }
    result.control_ratio = control_.measure();
    result.disturbed = result.control_ratio > 1 + options_.control_tolerance;
    if (!result.disturbed || attempt > options_.retries) return result;
  }
}

// Control, placement, control, placement, each control's run before the placement's. Nothing if a
// run of the placement did not end in time.
std::optional<std::vector<double>> Measurer::time_paired(const Assignment& assignment,
                                                         std::span<const OperationId> order,
                                                         double typical,
                                                         const std::function<void()>& after_each) {
  TimedRuns once{.warmup = 0,
                 .repeats = 1,
                 .timeout_seconds = options_.timeout_seconds,
                 .pause_seconds = options_.pause_seconds};
  std::vector<double> seconds;
  for (int run = -options_.warmup; run < options_.repeats; ++run) {
    const auto control = run < 0 ? std::optional(typical) : control_.run_once();
    runner_->load(assignment);
    const auto placement =
        time_runs(*runner_, order, once, run < 0 ? std::function<void()>() : after_each);
    if (!placement) return std::nullopt;
    // A control that works no more: as it would be without.
    if (run >= 0) seconds.push_back(placement->front() * typical / control.value_or(typical));
  }
  return seconds;
}

Measurement Measurer::measure_once(const Assignment& assignment, std::span<const OperationId> order,
                                   bool keep_record) {
  Measurement result;
  const double typical =
      options_.paired ? control_.typical_seconds(options_.typical_runs).value_or(0) : 0;
  result.shortages = runner_->load(assignment);
  if (!result.shortages.empty()) {
    result.status = MeasurementStatus::kOutOfMemory;
    return result;
  }
  std::vector<Execution> records;
  const auto after_each = [&] {
    if (keep_record) records.push_back(runner_->take_record());
  };
  auto seconds = typical > 0 ? time_paired(assignment, order, typical, after_each)
                             : time_runs(*runner_, order,
                                         {.warmup = options_.warmup,
                                          .repeats = options_.repeats,
                                          .timeout_seconds = options_.timeout_seconds,
                                          .pause_seconds = options_.pause_seconds},
                                         after_each);
  if (!seconds) {
    result.status = MeasurementStatus::kTimedOut;
    return result;
  }
  result.samples = std::move(*seconds);
  const std::vector<double> kept = without_outliers(result.samples);
  result.dropped = result.samples.size() - kept.size();
  result.seconds = median(kept);
  result.interval = median_interval(kept);
  result.spread_seconds = standard_deviation(kept);
  if (keep_record) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < result.samples.size(); ++i) {
      if (std::abs(result.samples[i] - result.seconds) <
          std::abs(result.samples[best] - result.seconds)) {
        best = i;
      }
    }
    result.record = std::move(records[best]);
  }
  return result;
}

}  // namespace doppler
