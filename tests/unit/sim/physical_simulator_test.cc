// The physical simulator by schedules that are computed by hand: tests/support/unit_schedules.h
// says how they are written.
#include "sim/physical_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/unit_schedules.h"

namespace doppler {
namespace {

using test::execute;
using test::kFair;
using test::kNone;
using test::kSecond;
using test::kSerial;
using test::kTwoOverOneLink;
using test::make_assignment;
using test::make_unit_graph;
using test::makespan;
using test::mode;
using test::Times;
using test::transfers;
using test::two_over_one_link;
using test::unit_devices;
using test::unit_mesh;
using testing::ElementsAre;

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
