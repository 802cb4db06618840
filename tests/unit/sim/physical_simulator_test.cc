// Hand-computed schedules. Unless a case says otherwise, a device computes 1 FLOP a second, a link
// carries 1 byte a second without latency, and "3 s, 4 B" is an operation of 3 seconds whose output
// has 4 bytes. d0 is device 0, o0 is operation 0; a transfer "2-5" starts at 2 s and ends at 5 s.
#include "sim/physical_simulator.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/physical_graphs.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::add_link;
using test::kSecond;
using test::make_assignment;
using test::make_unit_graph;
using test::unit_devices;
using test::unit_mesh;
using testing::DoubleNear;
using testing::ElementsAre;

PhysicalOptions mode(Contention contention, Dispatch dispatch = Dispatch::kFifo) {
  PhysicalOptions options;
  options.contention = contention;
  options.dispatch = dispatch;
  return options;
}
const PhysicalOptions kNone = mode(Contention::kNone);
const PhysicalOptions kSerial = mode(Contention::kSerial);
const PhysicalOptions kFair = mode(Contention::kFair);

Execution execute(const Graph& graph, const TopologyParts& parts, const PhysicalOptions& options,
                  const std::vector<int>& devices, const std::vector<OperationId>& order = {}) {
  const Topology topology(parts);
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalSimulator simulator(costs, topology, options);
  Execution execution = simulator.run_recorded(make_assignment(devices), order);
  EXPECT_EQ(simulator.run(make_assignment(devices), order), execution.makespan);
  return execution;
}

double seconds(SimTime time) {
  return static_cast<double>(time.ticks()) / kSecond;
}
double makespan(const Execution& execution) {
  return seconds(execution.makespan);
}
double start(const Execution& execution, int operation) {
  return seconds(execution.start[OperationId(operation)]);
}
// Start and end of every transfer, in the order of their requests.
std::vector<std::pair<double, double>> transfers(const Execution& execution) {
  std::vector<std::pair<double, double>> times;
  for (const TransferRecord& transfer : execution.transfers) {
    times.emplace_back(seconds(transfer.start), seconds(transfer.end));
  }
  return times;
}
using Times = std::vector<std::pair<double, double>>;

// o0 (1 s, 4 B) and o1 (1 s, 4 B) on d0 feed o2 and o3 (1 s) on d1, over one link.
Graph two_over_one_link() {
  return make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
}
const std::vector<int> kTwoOverOneLink = {0, 0, 1, 1};

TEST(PhysicalSimulator, ADeviceRunsOneOperationAtATime) {
  // 2 + 3 + 4.
  EXPECT_EQ(
      makespan(execute(make_unit_graph({{2}, {3}, {4}}, {}), unit_devices(1), kSerial, {0, 0, 0})),
      9);
}

TEST(PhysicalSimulator, ATransferTakesLatencyAndBytes) {
  // o0 0-2; 1 s latency + 6 B / 2 B/s = 4 s: transfer 2-6; o1 6-10. In every mode.
  const Graph graph = make_unit_graph({{2, 6}, {4}}, {{0, 1}});
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, unit_mesh(2, 2, 1), options, {0, 1});
    EXPECT_EQ(transfers(execution), (Times{{2, 6}}));
    EXPECT_EQ(makespan(execution), 10);
  }
}

TEST(PhysicalSimulator, WithoutContentionTransfersDoNotMeet) {
  // o0 0-1, o1 1-2; transfers 1-5 and 2-6; o2 5-6, o3 6-7.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kNone, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 5}, {2, 6}}));
  EXPECT_EQ(makespan(execution), 7);
}

TEST(PhysicalSimulator, SerialTransfersTakeTurnsOnALink) {
  // The second transfer, requested at 2, waits for the first: 1-5 and 5-9; o3 9-10.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kSerial, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 5}, {5, 9}}));
  EXPECT_EQ(makespan(execution), 10);
}

