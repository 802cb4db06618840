// What transfers do to each other, by schedules that are computed by hand:
// tests/support/unit_schedules.h says how they are written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/unit_schedules.h"

namespace doppler {
namespace {

using test::add_link;
using test::execute;
using test::kFair;
using test::kNone;
using test::kSecond;
using test::kSerial;
using test::kTwoOverOneLink;
using test::make_unit_graph;
using test::makespan;
using test::start;
using test::Times;
using test::transfers;
using test::two_over_one_link;
using test::unit_devices;
using test::unit_mesh;
using testing::ElementsAre;

TEST(PhysicalContention, WithoutContentionTransfersDoNotMeet) {
  // o0 0-1, o1 1-2; transfers 1-5 and 2-6; o2 5-6, o3 6-7.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kNone, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 5}, {2, 6}}));
  EXPECT_EQ(makespan(execution), 7);
}

TEST(PhysicalContention, SerialTransfersTakeTurnsOnALink) {
  // The second transfer, requested at 2, waits for the first: 1-5 and 5-9; o3 9-10.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kSerial, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 5}, {5, 9}}));
  EXPECT_EQ(makespan(execution), 10);
}

TEST(PhysicalContention, FairTransfersShareALink) {
  // The first has 1 B at 2, then both get 0.5 B/s: its other 3 B take 6 s: 1-8. The second has 3 B
  // by then; its last one takes 1 s alone: 2-9. o2 8-9, o3 9-10.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kFair, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 8}, {2, 9}}));
  EXPECT_EQ(makespan(execution), 10);
}

TEST(PhysicalContention, LinksOfTheTwoDirectionsAreTwo) {
  // o0 on d0 and o1 on d1, 1 s and 4 B each, exchange: both transfers 1-5.
  const Graph graph = make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
  EXPECT_EQ(transfers(execute(graph, unit_mesh(2), kSerial, {0, 1, 1, 0})),
            (Times{{1, 5}, {1, 5}}));
}

TEST(PhysicalContention, OneTransferServesAllConsumersOfADevice) {
  // o0 (1 s, 4 B) feeds o1 and o2 on d1 and o3 on d0: one transfer 1-5; o1 5-6, o2 6-7.
  const Graph graph = make_unit_graph({{1, 4}, {1}, {1}, {1}}, {{0, 1}, {0, 2}, {0, 3}});
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, unit_mesh(2), options, {0, 1, 1, 0});
    EXPECT_EQ(transfers(execution), (Times{{1, 5}}));
    EXPECT_THAT(execution.link_bytes.raw(), ElementsAre(4, 0));
    EXPECT_EQ(makespan(execution), 7);
  }
}

TEST(PhysicalContention, ATransferCarriesTheLargestOfItsEdges) {
  // Edges of 2 B to o1 and 6 B to o2, both on d1: one transfer of 6 B, 1-7; o1 7-8, o2 8-9.
  GraphBuilder builder("g", CostUnit::kPhysical);
  for (int i = 0; i < 3; ++i) {
    Operation operation;
    operation.flops = 1;
    operation.output_bytes = 3;
    builder.add_operation(operation);
  }
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = 2});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = 6});
  const Graph graph = builder.build();
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, unit_mesh(2), options, {0, 1, 1});
    EXPECT_EQ(transfers(execution), (Times{{1, 7}}));
    EXPECT_EQ(makespan(execution), 9);
  }
}

TEST(PhysicalContention, DestinationsStartInTheOrderOfTheirFirstConsumer) {
  // o0 (1 s, 2 B) on d0 feeds o1 on d2, o2 on d1, o3 on d2, over one switch s0 (node 3). The way to
  // the switch serves d2 first: 1-3, then d1: 3-5.
  TopologyParts parts = unit_devices(3, 1);
  for (int d = 0; d < 3; ++d) {
    add_link(parts, d, 3);
    add_link(parts, 3, d);
  }
  const Graph graph = make_unit_graph({{1, 2}, {1}, {1}, {1}}, {{0, 1}, {0, 2}, {0, 3}});
  const Execution execution = execute(graph, parts, kSerial, {0, 2, 1, 2});
  ASSERT_EQ(execution.transfers.size(), 2U);
  EXPECT_EQ(execution.transfers[0].to, DeviceId(2));
  EXPECT_EQ(transfers(execution), (Times{{1, 3}, {3, 5}}));
  EXPECT_EQ(start(execution, 2), 5);
}

