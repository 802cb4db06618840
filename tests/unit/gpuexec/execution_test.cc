// Graphs executed for real: results, order, records, failures; on both backends.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/cpu_backend.h"
#include "gpuexec/emulated_backend.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/reference_results.h"
#include "sim/explain.h"
#include "sim/physical_simulator.h"
#include "sim/trace.h"
#include "tests/support/execution_cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_physical.h"

namespace doppler {
namespace {

constexpr double kTimeout = 60;

std::unique_ptr<Backend> emulated(const CostTable& costs, const Topology& topology,
                                  Contention contention, int pacers = 3) {
  return std::make_unique<EmulatedBackend>(costs, topology, contention,
                                           EmulatedOptions{.pacers = pacers});
}

// The results of all runs must be those of everything on device 0: the same kernels in another
// order and elsewhere give the same bytes. Returns how many assignments were tried.
int compare_assignments(GraphRunner& runner, const PhysicalOptions& options, int count,
                        std::uint64_t seed) {
  const CostTable& costs = runner.costs();
  const Graph& graph = costs.graph();
  EXPECT_TRUE(runner.load(Assignment(graph.operation_count(), DeviceId(0))).empty());
  EXPECT_TRUE(runner.run({}, kTimeout).has_value());
  const auto expected = runner.results();
  EXPECT_FALSE(expected.empty());
  RandomStream random(seed);
  for (int i = 0; i < count; ++i) {
    const Assignment assignment =
        test::random_assignment(graph.operation_count(), costs.device_count(), random);
    const std::vector<OperationId> order = options.dispatch == Dispatch::kPriority
                                               ? test::random_order(graph.operation_count(), random)
                                               : std::vector<OperationId>();
    EXPECT_TRUE(runner.load(assignment).empty());
    if (!runner.run(order, kTimeout)) {
      ADD_FAILURE() << "run " << i << " did not end";
      return i;
    }
    const Execution record = runner.take_record();
    EXPECT_EQ(test::find_disorder(graph, assignment, record), "") << "assignment " << i;
    if (runner.results() != expected) {
      ADD_FAILURE() << "assignment " << i << " computed something else";
      return i;
    }
  }
  return count;
}

// 500 random assignments, in parts over networks, dispatch rules and contention.
TEST(CpuExecution, ComputesTheSameWhateverTheAssignment) {
  int tried = 0;
  std::uint64_t seed = 1;
  for (const char* name : {"ffnn", "llama-block", "chain-mm"}) {
    const Graph graph = test::small_network(name);
    for (Dispatch dispatch : {Dispatch::kFifo, Dispatch::kPriority, Dispatch::kRandom}) {
      for (Contention contention : {Contention::kSerial, Contention::kFair}) {
        const Topology topology = test::small_machine(3, 10);
        const CostTable costs = CostTable::physical(graph, topology);
        const PhysicalOptions options = {
            .contention = contention, .dispatch = dispatch, .noise = {}, .seed = seed};
        GraphRunner runner(costs, topology, options,
                           std::make_unique<CpuBackend>(topology, CpuOptions()));
        tried += compare_assignments(runner, options, 28, ++seed);
      }
    }
  }
  EXPECT_GE(tried, 500);
}

TEST(CpuExecution, EqualsTheReference) {
  for (const char* name : {"ffnn", "llama-block", "chain-mm"}) {
    const Graph graph = test::small_network(name);
    const Topology topology = test::small_machine(2, 10);
    const CostTable costs = CostTable::physical(graph, topology);
    GraphRunner runner(costs, topology, {}, std::make_unique<CpuBackend>(topology, CpuOptions()));
    RandomStream random(3);
    EXPECT_TRUE(runner.load(test::random_assignment(graph.operation_count(), 2, random)).empty());
    ASSERT_TRUE(runner.run({}, kTimeout).has_value());
    const auto results = runner.results();
    const auto expected = reference_results(graph);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::vector<float> actual = test::as_floats(results[i]);
      actual.resize(expected[i].size());
      EXPECT_LT(relative_error(expected[i], actual), 1e-4) << name << ", result " << i;
    }
    EXPECT_EQ(runner.work_counts().synthetic, 0) << name;
    EXPECT_GT(runner.work_counts().products, 0) << name;
  }
}

TEST(EmulatedExecution, ComputesTheSameWhateverTheAssignment) {
  int tried = 0;
  std::uint64_t seed = 1;
  RandomStream random(17);
  for (int graph_number = 0; graph_number < 5; ++graph_number) {
    const Graph graph = test::random_physical_graph(random, 4, false, 60);
    for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
      for (Dispatch dispatch : {Dispatch::kFifo, Dispatch::kRandom}) {
        // An operation of 8 FLOPs takes 80 nanoseconds to 8 microseconds.
        const Topology topology = test::small_machine(4, graph_number % 2 == 0 ? 1e6 : 1e4, true);
        const CostTable costs = CostTable::physical(graph, topology);
        const PhysicalOptions options = {
            .contention = contention, .dispatch = dispatch, .noise = {}, .seed = seed};
        GraphRunner runner(costs, topology, options, emulated(costs, topology, contention));
        tried += compare_assignments(runner, options, 17, ++seed);
      }
    }
  }
  EXPECT_GE(tried, 500);
}

