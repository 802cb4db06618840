// SerialLinks: transfers that hold their whole route, one after the other.
//
// Resources are what a route takes up: a copy engine of the source, each link, each shared group, a
// copy engine of the destination. Links and groups serve one transfer at a time, copy engines as
// many as there are. A transfer starts when its whole route is free; whenever resources free up,
// the oldest waiting transfer whose whole route is free starts, then the next oldest.
//
// Transfers of one pair of devices have the same route, so they wait in one line, and the first of
// them stands for the pair. A waiting pair is queued at one resource of its route that is taken, so
// that only the queues of resources that free up are looked at. A step costs O(waiting pairs x log)
// at worst, whatever the number of waiting transfers. On small machines (RouteMasks) bits take the
// place of the queues, with the same starts at the same times; of several resources that freed up
// together the one that is named as waited for may differ. No allocation after construction. Not
// thread-safe.
#ifndef DOPPLER_SIM_SERIAL_LINKS_H_
#define DOPPLER_SIM_SERIAL_LINKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/executor.h"
#include "common/topology.h"
#include "sim/pairing_heap.h"
#include "sim/route_masks.h"

namespace doppler {

class SerialLinks {
 public:
  enum class Bookkeeping { kAutomatic, kQueues };  // kQueues: no bits, on small machines either

  // Transfers are numbered 0..transfer_capacity-1 by age.
  SerialLinks(const Topology& topology, std::size_t transfer_capacity,
              Bookkeeping bookkeeping = Bookkeeping::kAutomatic);

  // All resources free, nobody waiting.
  void reset();

  // Takes the route of `pair` (from * devices + to) if it is free; else the transfer waits.
  bool try_start(std::int32_t transfer, std::size_t pair) {
    if (first_[pair] >= 0) {  // the pair waits already
      next_[static_cast<std::size_t>(transfer)] = -1;
      next_[static_cast<std::size_t>(last_[pair])] = transfer;
      last_[pair] = transfer;
      return false;
    }
    if (is_small_) {
      if (masks_.is_free(pair)) {
        masks_.take(pair);
        return true;
      }
      next_[static_cast<std::size_t>(transfer)] = -1;
      first_[pair] = last_[pair] = transfer;
      waiting_ |= RouteMasks::bit(pair);
      return false;
    }
    const std::int32_t taken = first_taken(pair);
    if (taken < 0) {
      take(pair);
      return true;
    }
    next_[static_cast<std::size_t>(transfer)] = -1;
    first_[pair] = last_[pair] = transfer;
    wait_for(taken, static_cast<std::int32_t>(pair));
    return false;
  }

  // Frees the route of `pair` and starts who may: start(transfer, resource that it waited for).
  template <typename Start>
  void finish(std::size_t pair, const Start& start) {
    if (is_small_) {
      finish_small(pair, start);
      return;
    }
    free_route(pair);
    std::int32_t resource = oldest_free_queue(pair);
    while (resource >= 0) {
      std::int32_t& queue = queue_[static_cast<std::size_t>(resource)];
      const std::int32_t oldest = queue;
      const auto own = static_cast<std::size_t>(oldest);
      queue = forest_.pop(queue, older());
      std::int32_t taken = first_taken(own);
      if (taken < 0) {
        const std::int32_t started = first_[own];
        first_[own] = next_[static_cast<std::size_t>(started)];
        take(own);
        start(started, resource);
        taken = first_[own] < 0 ? -1 : first_taken(own);
      }
      if (taken >= 0) wait_for(taken, oldest);
      resource = oldest_free_queue(pair);
    }
  }

  // What a resource is: kind and id as in Wait.
  Wait describe(std::int32_t resource, std::int32_t holder) const {
    return {.kind = kind_[static_cast<std::size_t>(resource)],
            .index = holder,
            .resource = id_[static_cast<std::size_t>(resource)]};
  }

 private:
  // Of two pairs, the one whose first transfer is older.
  struct Older {
    const std::vector<std::int32_t>* first;
    bool operator()(std::int32_t a, std::int32_t b) const {
      return (*first)[static_cast<std::size_t>(a)] < (*first)[static_cast<std::size_t>(b)];
    }
  };
  Older older() const { return {&first_}; }

