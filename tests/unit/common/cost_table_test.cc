#include "common/cost_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/episode.h"
#include "common/error.h"
#include "common/levels.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000'000;

// d0 and d1: 1e9 FLOP/s, but 4e9 for matmul; 1e9 bytes/s of memory; 0.5 s of overhead. d2 is twice
// as fast, without overhead and limit of memory. d0 and d1 are joined at 1e9, d2 by 0.25 s + 2e9.
Topology make_topology() {
  TopologyParts parts;
  parts.name = "t";
  for (int i = 0; i < 3; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.kind = i < 2 ? "slow" : "fast";
    device.flops_per_second = i < 2 ? 1e9 : 2e9;
    device.flops_per_second_by_kind["matmul"] = i < 2 ? 4e9 : 8e9;
    device.memory_bandwidth_bytes_per_second = i < 2 ? 1e9 : 0;
    device.launch_overhead_seconds = i < 2 ? 0.5 : 0;
    parts.devices.push_back(device);
  }
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      const bool fast = from == 2 || to == 2;
      parts.links.push_back({.from = NodeId(from),
                             .to = NodeId(to),
                             .latency_seconds = fast ? 0.25 : 0,
                             .bandwidth_bytes_per_second = fast ? 2e9 : 1e9,
                             .groups = {}});
    }
  }
  return Topology(parts);
}

Operation operation(const std::string& kind, double flops, std::int64_t output_bytes) {
  Operation made;
  made.kind = kind;
  made.flops = flops;
  made.output_bytes = output_bytes;
  return made;
}

SimTime compute(const CostTable& costs, int operation, int device) {
  return costs.compute(OperationId(operation), DeviceId(device));
}

TEST(CostTable, ComputeIsOverheadPlusTheSlowerOfFlopsAndBytes) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  builder.add_operation(operation("matmul", 8e9, 1'000'000'000));
  builder.add_operation(operation("add", 1e9, 2'000'000'000));
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  builder.add_input({.name = "w", .bytes = 500'000'000, .consumers = {OperationId(1)}});
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  // 0.5 + max(8e9 / 4e9, 1e9 / 1e9) = 2.5 s; 8e9 / 8e9 = 1 s.
  EXPECT_EQ(compute(costs, 0, 0), SimTime(5 * kSecond / 2));
  EXPECT_EQ(compute(costs, 0, 2), SimTime(kSecond));
  // 0.5 + max(1, (2e9 written + 1e9 and 0.5e9 read) / 1e9) = 4 s; 1e9 / 2e9 = 0.5 s.
  EXPECT_EQ(compute(costs, 1, 1), SimTime(4 * kSecond));
  EXPECT_EQ(compute(costs, 1, 2), SimTime(kSecond / 2));
  EXPECT_EQ(costs.mean_compute(OperationId(0)), SimTime(2 * kSecond));
  EXPECT_EQ(costs.least_compute(OperationId(1)), SimTime(kSecond / 2));
}

TEST(CostTable, TransfersTakeTheRouteAlone) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  builder.add_operation(operation("add", 0, 1'000'000'000));
  builder.add_operation(operation("add", 0, 0));
  builder.add_operation(operation("add", 0, 0));
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = 500'000'000});
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  const auto transfer = [&](int edge, int from, int to) {
    return costs.transfer(EdgeId(edge), DeviceId(from), DeviceId(to));
  };
  EXPECT_EQ(transfer(0, 1, 1), SimTime(0));
  EXPECT_EQ(transfer(0, 0, 1), SimTime(kSecond));          // 1e9 / 1e9
  EXPECT_EQ(transfer(0, 0, 2), SimTime(3 * kSecond / 4));  // 0.25 + 1e9 / 2e9
  EXPECT_EQ(transfer(1, 2, 1), SimTime(kSecond / 2));      // 0.25 + 0.5e9 / 2e9
  // Two of six pairs take 1 s, four 0.75 s.
  EXPECT_EQ(costs.mean_transfer(EdgeId(0)), SimTime((2 * kSecond + 3 * kSecond) / 6));
}

TEST(CostTable, AMeasuredDurationIsTakenAsItIs) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation measured = operation("matmul", 4e9, 5'000'000'000);
  measured.measured_durations = {{.device_kind = "slow", .seconds = 0.125}};
  builder.add_operation(measured);
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  EXPECT_EQ(compute(costs, 0, 0), SimTime(kSecond / 8));
  EXPECT_EQ(compute(costs, 0, 2), SimTime(kSecond / 2));  // none for "fast": 4e9 / 8e9
}

TEST(CostTable, ADurationOnAnyKindHoldsWhereNoneIsOfTheDevicesOwn) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation measured = operation("matmul", 0, 0);
  measured.measured_durations = {{.device_kind = "*", .seconds = 0.25},
                                 {.device_kind = "slow", .seconds = 0.5}};
  builder.add_operation(measured);
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  EXPECT_EQ(compute(costs, 0, 0), SimTime(kSecond / 2));
  EXPECT_EQ(compute(costs, 0, 2), SimTime(kSecond / 4));  // "fast"
}

TEST(CostTable, RoundsToTheNearestPicosecond) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  builder.add_operation(operation("add", 0.0030, 0));  // 1.5 ps on d2
  builder.add_operation(operation("add", 0.0029, 0));  // 1.45 ps
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  EXPECT_EQ(compute(costs, 0, 2), SimTime(2));
  EXPECT_EQ(compute(costs, 1, 2), SimTime(1));
}

