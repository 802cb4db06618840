#include "sim/route_masks.h"

#include <algorithm>

#include "common/check.h"

namespace doppler {

RouteMasks::RouteMasks(std::span<const std::int32_t> offsets,
                       std::span<const std::int32_t> resources, std::span<const std::int32_t> slots)
    : route_(offsets.size() - 1),
      users_(slots.size()),
      neighbours_(offsets.size() - 1),
      slots_(slots.begin(), slots.end()) {
  DP_CHECK(fits(route_.size(), slots.size()));
  for (std::size_t r = 0; r < slots.size(); ++r) {
    if (slots[r] == 1) single_ |= bit(r);
  }
  for (std::size_t pair = 0; pair < route_.size(); ++pair) {
    for (std::int32_t i = offsets[pair]; i < offsets[pair + 1]; ++i) {
      const auto r = static_cast<std::size_t>(resources[static_cast<std::size_t>(i)]);
      route_[pair] |= bit(r);
      users_[r] |= bit(pair);
    }
  }
  for (std::size_t pair = 0; pair < route_.size(); ++pair) {
    for (std::size_t other = 0; other < route_.size(); ++other) {
      if ((route_[pair] & route_[other]) != 0) neighbours_[pair] |= bit(other);
    }
  }
  reset();
}

void RouteMasks::reset() {
  full_ = 0;
  std::copy(slots_.begin(), slots_.end(), free_slots_);
}

}  // namespace doppler
