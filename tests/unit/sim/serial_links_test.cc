// SerialLinks keeps its books in bits on small machines and in queues elsewhere: both must start
// the same transfers in the same order.
#include "sim/serial_links.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random_physical.h"

namespace doppler {
namespace {

using Bookkeeping = SerialLinks::Bookkeeping;

// Requests and ends of transfers at random, ends in any order, until all are through.
void expect_same_starts(const Topology& topology, RandomStream& random) {
  constexpr std::int32_t kTransfers = 60;
  const int devices = topology.device_count();
  SerialLinks bits(topology, kTransfers, Bookkeeping::kAutomatic);
  SerialLinks queues(topology, kTransfers, Bookkeeping::kQueues);
  bits.reset();
  queues.reset();
  std::vector<std::size_t> pairs;
  std::vector<std::int32_t> under_way;
  std::size_t started_count = 0;
  while (started_count < kTransfers || !under_way.empty()) {
    if (pairs.size() < kTransfers && (under_way.empty() || test::below(random, 5) < 3)) {
      const int from = test::pick(random, 0, devices - 1);
      const int to = (from + test::pick(random, 1, devices - 1)) % devices;
      const auto transfer = static_cast<std::int32_t>(pairs.size());
      pairs.push_back(static_cast<std::size_t>(from * devices + to));
      const bool starts = bits.try_start(transfer, pairs.back());
      ASSERT_EQ(starts, queues.try_start(transfer, pairs.back()));
      if (!starts) continue;
      under_way.push_back(transfer);
      ++started_count;
      continue;
    }
    ASSERT_FALSE(under_way.empty());  // somebody always has a route
    const auto ended =
        static_cast<std::ptrdiff_t>(test::below(random, static_cast<int>(under_way.size())));
    const std::size_t pair =
        pairs[static_cast<std::size_t>(under_way[static_cast<std::size_t>(ended)])];
    under_way.erase(under_way.begin() + ended);
    std::vector<std::int32_t> by_bits;
    std::vector<std::int32_t> by_queues;
    bits.finish(pair, [&](std::int32_t started, std::int32_t) { by_bits.push_back(started); });
    queues.finish(pair, [&](std::int32_t started, std::int32_t) { by_queues.push_back(started); });
    ASSERT_EQ(by_bits, by_queues);
    under_way.insert(under_way.end(), by_bits.begin(), by_bits.end());
    started_count += by_bits.size();
  }
}

TEST(SerialLinksTest, BitsAndQueuesStartTheSameTransfers) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random(seed);
    const Topology topology(test::random_topology({.exact = true}, random));
    if (topology.device_count() < 2) continue;
    SCOPED_TRACE(seed);
    expect_same_starts(topology, random);
    if (HasFatalFailure()) return;
  }
}

// Two transfers wait for the link a->b that the third holds: the older one goes first, whatever
// pair it is of.
TEST(SerialLinksTest, TheOldestOfTheFreeRoutesStartsFirst) {
  TopologyParts parts = test::unit_devices(3, 1);
  for (int device = 0; device < 3; ++device) {
    test::add_link(parts, device, 3, 1, 0, {});
    test::add_link(parts, 3, device, 1, 0, {});
  }
  const Topology topology(parts);
  for (Bookkeeping bookkeeping : {Bookkeeping::kAutomatic, Bookkeeping::kQueues}) {
    SerialLinks links(topology, 4, bookkeeping);
    links.reset();
    const auto pair = [](int from, int to) { return static_cast<std::size_t>(from * 3 + to); };
    EXPECT_TRUE(links.try_start(0, pair(0, 1)));
    EXPECT_FALSE(links.try_start(1, pair(2, 1)));  // 0 holds the way into device 1
    EXPECT_FALSE(links.try_start(2, pair(0, 2)));  // and the way out of device 0
    EXPECT_FALSE(links.try_start(3, pair(2, 1)));  // behind 1
    std::vector<std::int32_t> started;
    const auto note = [&](std::int32_t transfer, std::int32_t) { started.push_back(transfer); };
    links.finish(pair(0, 1), note);
    EXPECT_EQ(started, (std::vector<std::int32_t>{1, 2}));
    links.finish(pair(2, 1), note);
    EXPECT_EQ(started, (std::vector<std::int32_t>{1, 2, 3}));
  }
}

}  // namespace
}  // namespace doppler