TEST(PhysicalSimulator, FairTransfersShareALink) {
  // The first has 1 B at 2, then both get 0.5 B/s: its other 3 B take 6 s: 1-8. The second has 3 B
  // by then; its last one takes 1 s alone: 2-9. o2 8-9, o3 9-10.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kFair, kTwoOverOneLink);
  EXPECT_EQ(transfers(execution), (Times{{1, 8}, {2, 9}}));
  EXPECT_EQ(makespan(execution), 10);
}

TEST(PhysicalSimulator, LinksOfTheTwoDirectionsAreTwo) {
  // o0 on d0 and o1 on d1, 1 s and 4 B each, exchange: both transfers 1-5.
  const Graph graph = make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
  EXPECT_EQ(transfers(execute(graph, unit_mesh(2), kSerial, {0, 1, 1, 0})),
            (Times{{1, 5}, {1, 5}}));
}

TEST(PhysicalSimulator, OneTransferServesAllConsumersOfADevice) {
  // o0 (1 s, 4 B) feeds o1 and o2 on d1 and o3 on d0: one transfer 1-5; o1 5-6, o2 6-7.
  const Graph graph = make_unit_graph({{1, 4}, {1}, {1}, {1}}, {{0, 1}, {0, 2}, {0, 3}});
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, unit_mesh(2), options, {0, 1, 1, 0});
    EXPECT_EQ(transfers(execution), (Times{{1, 5}}));
    EXPECT_THAT(execution.link_bytes.raw(), ElementsAre(4, 0));
    EXPECT_EQ(makespan(execution), 7);
  }
}

