#include "gpuexec/measured_executor.h"

#include <algorithm>
#include <utility>

#include "common/time_rounding.h"

namespace doppler {
namespace {

constexpr double kPenaltyPerOverflow = 10;
constexpr double kTimeoutPenalty = 2;

}  // namespace

MeasuredExecutor::MeasuredExecutor(const CostTable& costs, const Topology& topology,
                                   const PhysicalOptions& physical,
                                   std::unique_ptr<Backend> backend,
                                   const MeasurementOptions& measurement)
    : runner_(costs, topology, physical, std::move(backend)),
      measurer_(runner_, measurement),
      simulator_(costs, topology, physical) {}

SimTime MeasuredExecutor::run(const Assignment& assignment, std::span<const OperationId> order) {
  last_ = measurer_.measure(assignment, order, false);
  return cost(assignment, order);
}

Execution MeasuredExecutor::run_recorded(const Assignment& assignment,
                                         std::span<const OperationId> order) {
  last_ = measurer_.measure(assignment, order, true);
  const SimTime value = cost(assignment, order);
  if (last_.record) {
    Execution record = std::exchange(last_.record, std::nullopt).value();
    record.makespan = value;
    return record;
  }
  Execution record = simulator_.run_recorded(assignment, order);
  record.feasible = false;
  return record;
}

std::optional<MeasuredTime> MeasuredExecutor::measured() const {
  if (!feasible() || last_.samples.empty()) return std::nullopt;
  return MeasuredTime{.seconds = last_.seconds,
                      .repeats = static_cast<std::uint32_t>(last_.samples.size() - last_.dropped),
                      .spread_seconds = last_.spread_seconds};
}

SimTime MeasuredExecutor::cost(const Assignment& assignment, std::span<const OperationId> order) {
  switch (last_.status) {
    case MeasurementStatus::kDone:
      return round_seconds(last_.seconds);
    case MeasurementStatus::kTimedOut:
      return round_seconds(kTimeoutPenalty * measurer_.options().timeout_seconds);
    case MeasurementStatus::kOutOfMemory:
      break;
  }
  double overflow = 0;
  for (const MemoryShortage& shortage : last_.shortages) {
    // Nothing available at all: the machine is full; one overflow's worth.
    const double available = static_cast<double>(
        shortage.available_bytes > 0 ? shortage.available_bytes : shortage.needed_bytes);
    const auto over = static_cast<double>(shortage.needed_bytes - shortage.available_bytes);
    overflow = std::max(overflow, over / available);
  }
  const SimTime simulated = simulator_.run_recorded(assignment, order).makespan;
  return scale_time(simulated, 1 + kPenaltyPerOverflow * overflow);
}

}  // namespace doppler
