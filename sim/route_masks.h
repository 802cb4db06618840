// RouteMasks: which routes are free, in bits.
//
// For machines of at most 64 pairs of devices and 64 resources (links, shared groups, copy engines)
// the resources of a route, and the pairs that need a resource, are bits of a word: asking whether
// a route is free, and who may start when one is released, takes a few instructions where
// SerialLinks otherwise walks along routes and queues. No allocation after construction. Not
// thread-safe.
#ifndef DOPPLER_SIM_ROUTE_MASKS_H_
#define DOPPLER_SIM_ROUTE_MASKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace doppler {

class RouteMasks {
 public:
  using Pairs = std::uint64_t;      // one bit for each pair of devices
  using Resources = std::uint64_t;  // one bit for each resource

  static constexpr std::size_t kBits = 64;

  static bool fits(std::size_t pairs, std::size_t resources) {
    return pairs <= kBits && resources <= kBits;
  }
  static constexpr std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

  // No pairs at all.
  RouteMasks() = default;
  // The resources of pair p are resources[offsets[p]..offsets[p + 1]); slots[r]: how many transfers
  // r serves at once. Must fit.
  RouteMasks(std::span<const std::int32_t> offsets, std::span<const std::int32_t> resources,
             std::span<const std::int32_t> slots);

  // Everything is free.
  void reset();

  bool is_free(std::size_t pair) const { return (route_[pair] & full_) == 0; }

  // Takes a free route.
  void take(std::size_t pair) {
    full_ |= route_[pair] & single_;
    for (Resources many = route_[pair] & ~single_; many != 0; many &= many - 1) {
      const int resource = std::countr_zero(many);
      if (--free_slots_[resource] == 0) full_ |= bit(static_cast<std::size_t>(resource));
    }
  }

  // Gives a route back. Returns its resources that had no slot left.
  Resources release(std::size_t pair) {
    const Resources freed = route_[pair] & full_;
    full_ &= ~freed;
    for (Resources many = route_[pair] & ~single_; many != 0; many &= many - 1)
      ++free_slots_[std::countr_zero(many)];
    return freed;
  }

  // Those of `waiting` that share a resource with `pair` and whose whole route is free.
  Pairs startable(Pairs waiting, std::size_t pair) const {
    const Pairs candidates = waiting & neighbours_[pair];
    return candidates == 0 ? 0 : without_users(candidates, full_);
  }
  // Those of `candidates` that can still start after `pair` was taken.
  Pairs still_startable(Pairs candidates, std::size_t pair) const {
    return without_users(candidates, route_[pair] & full_);
  }

  // The first resource in common, by number; `freed` must have one.
  std::int32_t common(std::size_t pair, Resources freed) const {
    return std::countr_zero(route_[pair] & freed);
  }

 private:
  Pairs without_users(Pairs candidates, Resources resources) const {
    for (; resources != 0; resources &= resources - 1)
      candidates &= ~users_[static_cast<std::size_t>(std::countr_zero(resources))];
    return candidates;
  }

  std::vector<Resources> route_;     // [pairs]
  std::vector<Pairs> users_;         // [resources], the pairs that need it
  std::vector<Pairs> neighbours_;    // [pairs], the pairs that share a resource with it
  std::vector<std::int32_t> slots_;  // [resources]
  Resources single_ = 0;  // the resources with one slot, whose free slots are not counted

  Resources full_ = 0;
  std::int32_t free_slots_[kBits] = {};
};

}  // namespace doppler

#endif  // DOPPLER_SIM_ROUTE_MASKS_H_