TEST(PhysicalSimulator, ATransferCarriesTheLargestOfItsEdges) {
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

TEST(PhysicalSimulator, DestinationsStartInTheOrderOfTheirFirstConsumer) {
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

TEST(PhysicalSimulator, CopyEnginesOfTheSourceLimitWhatLeaves) {
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

TEST(PhysicalSimulator, CopyEnginesOfTheDestinationLimitWhatArrives) {
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

TEST(PhysicalSimulator, ASharedGroupServesOneSerialTransfer) {
  // Links of 1 B/s: 4 s each, one after the other.
  EXPECT_EQ(transfers(over_a_group(1, 2, kSerial)), (Times{{1, 5}, {5, 9}}));
}

TEST(PhysicalSimulator, ASharedGroupSplitsItsCapacityFairly) {
  // Links of 2 B/s, a group of 2 B/s: 1 B/s each, 4 s.
  EXPECT_EQ(transfers(over_a_group(2, 2, kFair)), (Times{{1, 5}, {1, 5}}));
  // A group of 3 B/s: 1.5 B/s each, 8/3 s = 2.666666666667 s (the picosecond is rounded).
  EXPECT_EQ(over_a_group(2, 3, kFair).transfers[0].end, SimTime(3'666'666'666'667));
  // A group of 8 B/s is no limit: 2 B/s each.
  EXPECT_EQ(transfers(over_a_group(2, 8, kFair)), (Times{{1, 3}, {1, 3}}));
}

TEST(PhysicalSimulator, ANarrowGroupSlowsALoneTransfer) {
  // Links of 2 B/s in a group of 0.5 B/s: 4 B take 8 s.
  EXPECT_EQ(transfers(over_a_group(2, 0.5, kNone)), (Times{{1, 9}, {1, 9}}));
  EXPECT_EQ(transfers(over_a_group(2, 0.5, kSerial)), (Times{{1, 9}, {9, 17}}));
}

TEST(PhysicalSimulator, FairSharesAreMaxMin) {
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

TEST(PhysicalSimulator, FairTransfersTakeNoBandwidthDuringTheirLatency) {
  // Latency 2 s. o0 0-1, o1 1-2; bytes flow from 3 and from 4. The first has 1 B at 4 and shares
  // for its other 3 B: 10. The second has 3 B at 10 and ends at 11.
  EXPECT_EQ(transfers(execute(two_over_one_link(), unit_mesh(2, 1, 2), kFair, kTwoOverOneLink)),
            (Times{{1, 10}, {2, 11}}));
}

TEST(PhysicalSimulator, ARouteAddsLatenciesAndTakesItsNarrowestLink) {
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

TEST(PhysicalSimulator, ASerialTransferHoldsItsWholeRoute) {
  // A row d0 -> d1 -> d2. o0 (1 s, 4 B) on d0 goes to d2 over both links: 1-5. o1 (2 s, 1 B) on d1
  // goes to d2 over the second: waits until 5, 5-6.
  TopologyParts parts = unit_devices(3);
  add_link(parts, 0, 1);
  add_link(parts, 1, 2);
  add_link(parts, 2, 0);
  const Graph graph = make_unit_graph({{1, 4}, {2, 1}, {1}, {1}}, {{0, 2}, {1, 3}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 1, 2, 2})), (Times{{1, 5}, {5, 6}}));
}

TEST(PhysicalSimulator, AYoungerTransferMayOvertakeOneThatIsBlocked) {
  // d0 with two engines. o0 (1 s, 9 B) to d1: 1-10. o1 (1 s, 4 B) to d1: waits for the link. o2 (1
  // s, 4 B) to d2, younger, has its route free: 3-7.
  TopologyParts parts = unit_mesh(3);
  parts.devices[0].copy_engines_out = 2;
  const Graph graph =
      make_unit_graph({{1, 9}, {1, 4}, {1, 4}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 0, 0, 1, 1, 2})),
            (Times{{1, 10}, {10, 14}, {3, 7}}));
}

TEST(PhysicalSimulator, TheOldestWaitingTransferStartsFirst) {
  // One engine at d0. o0 (1 s, 9 B) to d1: 1-10. o1 (1 s, 1 B) to d2 from 2 on and o2 (1 s, 1 B) to
  // d1 from 3 on wait for the engine: 10-11 and 11-12.
  TopologyParts parts = unit_mesh(3);
  parts.devices[0].copy_engines_out = 1;
  const Graph graph =
      make_unit_graph({{1, 9}, {1, 1}, {1, 1}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, parts, kSerial, {0, 0, 0, 1, 2, 1})),
            (Times{{1, 10}, {10, 11}, {11, 12}}));
}

TEST(PhysicalSimulator, TheOldestStartsFirstWhateverItWaitedFor) {
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

TEST(PhysicalSimulator, FifoTakesWhatBecameReadyFirst) {
  // On d1: o2 (2 s) is ready at 1 + 3 = 4, o3 (2 s) at 2 + 1 = 3, o4 (6 s) at 0. o4 0-6, o3 6-8, o2
  // 8-10.
  TopologyParts parts = unit_mesh(3);
  const Graph graph = make_unit_graph({{1, 3}, {2, 1}, {2}, {2}, {6}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, parts, kNone, {0, 2, 1, 1, 1});
  EXPECT_EQ(start(execution, 3), 6);
  EXPECT_EQ(start(execution, 2), 8);
}

// o0 (5 s) and o1 (1 s, 1 B) on d0, o2 (5 s) behind o1 on d1.
Graph short_one_feeds() {
  return make_unit_graph({{5}, {1, 1}, {5}}, {{1, 2}});
}

TEST(PhysicalSimulator, PriorityTakesWhatWasSelectedFirst) {
  // FIFO: o0 0-5, o1 5-6, transfer 6-7, o2 7-12. o1 first: o1 0-1, transfer 1-2, o2 2-7, o0 1-6.
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2), kSerial, {0, 0, 1})), 12);
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2),
                             mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1},
                             {OperationId(1), OperationId(0), OperationId(2)})),
            7);
}

TEST(PhysicalSimulator, PriorityInterruptsNothing) {
  // On d0: o0 (3 s) 0-3; o1 (1 s, from o2 on d1: 1 s + 1 B) is ready at 2 and comes before o3 (2 s,
  // ready at 0): o1 3-4, o3 4-6.
  const Graph graph = make_unit_graph({{3}, {1}, {1, 1}, {2}}, {{2, 1}});
  const Execution execution =
      execute(graph, unit_mesh(2), mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1, 0},
              {OperationId(0), OperationId(2), OperationId(1), OperationId(3)});
  EXPECT_EQ(start(execution, 1), 3);
  EXPECT_EQ(start(execution, 3), 4);
}

