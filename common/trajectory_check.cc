#include "common/trajectory_check.h"

#include <algorithm>

namespace doppler {

TrajectoryCheck::TrajectoryCheck(const CostTable& costs)
    : costs_(&costs), is_placed_(costs.graph().operation_count()) {}

bool TrajectoryCheck::passes(const Trajectory& trajectory) {
  const std::size_t steps = is_placed_.size();
  if (trajectory.operations.size() != steps || trajectory.devices.size() != steps ||
      trajectory.select_log_probabilities.size() != steps ||
      trajectory.place_log_probabilities.size() != steps) {
    return false;
  }
  const auto device_count = static_cast<std::size_t>(costs_->device_count());
  // Each operation once, each after its predecessors.
  std::fill(is_placed_.begin(), is_placed_.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < steps; ++i) {
    const OperationId operation = trajectory.operations[i];
    const DeviceId device = trajectory.devices[i];
    if (operation.value() < 0 || operation.index() >= steps || is_placed_[operation.index()] != 0) {
      return false;
    }
    if (device.value() < 0 || device.index() >= device_count) return false;
    if (!costs_->allowed(operation, device)) return false;
    for (OperationId predecessor : costs_->graph().predecessors(operation)) {
      if (is_placed_[predecessor.index()] == 0) return false;
    }
    is_placed_[operation.index()] = 1;
  }
  return true;
}

}  // namespace doppler