TEST(PhysicalContention, CopyEnginesOfTheSourceLimitWhatLeaves) {
  // o0 (1 s, 4 B) goes to d1, d2 and d3, over links of their own. One engine: 1-5, 5-9, 9-13. Two:
  // 1-5, 1-5, 5-9. No limit: all 1-5.
  const Graph graph = make_unit_graph({{1, 4}, {1}, {1}, {1}}, {{0, 1}, {0, 2}, {0, 3}});
  TopologyParts parts = unit_mesh(4);
  parts.devices[0].copy_engines_out = 1;
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2, 3})),
            (Times{{1, 5}, {5, 9}, {9, 13}}));
  parts.devices[0].copy_engines_out = 2;
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2, 3})),
            (Times{{1, 5}, {1, 5}, {5, 9}}));
  parts.devices[0].copy_engines_out.reset();
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2, 3})),
            (Times{{1, 5}, {1, 5}, {1, 5}}));
}

TEST(PhysicalContention, CopyEnginesOfTheDestinationLimitWhatArrives) {
  // o0 (1 s, 3 B) on d0 and o1 (1 s, 3 B) on d1 send to d2: with one engine 1-4 and 4-7. Free and
  // fair transfers know no engines: 1-4 both.
  const Graph graph = make_unit_graph({{1, 3}, {1, 3}, {1}}, {{0, 2}, {1, 2}});
  TopologyParts parts = unit_mesh(3);
  parts.devices[2].copy_engines_in = 1;
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2})), (Times{{1, 4}, {4, 7}}));
  EXPECT_EQ(transfers(execute(graph, parts, kNone, {0, 1, 2})), (Times{{1, 4}, {1, 4}}));
  EXPECT_EQ(transfers(execute(graph, parts, kFair, {0, 1, 2})), (Times{{1, 4}, {1, 4}}));
}

// d0 -> d1 and d2 -> d3 are links of `bandwidth`, both in one group. o0 on d0 and o1 on d2 (1 s, 4
// B) send over them.
Execution over_a_group(double bandwidth, double capacity, const PhysicalOptions& options) {
  TopologyParts parts = unit_mesh(4);
  parts.groups.push_back({.name = "bus", .capacity_bytes_per_second = capacity});
  for (Link& link : parts.links) {
    const bool in_group = (link.from == NodeId(0) && link.to == NodeId(1)) ||
                          (link.from == NodeId(2) && link.to == NodeId(3));
    if (!in_group) continue;
    link.bandwidth_bytes_per_second = bandwidth;
    link.groups = {SharedGroupId(0)};
  }
  return execute(make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}}), parts, options,
                 {0, 2, 1, 3});
}

TEST(PhysicalContention, ASharedGroupServesOneSerialTransfer) {
  // Links of 1 B/s: 4 s each, one after the other.
  EXPECT_EQ(transfers(over_a_group(1, 2, kSerial)), (Times{{1, 5}, {5, 9}}));
}

TEST(PhysicalContention, ASharedGroupSplitsItsCapacityFairly) {
  // Links of 2 B/s, a group of 2 B/s: 1 B/s each, 4 s.
  EXPECT_EQ(transfers(over_a_group(2, 2, kFair)), (Times{{1, 5}, {1, 5}}));
  // A group of 3 B/s: 1.5 B/s each, 8/3 s = 2.666666666667 s (the picosecond is rounded).
  EXPECT_EQ(over_a_group(2, 3, kFair).transfers[0].end, SimTime(3'666'666'666'667));
  // A group of 8 B/s is no limit: 2 B/s each.
  EXPECT_EQ(transfers(over_a_group(2, 8, kFair)), (Times{{1, 3}, {1, 3}}));
}