TEST(CostTable, KnowsWhereAnOperationMayRun) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation pinned = operation("input", 0, 8);
  pinned.pinned_device = DeviceId(1);
  Operation forbidden = operation("matmul", 4e9, 8);
  forbidden.forbidden_devices = {DeviceId(2)};
  builder.add_operation(pinned);
  builder.add_operation(forbidden);
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  EXPECT_FALSE(costs.all_allowed());
  EXPECT_FALSE(costs.allowed(OperationId(0), DeviceId(0)));
  EXPECT_TRUE(costs.allowed(OperationId(0), DeviceId(1)));
  EXPECT_FALSE(costs.allowed(OperationId(1), DeviceId(2)));
  EXPECT_EQ(compute(costs, 0, 1), SimTime(0));  // an input is there from the start
  // d2 would take 0.5 s, but may not: 0.5 + 1 s.
  EXPECT_EQ(costs.least_compute(OperationId(1)), SimTime(3 * kSecond / 2));
  EXPECT_EQ(costs.mean_compute(OperationId(1)), SimTime(3 * kSecond / 2));
}

TEST(CostTable, EpisodesAndLevelsWorkOnPhysicalCosts) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  builder.add_operation(operation("add", 1e9, 0));
  builder.add_operation(operation("add", 1e9, 0));
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = 600'000'000});
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, make_topology());
  // Mean compute (1.5 + 1.5 + 0.5) / 3; mean transfer (2 x 0.6 + 4 x 0.55) / 6.
  EXPECT_EQ(compute_levels(costs).critical_path,
            SimTime(2 * (7 * kSecond / 6) + (34 * kSecond / 10) / 6));
  Episode episode(costs);
  episode.select(OperationId(0));
  episode.place(DeviceId(2));
  episode.select(OperationId(1));
  episode.place(DeviceId(0));
  // 1e9 / 2e9, then 0.25 + 0.6e9 / 2e9, then 0.5 + 1e9 / 1e9.
  EXPECT_EQ(episode.estimated_makespan(), SimTime(255 * kSecond / 100));
}

std::string message(Operation made) {
  GraphBuilder builder("g", CostUnit::kPhysical);
  made.name = "op";
  builder.add_operation(std::move(made));
  const Graph graph = builder.build();
  return test::message_of<ConfigError>([&] { CostTable::physical(graph, make_topology()); });
}

TEST(CostTable, RefusesWhatCannotBe) {
  Operation bad = operation("add", 1, 1);
  bad.pinned_device = DeviceId(3);
  EXPECT_THAT(message(bad), HasSubstr("graph g: operation 0 (op): pinned_device: device 3 does not "
                                      "exist; there are 3"));
  bad.pinned_device = DeviceId(1);
  bad.forbidden_devices = {DeviceId(1)};
  EXPECT_THAT(message(bad), HasSubstr("leave it no device"));
  bad = operation("add", 0, 1);
  bad.measured_durations = {{.device_kind = "slow", .seconds = 1}};
  EXPECT_THAT(message(bad), HasSubstr("none for 'fast' (device d2)"));
  bad.forbidden_devices = {DeviceId(2)};
  GraphBuilder allowed("g", CostUnit::kPhysical);
  allowed.add_operation(bad);
  const Graph graph = allowed.build();
  EXPECT_NO_THROW(CostTable::physical(graph, make_topology()));
  EXPECT_THAT(message(operation("add", 1e17, 1)), HasSubstr("exceeds 2^62 ticks"));
  GraphBuilder durations("g", CostUnit::kDurations);
  durations.add_operation({});
  const Graph ticks = durations.build();
  EXPECT_THAT(test::message_of<ConfigError>([&] { CostTable::physical(ticks, make_topology()); }),
              HasSubstr("states durations"));
}

}  // namespace
}  // namespace doppler
