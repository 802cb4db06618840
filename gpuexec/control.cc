#include "gpuexec/control.h"

#include <algorithm>

#include "gpuexec/statistics.h"

namespace doppler {

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

Control::Control(GraphRunner& runner, const TimedRuns& runs)
    : runner_(&runner), runs_(runs), assignment_(round_robin_assignment(runner.costs())) {}

double Control::measure() {
  measured_at_ = now_nanoseconds();
  if (!works_) return 1;
  const bool fits = runner_->load(assignment_).empty();
  const auto seconds = fits ? time_runs(*runner_, {}, runs_) : std::nullopt;
  works_ = seconds.has_value();
  if (!works_) return 1;
  const double now = median(*seconds);
  best_seconds_ = std::min(best_seconds_.value_or(now), now);
  return *best_seconds_ > 0 ? now / *best_seconds_ : 1;
}

std::optional<double> Control::run_once() {
  if (!works_) return std::nullopt;
  TimedRuns once = runs_;
  once.warmup = 0;
  once.repeats = 1;
  const bool fits = runner_->load(assignment_).empty();
  const auto seconds = fits ? time_runs(*runner_, {}, once) : std::nullopt;
  works_ = seconds.has_value();
  return works_ ? std::optional(seconds->front()) : std::nullopt;
}

std::optional<double> Control::typical_seconds(int runs) {
  if (!works_ || typical_seconds_) return typical_seconds_;
  TimedRuns many = runs_;
  many.repeats = runs;
  const bool fits = runner_->load(assignment_).empty();
  const auto seconds = fits ? time_runs(*runner_, {}, many) : std::nullopt;
  works_ = seconds.has_value();
  if (works_) typical_seconds_ = median(*seconds);
  return typical_seconds_;
}

double Control::age_seconds() const {
  return static_cast<double>(now_nanoseconds() - measured_at_.value()) * 1e-9;
}

}  // namespace doppler
