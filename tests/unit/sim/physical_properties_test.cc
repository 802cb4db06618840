// What holds for every graph, topology and assignment. DOPPLER_PROPERTY_CASES sets how many are
// tried (100,000 in all by default).
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_physical.h"
#include "tests/support/schedule_check.h"

namespace doppler {
namespace {

int case_count(int share_of_100000) {
  const char* wanted = std::getenv("DOPPLER_PROPERTY_CASES");
  const double all = wanted == nullptr ? 100000 : std::atof(wanted);
  return static_cast<int>(all * share_of_100000 / 100000) + 1;
}

using test::allowed_assignment;
using test::below;
using test::pick;
using test::random_order;
using test::random_physical_graph;
using test::random_topology;

PhysicalOptions random_options(Contention contention, RandomStream& random) {
  PhysicalOptions options;
  options.contention = contention;
  options.dispatch = static_cast<Dispatch>(below(random, 3));
  options.seed = random.next_bits();
  return options;
}

class PhysicalProperties : public testing::TestWithParam<Contention> {};

TEST_P(PhysicalProperties, EveryScheduleKeepsTheRules) {
  RandomStream random(derive_seed({17, static_cast<std::uint64_t>(GetParam())}));
  for (int i = 0; i < case_count(30000); ++i) {
    const test::Numbers numbers = {.exact = below(random, 2) == 0};
    const Topology topology(random_topology(numbers, random));
    const Graph graph = random_physical_graph(random, topology.device_count(), true);
    const CostTable costs = CostTable::physical(graph, topology);
    const std::vector<OperationId> order = random_order(graph.operation_count(), random);
    const test::ScheduleCase one = {.costs = &costs,
                                    .topology = &topology,
                                    .options = random_options(GetParam(), random),
                                    .assignment = allowed_assignment(costs, random),
                                    .order = order};
    PhysicalSimulator simulator(costs, topology, one.options);
    const Execution execution = simulator.run_recorded(one.assignment, order);
    ASSERT_EQ(test::find_violation(one, execution), "") << "case " << i;
    // The run without a record is the same, and so is a second one in the same workspace.
    ASSERT_EQ(simulator.run(one.assignment, order), execution.makespan) << "case " << i;
    ASSERT_EQ(simulator.run_recorded(one.assignment, order).transfers, execution.transfers);
  }
}

TEST_P(PhysicalProperties, RelabellingSymmetricDevicesChangesNothing) {
  RandomStream random(derive_seed({18, static_cast<std::uint64_t>(GetParam())}));
  for (int i = 0; i < case_count(2000); ++i) {
    const int devices = pick(random, 2, 5);
    TopologyParts parts = test::unit_mesh(devices, 0.5 + random.next_unit(), random.next_unit());
    if (below(random, 2) == 0) {  // all over one switch
      parts = test::unit_devices(devices, 1);
      for (int d = 0; d < devices; ++d) {
        test::add_link(parts, d, devices, 1.5, 0.25);
        test::add_link(parts, devices, d, 0.7, 0.125);
      }
    }
    const Topology topology(parts);
    const Graph graph = random_physical_graph(random, devices, false);
    const CostTable costs = CostTable::physical(graph, topology);
    PhysicalSimulator simulator(costs, topology, random_options(GetParam(), random));
    const std::vector<OperationId> order = random_order(graph.operation_count(), random);
    const Assignment assignment = allowed_assignment(costs, random);
    const int shift = pick(random, 1, devices - 1);
    Assignment relabelled = assignment;
    for (DeviceId& device : relabelled) device = DeviceId((device.value() + shift) % devices);
    const Execution before = simulator.run_recorded(assignment, order);
    const Execution after = simulator.run_recorded(relabelled, order);
    ASSERT_EQ(before.start, after.start) << "case " << i;
    ASSERT_EQ(before.end, after.end) << "case " << i;
  }
}

TEST_P(PhysicalProperties, HalvingEveryTimeHalvesTheMakespan) {
  RandomStream random(derive_seed({19, static_cast<std::uint64_t>(GetParam())}));
  for (int i = 0; i < case_count(2000); ++i) {
    const TopologyParts slow = random_topology({.exact = true}, random);
    TopologyParts fast = slow;
    for (Device& device : fast.devices) {
      device.flops_per_second *= 2;
      device.memory_bandwidth_bytes_per_second *= 2;
      device.launch_overhead_seconds /= 2;
    }
    for (SharedGroup& group : fast.groups) group.capacity_bytes_per_second *= 2;
    for (Link& link : fast.links) {
      link.latency_seconds /= 2;
      link.bandwidth_bytes_per_second *= 2;
    }
    const Topology slow_topology(slow);
    const Topology fast_topology(fast);
    // Shares are no whole numbers of ticks: two events of one instant may part by a tick, and then
    // a device may take its operations in another order. With one operation a device none can.
    const bool alone = GetParam() == Contention::kFair;
    const Graph graph = random_physical_graph(random, slow_topology.device_count(), !alone,
                                              alone ? slow_topology.device_count() : 14);
    const CostTable slow_costs = CostTable::physical(graph, slow_topology);
    const CostTable fast_costs = CostTable::physical(graph, fast_topology);
    PhysicalOptions options = random_options(GetParam(), random);
    Assignment assignment = allowed_assignment(slow_costs, random);
    for (std::size_t o = 0; alone && o < assignment.size(); ++o) {
      assignment[OperationId(static_cast<int>(o))] = DeviceId(static_cast<int>(o));
    }
    const SimTime full = PhysicalSimulator(slow_costs, slow_topology, options).run(assignment, {});
    const SimTime half = PhysicalSimulator(fast_costs, fast_topology, options).run(assignment, {});
    if (alone) {
      ASSERT_NEAR(static_cast<double>(half.ticks()) * 2, static_cast<double>(full.ticks()), 50)
          << "case " << i;
    } else {
      ASSERT_EQ(half.ticks() * 2, full.ticks()) << "case " << i;
    }
  }
}

TEST_P(PhysicalProperties, TheSameSeedGivesTheSameBytes) {
  RandomStream random(derive_seed({20, static_cast<std::uint64_t>(GetParam())}));
  int differing = 0;
  const int cases = case_count(1000);
  for (int i = 0; i < cases; ++i) {
    const Topology topology(random_topology({.exact = false}, random));
    const Graph graph = random_physical_graph(random, topology.device_count(), true);
    const CostTable costs = CostTable::physical(graph, topology);
    PhysicalOptions options = random_options(GetParam(), random);
    options.noise = {.operation_cv = 0.1, .operation_cv_by_kind = {}, .transfer_cv = 0.2};
    const Assignment assignment = allowed_assignment(costs, random);
    PhysicalSimulator first(costs, topology, options);
    PhysicalSimulator second(costs, topology, options);
    const SimTime makespan = first.run(assignment, {});
    first.run(Assignment(assignment), {});
    const Execution record = second.run_recorded(assignment, {});
    ASSERT_EQ(record.makespan, makespan) << "case " << i;
    ASSERT_EQ(first.run_recorded(assignment, {}).transfers, record.transfers);
    second.set_seed(options.seed + 1);
    differing += second.run(assignment, {}) != makespan ? 1 : 0;
  }
  EXPECT_GT(differing, cases * 3 / 4);
}

TEST_P(PhysicalProperties, EnforcedMemoryPenalisesWhatIsReported) {
  RandomStream random(derive_seed({21, static_cast<std::uint64_t>(GetParam())}));
  int infeasible = 0;
  for (int i = 0; i < case_count(1000); ++i) {
    TopologyParts parts = random_topology({.exact = true}, random);
    for (Device& device : parts.devices) device.memory_bytes = pick(random, 5, 60);
    const Topology topology(parts);
    const Graph graph = random_physical_graph(random, topology.device_count(), true);
    const CostTable costs = CostTable::physical(graph, topology);
    PhysicalOptions options = random_options(GetParam(), random);
    const Assignment assignment = allowed_assignment(costs, random);
    const Execution report =
        PhysicalSimulator(costs, topology, options).run_recorded(assignment, {});
    options.memory = MemoryRule::kEnforce;
    PhysicalSimulator enforcing(costs, topology, options);
    const SimTime cost = enforcing.run(assignment, {});
    double overflow = 0;
    for (std::size_t d = 0; d < parts.devices.size(); ++d) {
      const auto capacity = static_cast<double>(*parts.devices[d].memory_bytes);
      const auto peak =
          static_cast<double>(report.peak_memory_bytes[DeviceId(static_cast<int>(d))]);
      overflow = std::max(overflow, (peak - capacity) / capacity);
    }
    ASSERT_TRUE(report.feasible);
    ASSERT_EQ(report.largest_overflow_fraction, overflow);
    ASSERT_EQ(enforcing.feasible(), overflow == 0);
    ASSERT_NEAR(static_cast<double>(cost.ticks()),
                static_cast<double>(report.makespan.ticks()) * (1 + 10 * overflow), 1);
    infeasible += overflow > 0 ? 1 : 0;
  }
  EXPECT_GT(infeasible, 0);
}

std::string mode_name(const testing::TestParamInfo<Contention>& mode) {
  if (mode.param == Contention::kNone) return "None";
  return mode.param == Contention::kSerial ? "Serial" : "Fair";
}

INSTANTIATE_TEST_SUITE_P(Modes, PhysicalProperties,
                         testing::Values(Contention::kNone, Contention::kSerial, Contention::kFair),
                         mode_name);

}  // namespace
}  // namespace doppler
