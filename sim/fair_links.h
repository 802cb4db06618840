// FairLinks: transfers that run all at once and share links and shared groups max-min fairly.
//
// At any time the rates are those of progressive filling: all rates grow together until a resource
// is full; the transfers through it keep their rate, the others go on growing. A resource is a link
// (its bandwidth) or a shared group (its capacity). They are recomputed once per instant in which
// transfers began or ended, before time goes on.
//
// Transfers of one pair of devices always have equal rates, so a pair is one *stream* with a count:
// it keeps the bytes that each of its transfers has got since the stream began (its *service*), and
// a transfer ends when the service reaches what it was at its begin plus its bytes. So a
// recomputation costs O(streams x resources of a route + resources^2) whatever the number of
// transfers.
//
// Ends are rounded to the nearest tick. Nothing depends on the numbers of devices: resources are
// visited in the order in which the streams began. No allocation after construction. Not
// thread-safe.
#ifndef DOPPLER_SIM_FAIR_LINKS_H_
#define DOPPLER_SIM_FAIR_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/topology.h"
#include "sim/pairing_heap.h"

namespace doppler {

class FairLinks {
 public:
  // Transfers are numbered 0..transfer_capacity-1 by age.
  FairLinks(const Topology& topology, std::size_t transfer_capacity);

  void reset();

  // The bytes (> 0) of a transfer begin to flow from now on.
  void begin(std::int32_t transfer, std::size_t pair, double bytes, std::int64_t now);

  // Whether rates have to be recomputed before time goes on.
  bool changed() const { return changed_; }
  // Recomputes them. Ends that move get `sequence`, the number of an event created now.
  void share(std::int64_t now, std::uint32_t sequence);

  // The earliest end, and the sequence number of that event; never before share().
  std::int64_t next_time() const { return next_time_; }
  std::uint32_t next_sequence() const { return next_sequence_; }
  // Ends that transfer at next_time() and returns it.
  std::int32_t end_next();

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Stream {
    std::int32_t count = 0;                     // of transfers under way
    std::int32_t heap = PairingForest::kEmpty;  // of them, by the service at which they end
    double rate = 0;                            // bytes a tick, of each transfer
    double service = 0;                         // bytes that each has got, at `updated`
    std::int64_t updated = 0;
    std::int64_t end_time = kNever;  // of the first transfer to end
    std::uint32_t end_sequence = 0;
    bool fixed = false;      // while share() works: has its rate
    bool reordered = false;  // the first transfer to end is another one
  };

  void advance(Stream& stream, std::int64_t now) const;
  void predict(Stream& stream, std::int64_t now, std::uint32_t sequence) const;
  void set_rate(Stream& stream, double rate, std::int64_t now, std::uint32_t sequence) const;
  void gather();
  std::size_t tightest(double& rate) const;
  void find_next();
  auto sooner() const {
    return [this](std::int32_t a, std::int32_t b) {
      const double end_a = end_service_[static_cast<std::size_t>(a)];
      const double end_b = end_service_[static_cast<std::size_t>(b)];
      return end_a != end_b ? end_a < end_b : a < b;
    };
  }

  // Constant after construction.
  std::vector<std::int32_t> offsets_;    // [pairs + 1]
  std::vector<std::int32_t> resources_;  // of each pair
  std::vector<double> capacity_;         // [resources], bytes a tick

  // State of one run.
  std::vector<Stream> streams_;       // [pairs]
  std::vector<std::int32_t> active_;  // pairs with transfers under way, by begin
  std::size_t active_count_ = 0;
  std::vector<double> end_service_;  // [transfers]
  PairingForest forest_;             // of transfers
  bool changed_ = false;
  std::int64_t next_time_ = kNever;
  std::uint32_t next_sequence_ = 0;
  std::int32_t next_pair_ = -1;

  // Scratch of share().
  struct Resource {
    double left = 0;         // capacity that is not given out
    std::int32_t users = 0;  // transfers without a rate
    std::uint32_t stamp = 0;
  };
  std::vector<Resource> state_;     // [resources]
  std::vector<std::int32_t> used_;  // resources of active streams, in the order of the streams
  std::size_t used_count_ = 0;
  std::uint32_t stamp_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_FAIR_LINKS_H_
