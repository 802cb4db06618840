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
  if (!options_.control) return measure_once(assignment, order, keep_record);
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

Measurement Measurer::measure_once(const Assignment& assignment, std::span<const OperationId> order,
                                   bool keep_record) {
  Measurement result;
  result.shortages = runner_->load(assignment);
  if (!result.shortages.empty()) {
    result.status = MeasurementStatus::kOutOfMemory;
    return result;
  }
  std::vector<Execution> records;
  auto seconds = time_runs(*runner_, order,
                           {.warmup = options_.warmup,
                            .repeats = options_.repeats,
                            .timeout_seconds = options_.timeout_seconds,
                            .pause_seconds = options_.pause_seconds},
                           [&] {
                             if (keep_record) records.push_back(runner_->take_record());
                           });
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
