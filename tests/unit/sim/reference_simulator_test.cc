#include "sim/reference_simulator.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph_text.h"
#include "common/levels.h"
#include "tests/support/naive_reference_simulator.h"
#include "tests/support/public_data.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using test::make_assignment;
using test::make_graph;

std::int64_t makespan(const Graph& graph, int device_count, const std::vector<int>& devices) {
  const CostTable costs = CostTable::reference(graph, device_count);
  return ReferenceSimulator(costs).run(make_assignment(devices), {}).ticks();
}

TEST(ReferenceSimulator, ATransferTakesTheProducersTime) {
  // 2 + 3 + 4 on one device; 2 + 10 + 3 + 20 + 4 on alternating ones.
  EXPECT_EQ(makespan(test::chain_graph(), 2, {1, 1, 1}), 9);
  EXPECT_EQ(makespan(test::chain_graph(), 2, {0, 1, 0}), 39);
  // The diamond's second arm elsewhere: 1 + 2 + 4 + 2 + 1.
  EXPECT_EQ(makespan(test::diamond_graph(), 2, {0, 0, 1, 0}), 10);
}

TEST(ReferenceSimulator, RecordsStartAndEndOfEveryOperation) {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const Execution execution =
      ReferenceSimulator(costs).run_recorded(make_assignment({0, 0, 0, 1, 1, 0}), {});
  const std::vector<SimTime> starts = {SimTime(0), SimTime(1), SimTime(6),
                                       SimTime(2), SimTime(7), SimTime(13)};
  EXPECT_EQ(execution.start.raw(), starts);
  EXPECT_EQ(execution.end[OperationId(4)], SimTime(12));  // its output is there at 13
  EXPECT_EQ(execution.makespan, SimTime(14));
}