TEST(PhysicalSimulator, PriorityWithoutAnOrderFollowsTheGraph) {
  // Topological order with the smallest id first: o0, o1, o2.
  EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2),
                             mode(Contention::kSerial, Dispatch::kPriority), {0, 0, 1})),
            12);
}

TEST(PhysicalSimulator, RandomDispatchIsAFunctionOfTheSeed) {
  // Either o0 or o1 goes first: 12 s or 7 s, each for about half of the seeds.
  int short_ones = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    PhysicalOptions options = mode(Contention::kSerial, Dispatch::kRandom);
    options.seed = seed;
    const double first = makespan(execute(short_one_feeds(), unit_mesh(2), options, {0, 0, 1}));
    EXPECT_EQ(makespan(execute(short_one_feeds(), unit_mesh(2), options, {0, 0, 1})), first);
    EXPECT_TRUE(first == 12 || first == 7) << first;
    short_ones += first == 7 ? 1 : 0;
  }
  EXPECT_GT(short_ones, 60);
  EXPECT_LT(short_ones, 140);
}

TEST(PhysicalSimulator, EventsOfOneInstantComeInTheOrderOfTheirCreation) {
  // At 3: o0 on d0 ends (created at 0) and the transfer of o1 arrives at d0 (created at 1). So o2
  // (behind o0) is ready before o3 (behind o1): o2 3-4, o3 4-5.
  const Graph graph = make_unit_graph({{3}, {1, 2}, {1}, {1}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, unit_mesh(2), kSerial, {0, 1, 0, 0});
  EXPECT_EQ(start(execution, 2), 3);
  EXPECT_EQ(start(execution, 3), 4);
  // Here o4 (1 s) comes before o0 (2 s) on d0. At 1, o1 ends before o4 (entries start by id), so
  // the arrival at 3 is created before the end of o0 at 3: o3 3-4, o2 4-5.
  const Graph later = make_unit_graph({{2}, {1, 2}, {1}, {1}, {1}}, {{4, 0}, {0, 2}, {1, 3}});
  const Execution second = execute(later, unit_mesh(2), kSerial, {0, 1, 0, 0, 0});
  EXPECT_EQ(start(second, 3), 3);
  EXPECT_EQ(start(second, 2), 4);
  // With fair sharing, ends of transfers are created once an instant is done, after the end of o0:
  // in both graphs o2 3-4, o3 4-5.
  for (const Execution& shared : {execute(graph, unit_mesh(2), kFair, {0, 1, 0, 0}),
                                  execute(later, unit_mesh(2), kFair, {0, 1, 0, 0, 0})}) {
    EXPECT_EQ(start(shared, 2), 3);
    EXPECT_EQ(start(shared, 3), 4);
  }
}

TEST(PhysicalSimulator, FairTransfersThatEndTogetherEndByAge) {
  // o0 on d0 and o1 on d1 (1 s, 4 B) send to d2, both 1-5: o2 behind o0 5-6, o3 behind o1 6-7.
  const Graph graph = make_unit_graph({{1, 4}, {1, 4}, {1}, {1}}, {{0, 2}, {1, 3}});
  const Execution execution = execute(graph, unit_mesh(3), kFair, {0, 1, 2, 2});
  EXPECT_EQ(start(execution, 2), 5);
  EXPECT_EQ(start(execution, 3), 6);
}

TEST(PhysicalSimulator, AFairTransferMayTakeThePlaceOfAnother) {
  // o0 (1 s, 4 B), o1 (1 s, 10 B) and o2 (6 s, 1 B) on d0 send to d1. The first has 1 B at 2 and
  // shares: 8. Then the third takes its share: 1 B at 0.5 B/s until 10. The second has 3 B at 8, 4
  // B at 10 and the link to itself: 16.
  const Graph graph =
      make_unit_graph({{1, 4}, {1, 10}, {6, 1}, {1}, {1}, {1}}, {{0, 3}, {1, 4}, {2, 5}});
  EXPECT_EQ(transfers(execute(graph, unit_mesh(2), kFair, {0, 0, 0, 1, 1, 1})),
            (Times{{1, 8}, {2, 16}, {8, 10}}));
}

TEST(PhysicalSimulator, MoreBandwidthCanHurt) {
  // o0 (1 s, 8 B) on d0 feeds o2 (10 s) on d1. o1 (5 s) on d1 feeds o3 (1 s, 1 B) on d1, which
  // feeds o4 (10 s) on d2. The link d0 -> d1 has 1 B/s: o2 is ready at 9; o1 0-5, o3 5-6, o4 7-17,
  // o2 9-19: 19 s. With 4 B/s o2 is ready at 3, before o3: o2 5-15, o3 15-16, o4 17-27: 27 s.
  const Graph graph = make_unit_graph({{1, 8}, {5}, {10}, {1, 1}, {10}}, {{0, 2}, {1, 3}, {3, 4}});
  TopologyParts parts = unit_mesh(3);
  EXPECT_EQ(makespan(execute(graph, parts, kSerial, {0, 1, 1, 1, 2})), 19);
  for (Link& link : parts.links) {
    if (link.from == NodeId(0) && link.to == NodeId(1)) link.bandwidth_bytes_per_second = 4;
  }
  EXPECT_EQ(makespan(execute(graph, parts, kSerial, {0, 1, 1, 1, 2})), 27);
}

TEST(PhysicalSimulator, AnInputOnADeviceIsSentFromTheStart) {
  // o0 (10 s) runs on d0 from 0. o1, an input of 4 B on d0, waits for no turn: transfer 0-4, o2 (1
  // s) on d1 4-5; o3 (1 s) on d0 has it at once and follows o0: 10-11.
  GraphBuilder builder("g", CostUnit::kPhysical);
  const auto add = [&](const char* kind, double flops, std::int64_t bytes) {
    Operation operation;
    operation.kind = kind;
    operation.flops = flops;
    operation.output_bytes = bytes;
    if (operation.kind == "input") operation.pinned_device = DeviceId(0);
    builder.add_operation(operation);
  };
  add("work", 10, 0);
  add("input", 0, 4);
  add("work", 1, 0);
  add("work", 1, 0);
  builder.add_edge({.source = OperationId(1), .destination = OperationId(2), .bytes = {}});
  builder.add_edge({.source = OperationId(1), .destination = OperationId(3), .bytes = {}});
  const Graph graph = builder.build();
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    const Execution execution = execute(graph, unit_mesh(2), options, {0, 0, 1, 0});
    EXPECT_EQ(transfers(execution), (Times{{0, 4}}));
    EXPECT_EQ(start(execution, 2), 4);
    EXPECT_EQ(makespan(execution), 11);
    // d0 holds the input (4 B) until o3 ends, d1 its copy until o2 ends.
    EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(4, 4));
  }
}

