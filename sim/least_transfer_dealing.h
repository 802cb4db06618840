// Dealing out the operations of a group to devices, evenly and with the least transfer time.
#ifndef DOPPLER_SIM_LEAST_TRANSFER_DEALING_H_
#define DOPPLER_SIM_LEAST_TRANSFER_DEALING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"

namespace doppler {

// What placing an operation on a device costs. Compared in this order.
struct DealingCost {
  std::int64_t uneven = 0;          // operations above an even share of the device
  std::int64_t transfer_ticks = 0;  // of its inputs
  std::int64_t load_ticks = 0;      // what the device has to compute, this operation included

  auto operator<=>(const DealingCost&) const = default;
  friend DealingCost operator+(const DealingCost& a, const DealingCost& b) {
    return {a.uneven + b.uneven, a.transfer_ticks + b.transfer_ticks, a.load_ticks + b.load_ticks};
  }
  friend DealingCost operator-(const DealingCost& a, const DealingCost& b) {
    return {a.uneven - b.uneven, a.transfer_ticks - b.transfer_ticks, a.load_ticks - b.load_ticks};
  }
};

struct DealingOption {
  DeviceId device;
  std::int64_t transfer_ticks = 0;
  std::int64_t load_ticks = 0;
};

// A device for each of `options` (one list an operation, not empty). Of all assignments one with
// the smallest sum of costs, `uneven` being 0 for the first floor(operations / devices) operations
// of a device, 1 for the next, 2 for the one after it, and so on. So the shares are as even as the
// options allow; of those assignments the transfers are least; of those, the loads.
//
// Exact: the operations of a group do not depend on each other, so that this is a transportation
// problem, solved by shortest augmenting paths in O(operations x (operations x devices +
// devices^3)). Deterministic.
std::vector<DeviceId> deal_with_least_transfer(std::span<const std::vector<DealingOption>> options,
                                               int device_count);

}  // namespace doppler

#endif  // DOPPLER_SIM_LEAST_TRANSFER_DEALING_H_