  template <typename Start>
  void finish_small(std::size_t pair, const Start& start) {
    const RouteMasks::Resources freed = masks_.release(pair);
    RouteMasks::Pairs candidates = masks_.startable(waiting_, pair);
    while (candidates != 0) {
      auto oldest = static_cast<std::size_t>(std::countr_zero(candidates));
      for (RouteMasks::Pairs rest = candidates & (candidates - 1); rest != 0; rest &= rest - 1) {
        const auto other = static_cast<std::size_t>(std::countr_zero(rest));
        oldest = first_[other] < first_[oldest] ? other : oldest;
      }
      const std::int32_t started = first_[oldest];
      first_[oldest] = next_[static_cast<std::size_t>(started)];
      if (first_[oldest] < 0) {
        waiting_ &= ~RouteMasks::bit(oldest);
        candidates &= waiting_;
      }
      masks_.take(oldest);
      candidates = masks_.still_startable(candidates, oldest);
      start(started, masks_.common(oldest, freed));
    }
  }

  // The first resource of a route that is taken, or -1.
  std::int32_t first_taken(std::size_t pair) const {
    for (std::int32_t i = offsets_[pair]; i < offsets_[pair + 1]; ++i) {
      const std::int32_t resource = resources_[static_cast<std::size_t>(i)];
      if (free_[static_cast<std::size_t>(resource)] == 0) return resource;
    }
    return -1;
  }
  void take(std::size_t pair) {
    for (std::int32_t i = offsets_[pair]; i < offsets_[pair + 1]; ++i) {
      --free_[static_cast<std::size_t>(resources_[static_cast<std::size_t>(i)])];
    }
  }
  void free_route(std::size_t pair) {
    for (std::int32_t i = offsets_[pair]; i < offsets_[pair + 1]; ++i) {
      ++free_[static_cast<std::size_t>(resources_[static_cast<std::size_t>(i)])];
    }
  }
  // The resource of this route that is free and where the oldest pair waits, or -1.
  std::int32_t oldest_free_queue(std::size_t pair) const {
    std::int32_t best = -1;
    std::int32_t oldest = -1;
    for (std::int32_t i = offsets_[pair]; i < offsets_[pair + 1]; ++i) {
      const std::int32_t resource = resources_[static_cast<std::size_t>(i)];
      const std::int32_t head = queue_[static_cast<std::size_t>(resource)];
      if (head < 0 || free_[static_cast<std::size_t>(resource)] == 0) continue;
      const std::int32_t age = first_[static_cast<std::size_t>(head)];
      if (best < 0 || age < oldest) {
        oldest = age;
        best = resource;
      }
    }
    return best;
  }
  void wait_for(std::int32_t resource, std::int32_t pair) {
    std::int32_t& queue = queue_[static_cast<std::size_t>(resource)];
    queue = forest_.push(queue, pair, older());
  }

  // Constant after construction.
  bool is_small_ = false;              // masks_ and waiting_ take the place of free_ and the queues
  std::vector<std::int32_t> offsets_;  // [pairs + 1]
  std::vector<std::int32_t> resources_;  // of each pair, in the order of travel
  std::vector<std::int32_t> slots_;      // [resources], how many transfers each serves at once
  std::vector<Wait::Kind> kind_;         // [resources]
  std::vector<std::int32_t> id_;         // [resources]

  // State of one run.
  std::vector<std::int32_t> free_;   // [resources]
  std::vector<std::int32_t> queue_;  // [resources], heaps of waiting pairs by age of the first
  std::vector<std::int32_t> first_;  // [pairs], the oldest waiting transfer; -1: none
  std::vector<std::int32_t> last_;   // [pairs]
  std::vector<std::int32_t> next_;   // [transfers], of the same pair
  PairingForest forest_;             // of pairs
  RouteMasks masks_;
  RouteMasks::Pairs waiting_ = 0;  // pairs whose line is not empty
};

}  // namespace doppler

#endif  // DOPPLER_SIM_SERIAL_LINKS_H_
