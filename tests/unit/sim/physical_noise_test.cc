// Noise, its factors and by schedules that are computed by hand: tests/support/unit_schedules.h
// says how they are written.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/unit_schedules.h"

namespace doppler {
namespace {

using test::execute;
using test::kFair;
using test::kNone;
using test::kSerial;
using test::make_assignment;
using test::make_unit_graph;
using test::makespan;
using test::seconds;
using test::start;
using test::transfers;
using test::unit_devices;
using test::unit_mesh;
using testing::DoubleNear;

// exp(sigma z - sigma^2 / 2) with sigma^2 = ln(1 + cv^2).
double factor(double cv, std::initializer_list<std::uint64_t> key) {
  const double variance = std::log(1 + cv * cv);
  return std::exp(std::sqrt(variance) * RandomStream(derive_seed(key)).next_normal() -
                  variance / 2);
}

TEST(PhysicalNoise, NoiseIsReplayedFromSeedAndOperation) {
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

TEST(PhysicalNoise, NoiseHasTheAskedMeanAndDeviation) {
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

}  // namespace
}  // namespace doppler
