#include "common/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Devices d0, d1, ...; then switches s0, s1, ...
TopologyParts make_parts(int devices, int switches, std::vector<Link> links) {
  TopologyParts parts;
  parts.name = "t";
  parts.route_reference_bytes = 1e9;
  for (int i = 0; i < devices; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.kind = "gpu";
    device.flops_per_second = 1e12;
    parts.devices.push_back(device);
  }
  for (int i = 0; i < switches; ++i) parts.switches.push_back("s" + std::to_string(i));
  parts.links = std::move(links);
  return parts;
}

Link link(int from, int to, double bandwidth, double latency = 0) {
  return {.from = NodeId(from),
          .to = NodeId(to),
          .latency_seconds = latency,
          .bandwidth_bytes_per_second = bandwidth,
          .groups = {}};
}

TEST(Topology, ATransferTakesLatencyPlusBytesOverBandwidth) {
  const Topology topology(make_parts(2, 0, {link(0, 1, 4e9, 1e-6), link(1, 0, 1e9)}));
  // 1 microsecond + 8e9 / 4e9 = 2 s.
  EXPECT_EQ(topology.route(DeviceId(0), DeviceId(1)).transfer_time(8'000'000'000),
            SimTime(2'000'001'000'000));
  EXPECT_EQ(topology.route(DeviceId(1), DeviceId(0)).transfer_time(8'000'000'000),
            SimTime(8'000'000'000'000));
  EXPECT_EQ(topology.route(DeviceId(1), DeviceId(1)).transfer_time(8), SimTime(0));
}

TEST(Topology, APairWithLinksUsesTheCheapestOfThem) {
  // Links 0 and 1 join d0 and d1: 1e9 / 1e9 = 1 s, and 0.6 + 1e9 / 4e9 = 0.85 s. The way over d2
  // takes 0.2 s, but the pair has links.
  const Topology topology(make_parts(3, 0,
                                     {link(0, 1, 1e9), link(0, 1, 4e9, 0.6), link(0, 2, 1e10),
                                      link(2, 1, 1e10), link(1, 0, 1), link(2, 0, 1)}));
  EXPECT_THAT(topology.route(DeviceId(0), DeviceId(1)).links, ElementsAre(LinkId(1)));
}

TEST(Topology, OtherPairsUseTheCheapestPath) {
  // From d0 to d1: over s0 (two links of 1e9: 1 s), over s1 (two links of 4e9 with 0.3 s each:
  // 0.85 s), over s2 (4e9 and 0.5e9: 2 s).
  const Topology topology(
      make_parts(2, 3,
                 {link(0, 2, 1e9), link(2, 1, 1e9), link(0, 3, 4e9, 0.3), link(3, 1, 4e9, 0.3),
                  link(0, 4, 4e9), link(4, 1, 0.5e9), link(1, 0, 1e9)}));
  const Route& route = topology.route(DeviceId(0), DeviceId(1));
  EXPECT_THAT(route.links, ElementsAre(LinkId(2), LinkId(3)));
  EXPECT_EQ(route.latency, SimTime(600'000'000'000));
  EXPECT_EQ(route.bandwidth_bytes_per_second, 4e9);
}

TEST(Topology, TheReferenceSizeDecidesBetweenLatencyAndBandwidth) {
  // Over s0: 1 ms and 1e9; over s1: 5 ms and 1e10. 1e6 bytes: 1 + 1 against 5 + 0.1 ms;
  // 1e7 bytes: 1 + 10 against 5 + 1 ms.
  TopologyParts parts = make_parts(2, 2,
                                   {link(0, 2, 1e9, 1e-3), link(2, 1, 1e9), link(0, 3, 1e10, 5e-3),
                                    link(3, 1, 1e10), link(1, 0, 1)});
  parts.route_reference_bytes = 1e6;
  EXPECT_THAT(Topology(parts).route(DeviceId(0), DeviceId(1)).links,
              ElementsAre(LinkId(0), LinkId(1)));
  parts.route_reference_bytes = 1e7;
  EXPECT_THAT(Topology(parts).route(DeviceId(0), DeviceId(1)).links,
              ElementsAre(LinkId(2), LinkId(3)));
}

TEST(Topology, TiesGoToFewerLinksThenToSmallerIds) {
  // d0 to d1 at 1e9 without latency: over s0 and s1 (links 0, 1, 2), over s2 (4, 5) or s3 (3, 6).
  const Topology topology(
      make_parts(2, 4,
                 {link(0, 2, 1e9), link(2, 3, 1e9), link(3, 1, 1e9), link(0, 5, 1e9),
                  link(0, 4, 1e9), link(4, 1, 1e9), link(5, 1, 1e9), link(1, 0, 1e9)}));
  EXPECT_THAT(topology.route(DeviceId(0), DeviceId(1)).links, ElementsAre(LinkId(3), LinkId(6)));
}

TEST(Topology, PathsPassOnlyThroughDevicesThatForward) {
  TopologyParts parts =
      make_parts(3, 1,
                 {link(0, 1, 1e9), link(1, 0, 1e9), link(1, 2, 1e9), link(2, 1, 1e9),
                  link(0, 3, 1e8), link(3, 2, 1e8), link(2, 0, 1e9)});
  EXPECT_THAT(Topology(parts).route(DeviceId(0), DeviceId(2)).links,
              ElementsAre(LinkId(0), LinkId(2)));
  parts.devices[1].forwards = false;
  EXPECT_THAT(Topology(parts).route(DeviceId(0), DeviceId(2)).links,
              ElementsAre(LinkId(4), LinkId(5)));
  // d1 itself may still send and receive.
  EXPECT_THAT(Topology(parts).route(DeviceId(1), DeviceId(2)).links, ElementsAre(LinkId(2)));
}

TEST(Topology, ASharedGroupNarrowsItsLinks) {
  TopologyParts parts = make_parts(2, 0, {link(0, 1, 4e9), link(1, 0, 4e9)});
  parts.groups = {{.name = "bus", .capacity_bytes_per_second = 1e9}};
  parts.links[0].groups = parts.links[1].groups = {SharedGroupId(0)};
  const Topology topology(parts);
  EXPECT_EQ(topology.route(DeviceId(0), DeviceId(1)).bandwidth_bytes_per_second, 1e9);
  EXPECT_THAT(topology.route(DeviceId(0), DeviceId(1)).groups, ElementsAre(SharedGroupId(0)));
}

TEST(Topology, NamesLinksByTheirEnds) {
  const Topology topology(make_parts(2, 0, {link(0, 1, 1), link(1, 0, 1), link(0, 1, 2)}));
  EXPECT_EQ(topology.link_name(LinkId(1)), "d1->d0");
  EXPECT_EQ(topology.link_name(LinkId(2)), "d0->d1 (2)");
}

TEST(Topology, TheHashCoversTheContent) {
  const TopologyParts parts = make_parts(2, 0, {link(0, 1, 1e9), link(1, 0, 1e9)});
  TopologyParts other = parts;
  EXPECT_EQ(Topology(parts).content_hash(), Topology(other).content_hash());
  other.devices[1].launch_overhead_seconds = 1e-9;
  EXPECT_NE(Topology(parts).content_hash(), Topology(other).content_hash());
}

TEST(Topology, RefusesWhatCannotBe) {
  const auto message = [](const TopologyParts& parts) {
    return test::message_of<ConfigError>([&] { const Topology topology(parts); });
  };
  EXPECT_THAT(message(make_parts(0, 0, {})), HasSubstr("devices: there are none"));
  EXPECT_THAT(message(make_parts(2, 0, {link(0, 1, 1e9)})),
              HasSubstr("no path leads from device d1 to device d0; add a link"));
  EXPECT_THAT(message(make_parts(2, 0, {link(0, 1, 0)})),
              HasSubstr("link 0: bandwidth_bytes_per_second must be positive"));
  EXPECT_THAT(message(make_parts(2, 0, {link(0, 0, 1)})), HasSubstr("from a node to itself"));
  EXPECT_THAT(message(make_parts(2, 0, {link(0, 2, 1)})), HasSubstr("an end of it is no node"));
  TopologyParts parts = make_parts(1, 0, {});
  parts.devices[0].memory_bytes = 0;
  EXPECT_THAT(message(parts), HasSubstr("device d0: memory_bytes must be positive"));
  parts = make_parts(1, 1, {});
  parts.switches[0] = "d0";
  EXPECT_THAT(message(parts), HasSubstr("the name is used twice"));
  parts = make_parts(1, 0, {});
  parts.devices[0].flops_per_second_by_kind["matmul"] = -1;
  EXPECT_THAT(message(parts), HasSubstr("flops_per_second_by_kind.matmul must be positive"));
}

}  // namespace
}  // namespace doppler