TEST(PhysicalSimulator, AnOutputIsHeldUntilItsLastUse) {
  // o0 (10 B) -> o1 (20 B) -> o2 (5 B) on d0. At o1's start 10 + 20 = 30; its end frees 10; at o2's
  // start 20 + 5 = 25. Peak 30; allocated 35, freed 35.
  const Graph graph = make_unit_graph({{1, 10}, {1, 20}, {1, 5}}, {{0, 1}, {1, 2}});
  const Execution execution = execute(graph, unit_devices(1), kSerial, {0, 0, 0});
  EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(30));
  EXPECT_THAT(execution.allocated_bytes.raw(), ElementsAre(35));
  EXPECT_THAT(execution.freed_bytes.raw(), ElementsAre(35));
}

TEST(PhysicalSimulator, ACopyIsHeldFromItsTransferOn) {
  // o0 (1 s, 4 B) on d0; the transfer to d1 1-5 holds 4 B at both ends. o1 (1 s, 3 B) on d0 1-2:
  // d0 peaks at 4 + 3 = 7. o2 (1 s, 2 B) on d1 5-6: 4 + 2 = 6.
  const Graph graph = make_unit_graph({{1, 4}, {1, 3}, {1, 2}}, {{0, 2}});
  const Execution execution = execute(graph, unit_mesh(2), kSerial, {0, 0, 1});
  EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(7, 6));
}

