// Calibration of emulated machines, whose figures are known; and how well simulations of them come
// true.
#include "gpuexec/calibration.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/emulated_backend.h"
#include "gpuexec/fidelity.h"
#include "gpuexec/measurement.h"
#include "gpuexec/skeleton_topology.h"
#include "gpuexec/spread_assignments.h"
#include "gpuexec/work_conservation.h"
#include "sim/physical_simulator.h"
#include "tests/support/execution_cases.h"

namespace doppler {
namespace {

constexpr double kTimeout = 60;

// The emulated machine is exact but for what the executor takes; on a busy machine that is more,
// but the lower quartile of the samples stays near.
TEST(Calibration, FindsTheFiguresOfAnEmulatedMachine) {
  TopologyParts parts = test::unit_mesh(2, 1e9, 50e-6);
  for (Device& device : parts.devices) {
    device.flops_per_second = 1e9;
    device.memory_bytes = 1 << 28;
  }
  parts.devices[1].flops_per_second_by_kind["quick"] = 4e9;
  // Both directions of the pair share less than they have alone.
  parts.groups.push_back({.name = "bus", .capacity_bytes_per_second = 1e9});
  for (Link& link : parts.links) link.groups.emplace_back(0);
  const Topology truth(parts);
  const CalibrationExperiment experiment(
      truth, Contention::kFair,
      [](const CostTable& costs, const Topology& topology) {
        return std::make_unique<EmulatedBackend>(costs, topology, Contention::kFair,
                                                 EmulatedOptions());
      },
      kTimeout);
  CalibrationOptions options;
  for (const char* kind : {"task", "quick"}) {
    for (double flops : {3e5, 1e6, 3e6}) {  // 0.075 to 3 ms
      options.samples.push_back({.kind = kind,
                                 .flops = flops,
                                 .output_bytes = 400,
                                 .output_shape = {},
                                 .read_bytes = {400}});
    }
  }
  options.largest_transfer_bytes = 1 << 20;
  const Calibration calibration = calibrate(experiment, truth, options);
  const Topology found(calibration.parts);  // and it is a topology
  const std::vector<Device>& devices = found.devices();
  EXPECT_NEAR(devices[0].rate("task") / 1e9, 1, 0.3);
  EXPECT_NEAR(devices[0].rate("quick") / 1e9, 1, 0.3);
  EXPECT_NEAR(devices[1].rate("quick") / 4e9, 1, 0.3);
  EXPECT_EQ(devices[0].memory_bytes, 1 << 28);
  ASSERT_EQ(found.links().size(), 2U);
  for (const Link& link : found.links()) {
    EXPECT_NEAR(link.bandwidth_bytes_per_second / 1e9, 1, 0.3);
  }
  ASSERT_EQ(found.groups().size(), 1U) << "both directions at once take twice as long";
  EXPECT_NEAR(found.groups()[0].capacity_bytes_per_second / 1e9, 1, 0.3);
}

// Simulated and measured makespans must rank alike on machines that are what the simulator thinks
// they are: devices and links of their own, with contention.
TEST(Fidelity, OfEmulatedMachinesRanksLikeTheSimulator) {
  for (const auto& [devices, contention] :
       {std::pair{4, Contention::kSerial}, {8, Contention::kSerial}, {4, Contention::kFair}}) {
    WorkloadOptions workload;
    workload.sizes = {{"operations", 120}, {"layers", 8}};
    const Graph graph = generate_workload("random-layered", workload);
    double flops = 0;
    for (const Operation& operation : graph.operations()) flops += operation.flops;
    // All work together takes 60 ms on one device.
    const Topology topology = test::small_machine(devices, 0.06e12 / flops, true);
    const CostTable costs = CostTable::physical(graph, topology);
    PhysicalOptions options;
    options.contention = contention;
    PhysicalSimulator simulator(costs, topology, options);
    const auto assignments = spread_assignments(costs, simulator, 30, 1000, 1);
    ASSERT_EQ(assignments.size(), 30U);
    EXPECT_GT(assignments.front().simulated.seconds(),
              1.5 * assignments.back().simulated.seconds());
    GraphRunner runner(
        costs, topology, options,
        std::make_unique<EmulatedBackend>(costs, topology, contention, EmulatedOptions()));
    // The least of some runs: a busy machine delays many by milliseconds, which is not the
    // executor's doing. On a very busy one it takes more of them.
    std::vector<FidelityPoint> points;
    for (const SpreadAssignment& assignment : assignments) {
      points.push_back({.simulated_seconds = assignment.simulated.seconds(),
                        .measured_seconds = 1e9,
                        .low_seconds = 0,
                        .high_seconds = 0,
                        .disturbed = false});
    }
    FidelityReport report;
    for (int round = 0; round < 20 && report.spearman < 0.98; ++round) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        double& least = points[i].measured_seconds;
        if (least <= 1.02 * points[i].simulated_seconds) continue;
        ASSERT_TRUE(runner.load(assignments[i].assignment).empty());
        for (int run = 0; run < 5 && least > 1.02 * points[i].simulated_seconds; ++run) {
          const auto makespan = runner.run({}, kTimeout);
          ASSERT_TRUE(makespan.has_value());
          least = std::min(least, makespan->seconds());
        }
      }
      report = judge_fidelity(points);
    }
    EXPECT_GE(report.spearman, 0.98) << devices << " devices";
  }
}