TEST(PhysicalContention, ANarrowGroupSlowsALoneTransfer) {
  // Links of 2 B/s in a group of 0.5 B/s: 4 B take 8 s.
  EXPECT_EQ(transfers(over_a_group(2, 0.5, kNone)), (Times{{1, 9}, {1, 9}}));
  EXPECT_EQ(transfers(over_a_group(2, 0.5, kSerial)), (Times{{1, 9}, {9, 17}}));
}

TEST(PhysicalContention, FairSharesAreMaxMin) {
  // A star: d0 and d1 send to d2 and d3 over s0 (node 4). d0's link up has 1 B/s, d1's 2; d3's link
  // down has 2 B/s, d2's 4. o0 (1 s, 2 B) goes d0 -> d2 and d0 -> d3, o1 (1 s, 9 B) goes d1 -> d3.
  // Up from d0 is full first, at 0.5 B/s each; d1 -> d3 gets what is left of d3's link, 1.5. At 5
  // both of d0 are done and d1 -> d3 has 6 B; the last 3 B go at 2 B/s: 6.5.
  TopologyParts parts = unit_devices(4, 1);
  const double up[] = {1, 2, 1, 1};
  const double down[] = {1, 1, 4, 2};
  for (int d = 0; d < 4; ++d) {
    add_link(parts, d, 4, up[d]);
    add_link(parts, 4, d, down[d]);
  }
  const Graph graph = make_unit_graph({{1, 2}, {1, 9}, {1}, {1}, {1}}, {{0, 2}, {0, 3}, {1, 4}});
  const Execution execution = execute(graph, parts, kFair, {0, 1, 2, 3, 3});
  EXPECT_EQ(transfers(execution), (Times{{1, 5}, {1, 5}, {1, 6.5}}));
  // o2 5-6, o3 5-6, o4 6.5-7.5.
  EXPECT_EQ(makespan(execution), 7.5);
}

TEST(PhysicalContention, FairTransfersTakeNoBandwidthDuringTheirLatency) {
  // Latency 2 s. o0 0-1, o1 1-2; bytes flow from 3 and from 4. The first has 1 B at 4 and shares
  // for its other 3 B: 10. The second has 3 B at 10 and ends at 11.
  EXPECT_EQ(transfers(execute(two_over_one_link(), unit_mesh(2, 1, 2), kFair, kTwoOverOneLink)),
            (Times{{1, 10}, {2, 11}}));
}

TEST(PhysicalContention, ARouteAddsLatenciesAndTakesItsNarrowestLink) {
  // d0 -> s0 -> d1: latencies 1 and 2 s, 4 and 1 B/s; 4 B: 3 + 4 = 7 s.
  TopologyParts parts = unit_devices(2, 1);
  add_link(parts, 0, 2, 4, 1);
  add_link(parts, 2, 1, 1, 2);
  add_link(parts, 1, 0);
  const Graph graph = make_unit_graph({{1, 4}, {1}}, {{0, 1}});
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, parts, options, {0, 1});
    EXPECT_EQ(transfers(execution), (Times{{1, 8}}));
    EXPECT_THAT(execution.link_bytes.raw(), ElementsAre(4, 4, 0));
    EXPECT_THAT(execution.link_busy.raw(),
                ElementsAre(SimTime(7 * kSecond), SimTime(7 * kSecond), SimTime(0)));
  }
}

TEST(PhysicalContention, ASerialTransferHoldsItsWholeRoute) {
  // A row d0 -> d1 -> d2. o0 (1 s, 4 B) on d0 goes to d2 over both links: 1-5. o1 (2 s, 1 B) on d1
  // goes to d2 over the second: waits until 5, 5-6.
  TopologyParts parts = unit_devices(3);
  add_link(parts, 0, 1);
  add_link(parts, 1, 2);
  add_link(parts, 2, 0);
  const Graph graph = make_unit_graph({{1, 4}, {2, 1}, {1}, {1}}, {{0, 2}, {1, 3}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2, 2})), (Times{{1, 5}, {5, 6}}));
}