TEST(PhysicalSimulator, AnInputTensorIsHeldWhereItIsReadUntilItsLastUse) {
  // w (7 B) is read by o0 and o1 on d0 and by o2 on d1. o0 (1 s, 1 B) -> o1 (1 s, 2 B) -> o3 (1 s,
  // 9 B) on d0: 7 + 1 at 0; + 2 = 10 at 1; o1's end frees w and o0's output: 2 + 9 = 11 at 2. d1:
  // 7 + 3. d2 reads nothing.
  GraphBuilder builder("g", CostUnit::kPhysical);
  for (std::int64_t bytes : {1, 2, 3, 9}) {
    Operation operation;
    operation.flops = 1;
    operation.output_bytes = bytes;
    builder.add_operation(operation);
  }
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  builder.add_edge({.source = OperationId(1), .destination = OperationId(3), .bytes = {}});
  builder.add_input(
      {.name = "w", .bytes = 7, .consumers = {OperationId(0), OperationId(1), OperationId(2)}});
  const Graph graph = builder.build();
  const Execution execution = execute(graph, unit_mesh(3), kSerial, {0, 0, 1, 0});
  EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(11, 10, 0));
}

TEST(PhysicalSimulator, TooLittleMemoryCostsMore) {
  // The chain above peaks at 30 B in 3 s. With 20 B: overflow 10 / 20, cost 3 x (1 + 10 x 0.5) =
  // 18 s. With 30 B it fits.
  const Graph graph = make_unit_graph({{1, 10}, {1, 20}, {1, 5}}, {{0, 1}, {1, 2}});
  TopologyParts parts = unit_devices(1);
  parts.devices[0].memory_bytes = 20;
  PhysicalOptions options = kSerial;
  options.memory = MemoryRule::kEnforce;
  const Topology tight(parts);
  const CostTable costs = CostTable::physical(graph, tight);
  PhysicalSimulator simulator(costs, tight, options);
  EXPECT_EQ(simulator.run(make_assignment({0, 0, 0}), {}), SimTime(18 * kSecond));
  EXPECT_FALSE(simulator.feasible());
  const Execution execution = simulator.run_recorded(make_assignment({0, 0, 0}), {});
  EXPECT_FALSE(execution.feasible);
  EXPECT_EQ(execution.largest_overflow_fraction, 0.5);
  EXPECT_EQ(makespan(execution), 3);

  parts.devices[0].memory_bytes = 30;
  const Topology wide(parts);
  PhysicalSimulator fitting(costs, wide, options);
  EXPECT_EQ(fitting.run(make_assignment({0, 0, 0}), {}), SimTime(3 * kSecond));
  EXPECT_TRUE(fitting.feasible());
  // Reported only, nothing is infeasible.
  PhysicalSimulator reporting(costs, tight, kSerial);
  EXPECT_EQ(reporting.run(make_assignment({0, 0, 0}), {}), SimTime(3 * kSecond));
  EXPECT_TRUE(reporting.feasible());
}

// exp(sigma z - sigma^2 / 2) with sigma^2 = ln(1 + cv^2).
double factor(double cv, std::initializer_list<std::uint64_t> key) {
  const double variance = std::log(1 + cv * cv);
  return std::exp(std::sqrt(variance) * RandomStream(derive_seed(key)).next_normal() -
                  variance / 2);
}

TEST(PhysicalSimulator, NoiseIsReplayedFromSeedAndOperation) {
  // o0 (matmul, 2 s, 3 B) on d0 feeds o1 (add, 4 s) on d1; cv 0.3 for matmul, 0.1 for the rest, 0.2
  // for transfers. Every factor is a function of seed and operation: expected from the formula.
  const Graph graph = make_unit_graph({{2, 3, "matmul"}, {4, 0, "add"}}, {{0, 1}});
  PhysicalOptions options = kSerial;
  options.noise = {
      .operation_cv = 0.1, .operation_cv_by_kind = {{"matmul", 0.3}}, .transfer_cv = 0.2};
  options.seed = 99;
  const double first = 2 * factor(0.3, {99, 1, 0});
  const double moved = 3 * factor(0.2, {99, 2, 0, 1});
  const double second = 4 * factor(0.1, {99, 1, 1});
  for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
    options.contention = contention;
    const Execution execution = execute(graph, unit_mesh(2), options, {0, 1});
    EXPECT_THAT(seconds(execution.end[OperationId(0)]), DoubleNear(first, 1e-11));
    EXPECT_THAT(start(execution, 1), DoubleNear(first + moved, 1e-11));
    EXPECT_THAT(makespan(execution), DoubleNear(first + moved + second, 1e-11));
  }
  // Placed elsewhere, an operation keeps its factor.
  const Execution elsewhere = execute(graph, unit_mesh(2), options, {1, 1});
  EXPECT_THAT(makespan(elsewhere), DoubleNear(first + second, 1e-11));
}