TEST(ReferenceSimulator, ADeviceServesInTheOrderOfRequests) {
  // 0 and 1 start together on devices 0 and 1 and end at 2; both feed operation on device 0, 2
  // locally (at 2), 3 after a transfer of 1 (at 3). 4, an entry on device 0 behind 0, requested it
  // at time 0: order 0, 4, 2, 3 = 2+5+1+1 = 9.
  const Graph graph = make_graph("g", {{2, 1}, {2, 1}, {1, 1}, {1, 1}, {5, 1}}, {{0, 2}, {1, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  const Execution execution =
      ReferenceSimulator(costs).run_recorded(make_assignment({0, 1, 0, 0, 0}), {});
  EXPECT_EQ(execution.start[OperationId(4)], SimTime(2));
  EXPECT_EQ(execution.start[OperationId(2)], SimTime(7));
  EXPECT_EQ(execution.start[OperationId(3)], SimTime(8));
  EXPECT_EQ(execution.makespan, SimTime(9));
}

TEST(ReferenceSimulator, AnArrivalFromElsewhereBeatsALocalOneOfTheSameInstant) {
  // At time 3: 0 ends on device 0 and feeds 2 locally (rounds 2 to 4); the transfer of 1 (ends at
  // 1, takes 2) arrives for 3 in round 1, so 3 requests device 0 in round 2 and goes first.
  const Graph graph = make_graph("g", {{3, 1}, {1, 2}, {4, 1}, {5, 1}}, {{0, 2}, {1, 3}});
  const CostTable costs = CostTable::reference(graph, 2);
  const Execution execution =
      ReferenceSimulator(costs).run_recorded(make_assignment({0, 1, 0, 0}), {});
  EXPECT_EQ(execution.start[OperationId(3)], SimTime(3));
  EXPECT_EQ(execution.start[OperationId(2)], SimTime(8));
}

TEST(ReferenceSimulator, ZeroCostsTakeNoTimeButKeepTheirTurn) {
  const Graph graph = make_graph("g", {{0, 0}, {0, 0}, {3, 0}}, {{0, 1}, {1, 2}});
  EXPECT_EQ(makespan(graph, 2, {0, 1, 0}), 3);
}

TEST(ReferenceSimulator, ASimulatorCanBeUsedAgain) {
  const Graph graph = test::diamond_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(simulator.run(make_assignment({0, 0, 0, 0}), {}), SimTime(10));
    EXPECT_EQ(simulator.run(make_assignment({0, 1, 1, 0}), {}), SimTime(1 + 2 + 8 + 2 + 1));
  }
}

TEST(ReferenceSimulatorDeathTest, RefusesAnAssignmentThatDoesNotFit) {
  const Graph graph = test::chain_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  ReferenceSimulator simulator(costs);
  EXPECT_DEATH(simulator.run(make_assignment({0, 0}), {}), "check failed");
  EXPECT_DEATH(simulator.run(make_assignment({0, 2, 0}), {}), "check failed");
  EXPECT_DEATH(simulator.run(make_assignment({0, -1, 0}), {}), "check failed");
}

struct Shape {
  const char* name;
  test::RandomGraphOptions options;
};

class AgainstTheNaiveSimulator : public testing::TestWithParam<Shape> {};

TEST_P(AgainstTheNaiveSimulator, EveryStartAndEndIsEqual) {
  RandomStream random(derive_seed({2025, static_cast<std::uint64_t>(GetParam().name[0])}));
  constexpr int kGraphs = 500;
  constexpr int kAssignments = 4;
  for (int g = 0; g < kGraphs; ++g) {
    test::RandomGraphOptions options = GetParam().options;
    options.operation_count = 1 + static_cast<std::int32_t>(random.next_below(
                                      static_cast<std::uint64_t>(options.operation_count)));
    const Graph graph = test::random_graph(options, random);
    const int device_count = 1 + static_cast<int>(random.next_below(5));
    const CostTable costs = CostTable::reference(graph, device_count);
    ReferenceSimulator simulator(costs);
    for (int a = 0; a < kAssignments; ++a) {
      const Assignment assignment =
          test::random_assignment(graph.operation_count(), device_count, random);
      const Execution expected = test::simulate_naively(graph, device_count, assignment);
      const Execution actual = simulator.run_recorded(assignment, {});
      ASSERT_EQ(actual.start, expected.start) << "graph " << g << " assignment " << a;
      ASSERT_EQ(actual.end, expected.end) << "graph " << g << " assignment " << a;
      ASSERT_EQ(actual.makespan, expected.makespan);
      ASSERT_EQ(simulator.run(assignment, {}), expected.makespan);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AgainstTheNaiveSimulator,
    testing::Values(
        Shape{"ties with zero costs", {.operation_count = 30, .largest_cost = 2}},
        Shape{"unit costs", {.operation_count = 40, .least_cost = 1, .largest_cost = 1}},
        Shape{"positive ties", {.operation_count = 40, .least_cost = 1, .largest_cost = 2}},
        Shape{"few ties", {.operation_count = 30, .least_cost = 1, .largest_cost = 1000000}},
        Shape{"zeros only", {.operation_count = 30, .largest_cost = 0}},
        Shape{"deep",
              {.operation_count = 60, .edges_per_operation = 2, .reach = 2, .largest_cost = 3}},
        Shape{"Deep without zeros",
              {.operation_count = 60,
               .edges_per_operation = 2,
               .reach = 3,
               .least_cost = 1,
               .largest_cost = 3}},
        Shape{"wide", {.operation_count = 80, .edges_per_operation = 0.6, .largest_cost = 3}},
        Shape{"Wide without zeros",
              {.operation_count = 80,
               .edges_per_operation = 0.8,
               .least_cost = 1,
               .largest_cost = 3}},
        Shape{
            "dense without zeros",
            {.operation_count = 30, .edges_per_operation = 5, .least_cost = 1, .largest_cost = 4}}),
    [](const testing::TestParamInfo<Shape>& shape) {
      std::string name = shape.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST(ReferenceSimulator, RespectsItsLowerBounds) {
  RandomStream random(7);
  for (int g = 0; g < 200; ++g) {
    const Graph graph = test::random_graph({.operation_count = 40, .largest_cost = 20}, random);
    const CostTable costs = CostTable::reference(graph, 3);
    const CostTable free_transfers = CostTable::reference(graph, 1);
    const SimTime critical_path = compute_levels(free_transfers).critical_path;
    SimTime work;
    for (const Operation& operation : graph.operations()) work += operation.compute_time;
    const SimTime result = ReferenceSimulator(costs).run(
        test::random_assignment(graph.operation_count(), 3, random), {});
    EXPECT_GE(result, critical_path);
    EXPECT_GE(result.ticks() * 3, work.ticks());
  }
}

TEST(ReferenceSimulator, PrintsCostsAsThePublishedCodeDoes) {
  // 16000700000000 ticks: float32 rounds 1600.07 to 1600.070068359375.
  EXPECT_EQ(
      ReferenceSimulator::format_cost(ReferenceSimulator::reference_cost(SimTime(16000700000000))),
      "1600.070068359375");
  EXPECT_EQ(ReferenceSimulator::format_cost(12), "12.0");
  EXPECT_EQ(ReferenceSimulator::format_cost(0), "0.0");
  EXPECT_EQ(ReferenceSimulator::format_cost(100000), "100000.0");
  EXPECT_EQ(ReferenceSimulator::format_cost(0.5), "0.5");
  // repr(float(np.float32(1) / np.float32(1e10))) in Python.
  EXPECT_EQ(ReferenceSimulator::format_cost(ReferenceSimulator::reference_cost(SimTime(1))),
            "1.000000013351432e-10");
}

struct PublishedCost {
  const char* file;
  const char* modulo;  // operation id modulo 4
  const char* one_device;
};

class PublishedCosts : public testing::TestWithParam<PublishedCost> {};

TEST_P(PublishedCosts, AreReproducedToTheLastBit) {
  DP_SKIP_WITHOUT_PUBLIC_DATA(GetParam().file);
  const Graph graph = load_graph_text(test::public_data_path(GetParam().file)).graph;
  const CostTable costs = CostTable::reference(graph, 4);
  ReferenceSimulator simulator(costs);
  Assignment modulo(graph.operation_count());
  for (std::size_t i = 0; i < modulo.size(); ++i) {
    modulo[OperationId(static_cast<int>(i))] = DeviceId(static_cast<int>(i % 4));
  }
  const auto cost = [&](const Assignment& assignment) {
    return ReferenceSimulator::format_cost(
        ReferenceSimulator::reference_cost(simulator.run(assignment, {})));
  };
  EXPECT_EQ(cost(modulo), GetParam().modulo);
  EXPECT_EQ(cost(Assignment(graph.operation_count(), DeviceId(0))), GetParam().one_device);
}

INSTANTIATE_TEST_SUITE_P(Paper, PublishedCosts,
                         testing::Values(PublishedCost{"doppler/gdp_chain_mm_112nodes.txt",
                                                       "1600.070068359375", "4800.27978515625"},
                                         PublishedCost{"doppler/gdp_ffnn_192nodes.txt",
                                                       "84.18241119384766", "226.78318786621094"},
                                         PublishedCost{"doppler/gdp_transformer_block_215nodes.txt",
                                                       "240.3115234375", "388.6778259277344"},
                                         PublishedCost{
                                             "doppler/gdp_full_transformer_layer_261nodes.txt",
                                             "274.88299560546875", "388.9769592285156"}));

}  // namespace
}  // namespace doppler