// Errors are 0.5, 0 and 0.1.
TEST(Fidelity, IsJudgedByErrorsAndRanks) {
  const std::vector<FidelityPoint> points = {
      {.simulated_seconds = 1, .measured_seconds = 2, .low_seconds = 2, .high_seconds = 2},
      {.simulated_seconds = 3, .measured_seconds = 3, .low_seconds = 3, .high_seconds = 3},
      {.simulated_seconds = 11,
       .measured_seconds = 10,
       .low_seconds = 9,
       .high_seconds = 11,
       .disturbed = true}};
  const FidelityReport report = judge_fidelity(points);
  EXPECT_DOUBLE_EQ(report.spearman, 1);
  EXPECT_NEAR(report.median_error, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(report.largest_error, 0.5);
  EXPECT_DOUBLE_EQ(report.median_ratio, 1);
  EXPECT_EQ(report.disturbed, 1U);
  EXPECT_EQ(fidelity_csv(points).find("simulated_seconds,measured_seconds"), 0U);
}

// On d0: 0 runs from 0 to 2, 2 from 5 to 6 although ready from the start: idle for 3. On d1: 1
// reads 0, whose transfer ends at 3; it starts at 4: idle with ready work for 1.
TEST(WorkConservation, CountsIdleTimeWithReadyWorkOnly) {
  const Graph graph = test::make_unit_graph({{1, 4}, {1, 4}, {1, 4}}, {{0, 1}});
  const Assignment assignment(std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(0)});
  Execution execution;
  execution.start = IdVector<OperationId, SimTime>({SimTime(0), SimTime(4), SimTime(5)});
  execution.end = IdVector<OperationId, SimTime>({SimTime(2), SimTime(5), SimTime(6)});
  execution.device_busy.assign(2, SimTime(0));
  TransferRecord transfer;
  transfer.producer = OperationId(0);
  transfer.to = DeviceId(1);
  transfer.end = SimTime(3);
  execution.transfers.push_back(transfer);
  EXPECT_EQ(idle_with_ready_work(graph, assignment, execution),
            (std::vector<SimTime>{SimTime(0), SimTime(3), SimTime(1)}));
  EXPECT_EQ(quantile({SimTime(3), SimTime(1), SimTime(2)}, 0.5), SimTime(2));
}

TEST(Skeleton, JoinsAllPairs) {
  const Topology topology = skeleton_topology("cpu", 3);
  EXPECT_EQ(topology.device_count(), 3);
  EXPECT_EQ(topology.links().size(), 6U);
}

}  // namespace
}  // namespace doppler