TEST(PhysicalSimulator, NoiseHasTheAskedMeanAndDeviation) {
  const Graph graph = make_unit_graph({{1}}, {});
  const Topology topology(unit_devices(1));
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalOptions options = kSerial;
  options.noise.operation_cv = 0.2;
  PhysicalSimulator simulator(costs, topology, options);
  constexpr int kRuns = 20000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kRuns; ++i) {
    simulator.set_seed(static_cast<std::uint64_t>(i));
    const double time = seconds(simulator.run(make_assignment({0}), {}));
    sum += time;
    squares += time * time;
  }
  const double mean = sum / kRuns;
  // Five standard errors of the mean: 5 x 0.2 / sqrt(20000) = 0.007.
  EXPECT_THAT(mean, DoubleNear(1, 0.007));
  EXPECT_THAT(std::sqrt(squares / kRuns - mean * mean), DoubleNear(0.2, 0.01));
}

TEST(PhysicalSimulator, TimesOfNothingTakeNoTime) {
  // o0 (0 s, 0 B) -> o1 (0 s, 0 B) elsewhere -> o2 (3 s) back.
  const Graph graph = make_unit_graph({{0, 0}, {0, 0}, {3}}, {{0, 1}, {1, 2}});
  for (const PhysicalOptions& options : {kNone, kSerial, kFair}) {
    EXPECT_EQ(makespan(execute(graph, unit_mesh(2), options, {0, 1, 0})), 3);
  }
}

TEST(PhysicalSimulator, RecordsWhatEachWaitedFor) {
  // Serial, o0 and o1 on d0 send to d1 as above: o1 waits for d0, the second transfer for the link,
  // o2 and o3 for their inputs.
  const Execution execution = execute(two_over_one_link(), unit_mesh(2), kSerial, kTwoOverOneLink);
  EXPECT_EQ(execution.wait[OperationId(0)], Wait());
  EXPECT_EQ(execution.wait[OperationId(1)], (Wait{.kind = Wait::Kind::kDevice, .index = 0}));
  EXPECT_EQ(execution.wait[OperationId(2)], (Wait{.kind = Wait::Kind::kTransfer, .index = 0}));
  EXPECT_EQ(execution.wait[OperationId(3)], (Wait{.kind = Wait::Kind::kTransfer, .index = 1}));
  EXPECT_EQ(execution.transfers[0].wait, (Wait{.kind = Wait::Kind::kOperation, .index = 0}));
  EXPECT_EQ(execution.transfers[1].wait,
            (Wait{.kind = Wait::Kind::kLink, .index = 0, .resource = 0}));
  EXPECT_THAT(execution.device_busy.raw(), ElementsAre(SimTime(2 * kSecond), SimTime(2 * kSecond)));
}

TEST(PhysicalSimulatorDeathTest, RefusesAnAssignmentThatDoesNotFit) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation operation;
  operation.pinned_device = DeviceId(1);
  builder.add_operation(operation);
  const Graph graph = builder.build();
  const Topology topology(unit_mesh(2));
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalSimulator simulator(costs, topology, kSerial);
  EXPECT_DEATH(simulator.run(make_assignment({2}), {}), "check failed");
  EXPECT_DEATH(simulator.run(make_assignment({0}), {}), "check failed");  // pinned to d1
  EXPECT_DEATH(simulator.run(make_assignment({}), {}), "check failed");
}

}  // namespace
}  // namespace doppler
