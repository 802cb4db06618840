// Inputs and memory by schedules that are computed by hand: tests/support/unit_schedules.h says how
// they are written.

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
using test::make_assignment;
using test::make_unit_graph;
using test::makespan;
using test::start;
using test::Times;
using test::transfers;
using test::unit_devices;
using test::unit_mesh;
using testing::ElementsAre;

TEST(PhysicalMemory, AnInputOnADeviceIsSentFromTheStart) {
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

TEST(PhysicalMemory, AnOutputIsHeldUntilItsLastUse) {
  // o0 (10 B) -> o1 (20 B) -> o2 (5 B) on d0. At o1's start 10 + 20 = 30; its end frees 10; at o2's
  // start 20 + 5 = 25. Peak 30; allocated 35, freed 35.
  const Graph graph = make_unit_graph({{1, 10}, {1, 20}, {1, 5}}, {{0, 1}, {1, 2}});
  const Execution execution = execute(graph, unit_devices(1), kSerial, {0, 0, 0});
  EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(30));
  EXPECT_THAT(execution.allocated_bytes.raw(), ElementsAre(35));
  EXPECT_THAT(execution.freed_bytes.raw(), ElementsAre(35));
}

TEST(PhysicalMemory, ACopyIsHeldFromItsTransferOn) {
  // o0 (1 s, 4 B) on d0; the transfer to d1 1-5 holds 4 B at both ends. o1 (1 s, 3 B) on d0 1-2:
  // d0 peaks at 4 + 3 = 7. o2 (1 s, 2 B) on d1 5-6: 4 + 2 = 6.
  const Graph graph = make_unit_graph({{1, 4}, {1, 3}, {1, 2}}, {{0, 2}});
  const Execution execution = execute(graph, unit_mesh(2), kSerial, {0, 0, 1});
  EXPECT_THAT(execution.peak_memory_bytes.raw(), ElementsAre(7, 6));
}

TEST(PhysicalMemory, AnInputTensorIsHeldWhereItIsReadUntilItsLastUse) {
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

TEST(PhysicalMemory, TooLittleMemoryCostsMore) {
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

}  // namespace
}  // namespace doppler
