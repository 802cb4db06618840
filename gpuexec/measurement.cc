#include "gpuexec/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "common/check.h"

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

Assignment round_robin_assignment(const CostTable& costs) {
  Assignment assignment(costs.graph().operation_count());
  std::int32_t next = 0;
  for (OperationId operation : costs.graph().topological_order()) {
    while (!costs.allowed(operation, DeviceId(next))) next = (next + 1) % costs.device_count();
    assignment[operation] = DeviceId(next);
    next = (next + 1) % costs.device_count();
  }
  return assignment;
}

Measurer::Measurer(GraphRunner& runner, const MeasurementOptions& options)
    : runner_(&runner), options_(options), control_(round_robin_assignment(runner.costs())) {
  DP_CHECK_GE(options.repeats, 1);
  DP_CHECK_GE(options.warmup, 0);
}

double Measurer::measure_control() {
  last_control_ = now_nanoseconds();
  if (!control_works_) return 1;
  MeasurementOptions own = options_;
  std::swap(options_, own);
  options_.repeats = own.control_repeats;
  const Measurement control = measure_once(control_, {}, false);
  options_ = own;
  if (control.status != MeasurementStatus::kDone) {
    control_works_ = false;
    return 1;
  }
  best_control_ = std::min(best_control_.value_or(control.seconds), control.seconds);
  return *best_control_ > 0 ? control.seconds / *best_control_ : 1;
}

Measurement Measurer::measure(const Assignment& assignment, std::span<const OperationId> order,
                              bool keep_record) {
  if (!options_.control) return measure_once(assignment, order, keep_record);
  if (!best_control_ && control_works_) measure_control();
  Measurement result;
  for (int attempt = 1;; ++attempt) {
    result = measure_once(assignment, order, keep_record);
    result.attempts = attempt;
    const double since = static_cast<double>(now_nanoseconds() - last_control_) * 1e-9;
    if (result.status != MeasurementStatus::kDone ||
        (attempt == 1 && since < options_.control_interval_seconds)) {
      return result;
    }
    result.control_ratio = measure_control();
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
  for (int i = 0; i < options_.warmup + options_.repeats; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.pause_seconds));
    const std::optional<SimTime> makespan = runner_->run(order, options_.timeout_seconds);
    if (!makespan) {
      result.status = MeasurementStatus::kTimedOut;
      return result;
    }
    if (i < options_.warmup) continue;
    result.samples.push_back(makespan->seconds());
    if (keep_record) records.push_back(runner_->take_record());
  }
  const std::vector<double> kept = without_outliers(result.samples);
  result.dropped = result.samples.size() - kept.size();
  result.seconds = median(kept);
  result.interval = median_interval(kept);
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
