#include "sim/device_choices.h"

#include <cstdint>

#include "common/check.h"

namespace doppler {

DeviceChoices::DeviceChoices(const CostTable& costs) {
  const std::size_t n = costs.graph().operation_count();
  offsets_.reserve(n + 1);
  offsets_.push_back(0);
  for (std::size_t o = 0; o < n; ++o) {
    const OperationId operation(static_cast<std::int32_t>(o));
    for (std::int32_t d = 0; d < costs.device_count(); ++d) {
      if (costs.allowed(operation, DeviceId(d))) devices_.emplace_back(d);
    }
    DP_CHECK_LT(offsets_.back(), devices_.size());
    if (devices_.size() - offsets_.back() > 1) free_operations_.push_back(operation);
    offsets_.push_back(devices_.size());
  }
}

Assignment DeviceChoices::draw(RandomStream& random) const {
  Assignment assignment(offsets_.size() - 1);
  for (std::size_t o = 0; o < assignment.size(); ++o) {
    const OperationId operation(static_cast<std::int32_t>(o));
    const std::span<const DeviceId> devices = of(operation);
    assignment[operation] = devices[random.next_below(devices.size())];
  }
  return assignment;
}

}  // namespace doppler