TEST(PhysicalContention, AYoungerTransferMayOvertakeOneThatIsBlocked) {
  // d0 with two engines. o0 (1 s, 9 B) to d1: 1-10. o1 (1 s, 4 B) to d1: waits for the link. o2 (1
  // s, 4 B) to d2, younger, has its route free: 3-7.
  TopologyParts parts = unit_mesh(3);
  parts.devices[0].copy_engines_out = 2;
  const Graph graph =
      make_unit_graph({{1, 9}, {1, 4}, {1, 4}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 0, 0, 1, 1, 2})),
            (Times{{1, 10}, {10, 14}, {3, 7}}));
}

TEST(PhysicalContention, TheOldestWaitingTransferStartsFirst) {
  // One engine at d0. o0 (1 s, 9 B) to d1: 1-10. o1 (1 s, 1 B) to d2 from 2 on and o2 (1 s, 1 B) to
  // d1 from 3 on wait for the engine: 10-11 and 11-12.
  TopologyParts parts = unit_mesh(3);
  parts.devices[0].copy_engines_out = 1;
  const Graph graph =
      make_unit_graph({{1, 9}, {1, 1}, {1, 1}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 0, 0, 1, 2, 1})),
            (Times{{1, 10}, {10, 11}, {11, 12}}));
}

TEST(PhysicalContention, TheOldestStartsFirstWhateverItWaitedFor) {
  // One engine out at d0 and one in at d1. o0 (1 s, 9 B) d0 -> d1: 1-10. o1 (1 s, 2 B) d0 -> d2
  // waits for d0's engine from 2 on, o2 (3 s, 2 B) d3 -> d1 for d1's engine from 3 on. Both are
  // free at 10, but their links are in one group: 10-12, 12-14.
  TopologyParts parts = unit_mesh(4);
  parts.devices[0].copy_engines_out = 1;
  parts.devices[1].copy_engines_in = 1;
  parts.groups.push_back({.name = "bus", .capacity_bytes_per_second = 1});
  for (Link& link : parts.links) {
    const bool in_group = (link.from == NodeId(0) && link.to == NodeId(2)) ||
                          (link.from == NodeId(3) && link.to == NodeId(1));
    if (in_group) link.groups = {SharedGroupId(0)};
  }
  const Graph graph =
      make_unit_graph({{1, 9}, {1, 2}, {3, 2}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 0, 3, 1, 2, 1})),
            (Times{{1, 10}, {10, 12}, {12, 14}}));
}

TEST(PhysicalContention, FairTransfersThatEndTogetherEndByAge) {
  // o0 on d0 and o1 on d1 (1 s, 4 B) send to d2, both 1-5: o2 behind o0 5-6, o3 behind o1 6-7.
  const Graph graph = make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, unit_mesh(3), kFair, {0, 1, 2, 2});
  EXPECT_EQ(start(execution, 2), 5);
  EXPECT_EQ(start(execution, 3), 6);
}

TEST(PhysicalContention, AFairTransferMayTakeThePlaceOfAnother) {
  // o0 (1 s, 4 B), o1 (1 s, 10 B) and o2 (6 s, 1 B) on d0 send to d1. The first has 1 B at 2 and
  // shares: 8. Then the third takes its share: 1 B at 0.5 B/s until 10. The second has 3 B at 8, 4
  // B at 10 and the link to itself: 16.
  const Graph graph =
      make_unit_graph({{1, 4}, {1, 10}, {6, 1}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, unit_mesh(2), kFair, {0, 0, 0, 1, 1, 1})),
            (Times{{1, 8}, {2, 16}, {8, 10}}));
}

}  // namespace
}  // namespace doppler