TEST(EmulatedExecution, TakesTheSimulatedTimeAtLeast) {
  // Two operations of 2 ms on different devices, and a transfer of 1e5 bytes: 1 ms and 1 us of
  // latency; 5.001 ms. The clock of the machine can only be later.
  const Graph graph = test::make_unit_graph({{2e5, 100000}, {2e5, 4}}, {{0, 1}});
  const Topology topology = test::small_machine(2, 1e4);
  const CostTable costs = CostTable::physical(graph, topology);
  for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
    PhysicalOptions options;
    options.contention = contention;
    const Assignment assignment(std::vector<DeviceId>{DeviceId(0), DeviceId(1)});
    PhysicalSimulator simulator(costs, topology, options);
    EXPECT_EQ(simulator.run(assignment, {}), SimTime(5'001'000'000));
    GraphRunner runner(costs, topology, options, emulated(costs, topology, contention));
    ASSERT_TRUE(runner.load(assignment).empty());
    const auto makespan = runner.run({}, kTimeout);
    ASSERT_TRUE(makespan.has_value());
    EXPECT_GE(*makespan, SimTime(5'001'000'000));
  }
}

// What was recorded can be drawn and explained like a simulation; counts and bytes are those of the
// simulation.
TEST(EmulatedExecution, RecordsWhatTheSimulatorRecords) {
  RandomStream random(23);
  for (int round = 0; round < 20; ++round) {
    const Graph graph = test::random_physical_graph(random, 3, false, 40);
    const Topology topology = test::small_machine(3, 1e5);
    const CostTable costs = CostTable::physical(graph, topology);
    const Assignment assignment = test::random_assignment(graph.operation_count(), 3, random);
    const PhysicalOptions options;
    PhysicalSimulator simulator(costs, topology, options);
    const Execution simulated = simulator.run_recorded(assignment, {});
    GraphRunner runner(costs, topology, options, emulated(costs, topology, options.contention));
    ASSERT_TRUE(runner.load(assignment).empty());
    ASSERT_TRUE(runner.run({}, kTimeout).has_value());
    const Execution record = runner.take_record();
    EXPECT_EQ(record.transfers.size(), simulated.transfers.size());
    EXPECT_EQ(record.link_bytes, simulated.link_bytes);
    EXPECT_EQ(record.allocated_bytes, simulated.allocated_bytes);
    EXPECT_EQ(record.freed_bytes, record.allocated_bytes);
    for (std::size_t o = 0; o < graph.operation_count(); ++o) {
      const OperationId id(static_cast<std::int32_t>(o));
      const SimTime least = costs.compute(id, assignment[id]);
      EXPECT_GE(record.end[id] - record.start[id] + SimTime(500), least);  // whole nanoseconds
    }
    for (const TransferRecord& transfer : record.transfers) {
      EXPECT_GE(transfer.end - transfer.start + SimTime(500), transfer.alone_time);
    }
    EXPECT_NE(chrome_trace(graph, topology, assignment, record).find("\"ph\": \"X\""),
              std::string::npos);
    EXPECT_NE(explain(graph, topology, assignment, record).find("makespan"), std::string::npos);
  }
}

// By priority, the one that stands first in the order comes first, whatever its number.
TEST(EmulatedExecution, DispatchesByPriority) {
  const Graph graph = test::make_unit_graph({{10, 4}, {10, 4}, {10, 4}}, {});
  const Topology topology = test::small_machine(1, 1e5);
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalOptions options;
  options.dispatch = Dispatch::kPriority;
  GraphRunner runner(costs, topology, options, emulated(costs, topology, options.contention));
  ASSERT_TRUE(runner.load(Assignment(3, DeviceId(0))).empty());
  const std::vector<OperationId> order = {OperationId(2), OperationId(0), OperationId(1)};
  ASSERT_TRUE(runner.run(order, kTimeout).has_value());
  const Execution record = runner.take_record();
  EXPECT_LT(record.start[OperationId(2)], record.start[OperationId(0)]);
  EXPECT_LT(record.start[OperationId(0)], record.start[OperationId(1)]);
}

TEST(EmulatedExecution, StopsAtTheTimeOutAndRunsAgain) {
  // The first operation takes 1,000 s.
  const Graph graph = test::make_unit_graph({{1e11, 4}, {1, 4}}, {{0, 1}});
  const Topology topology = test::small_machine(2, 1e4);
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {}, emulated(costs, topology, Contention::kSerial));
  ASSERT_TRUE(runner.load(Assignment(2, DeviceId(0))).empty());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(runner.run({}, 0.002).has_value());
}

// Each of the operations takes tens of milliseconds; the one that runs at the time-out ends, the
// next does not start.
TEST(CpuExecution, StopsAtTheTimeOutAndRunsAgain) {
  const Graph graph = test::make_unit_graph({{1e9, 4096}, {1e9, 4096}, {1e9, 4096}, {1, 4096}},
                                            {{0, 1}, {1, 2}, {2, 3}});
  const Topology topology = test::small_machine(2, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {}, std::make_unique<CpuBackend>(topology, CpuOptions()));
  ASSERT_TRUE(runner.load(Assignment(graph.operation_count(), DeviceId(0))).empty());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(runner.run({}, 1e-9).has_value());
  EXPECT_TRUE(runner.run({}, kTimeout).has_value());
}

TEST(Execution, TellsWhatDoesNotFitIntoMemory) {
  const Graph graph = test::make_unit_graph({{1, 4096}, {1, 4096}}, {{0, 1}});
  TopologyParts parts = test::unit_mesh(2);
  parts.devices[1].memory_bytes = 6000;
  const Topology topology(parts);
  const CostTable costs = CostTable::physical(graph, topology);
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<CpuBackend>(topology, CpuOptions()));
  backends.push_back(emulated(costs, topology, Contention::kSerial));
  for (auto& backend : backends) {
    GraphRunner runner(costs, topology, {}, std::move(backend));
    // Copy and output, 8,192 bytes, on the second device.
    const auto shortages = runner.load(Assignment(std::vector<DeviceId>{DeviceId(0), DeviceId(1)}));
    ASSERT_EQ(shortages.size(), 1U);
    EXPECT_EQ(shortages[0].device, DeviceId(1));
    EXPECT_EQ(shortages[0].needed_bytes, 8192);
    EXPECT_EQ(shortages[0].available_bytes, 6000);
    EXPECT_TRUE(runner.load(Assignment(2, DeviceId(0))).empty()) << "the first has room";
  }
}

// 2^50 bytes, and no limit stated: more than any machine that this runs on has.
TEST(CpuExecution, TellsWhatTheMachineHasNoRoomFor) {
  const Graph graph = test::make_unit_graph({{1, std::int64_t{1} << 50}}, {});
  const Topology topology = test::small_machine(1, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {}, std::make_unique<CpuBackend>(topology, CpuOptions()));
  EXPECT_EQ(runner.load(Assignment(1, DeviceId(0))).size(), 1U);
}

// Pinned inputs are there from the start and are sent; nobody runs them.
TEST(Execution, SendsInputsThatStateADevice) {
  GraphBuilder builder("given", CostUnit::kPhysical);
  Operation input;
  input.kind = "input";
  input.output_bytes = 400;
  input.pinned_device = DeviceId(0);
  builder.add_operation(input);
  Operation reader;
  reader.kind = "relu";
  reader.flops = 100;
  reader.output_bytes = 400;
  builder.add_operation(reader);
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  const Graph graph = builder.build();
  const Topology topology = test::small_machine(2, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {}, std::make_unique<CpuBackend>(topology, CpuOptions()));
  ASSERT_TRUE(runner.load(Assignment(std::vector<DeviceId>{DeviceId(0), DeviceId(1)})).empty());
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(runner.run({}, kTimeout).has_value());
    const Execution record = runner.take_record();
    EXPECT_EQ(record.end[OperationId(0)], SimTime(0));
    ASSERT_EQ(record.transfers.size(), 1U);
    EXPECT_EQ(runner.work_counts().given, 1);
    EXPECT_EQ(test::as_floats(runner.results()[0]), reference_results(graph)[0]);
  }
}

}  // namespace
}  // namespace doppler
