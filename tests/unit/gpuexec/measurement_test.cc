#include "gpuexec/measurement.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/emulated_backend.h"
#include "gpuexec/measured_executor.h"
#include "tests/support/execution_cases.h"
#include "tests/support/scripted_backend.h"

namespace doppler {
namespace {

class MeasurementTest : public testing::Test {
 protected:
  // One operation, on one of two devices.
  MeasurementTest()
      : graph_(test::make_unit_graph({{1, 4}}, {})),
        topology_(test::small_machine(2, 1)),
        costs_(CostTable::physical(graph_, topology_)) {}

  GraphRunner runner(std::vector<double> seconds) {
    return {costs_, topology_, {}, std::make_unique<test::ScriptedBackend>(2, std::move(seconds))};
  }

  Graph graph_;
  Topology topology_;
  CostTable costs_;
};

// The warm-up of 9 s does not count; of 1 1 1 1 7 the last is dropped.
TEST_F(MeasurementTest, IsTheMedianWithoutWarmUpAndOutliers) {
  GraphRunner own = runner({9, 1, 1.001, 1.002, 1.003, 7});
  Measurer measurer(own, {.warmup = 1, .repeats = 5, .control = false});
  const Measurement m = measurer.measure(Assignment(1, DeviceId(0)), {}, true);
  EXPECT_EQ(m.status, MeasurementStatus::kDone);
  EXPECT_EQ(m.samples.size(), 5U);
  EXPECT_EQ(m.dropped, 1U);
  EXPECT_NEAR(m.seconds, 1.0015, 1e-9);
  EXPECT_NEAR(m.interval.low, 1, 1e-9);
  EXPECT_NEAR(m.interval.high, 1.003, 1e-9);
  ASSERT_TRUE(m.record.has_value());
  EXPECT_NEAR(m.record->makespan.seconds(), 1.0015, 0.001);
}

// Of 1, 1.001, 1.002, 1.003: mean 1.0015, squares of the distances (2.25 + 0.25) x 2 = 5
// millionths, divided by 3.
TEST_F(MeasurementTest, KnowsItsSpread) {
  GraphRunner own = runner({9, 1, 1.001, 1.002, 1.003, 7});
  Measurer measurer(own, {.warmup = 1, .repeats = 5, .control = false});
  EXPECT_NEAR(measurer.measure(Assignment(1, DeviceId(0)), {}).spread_seconds, std::sqrt(5e-6 / 3),
              1e-8);
}

// The same through the executor, of the runs that count; of one that ran into the time-out nothing.
TEST_F(MeasurementTest, TellsTheExecutorsUsersWhatItMeasured) {
  MeasuredExecutor executor(costs_, topology_, {},
                            std::make_unique<test::ScriptedBackend>(
                                2, std::vector<double>{9, 1, 1.001, 1.002, 1.003, 7, 60}),
                            {.warmup = 1, .repeats = 5, .timeout_seconds = 50, .control = false});
  EXPECT_FALSE(executor.measured());
  executor.run(Assignment(1, DeviceId(0)), {});
  ASSERT_TRUE(executor.measured());
  EXPECT_EQ(executor.measured()->repeats, 4U);
  EXPECT_NEAR(executor.measured()->seconds, 1.0015, 1e-9);
  EXPECT_NEAR(executor.measured()->spread_seconds, std::sqrt(5e-6 / 3), 1e-8);
  executor.run(Assignment(1, DeviceId(0)), {});
  EXPECT_FALSE(executor.measured());
}

// Runs: control 1 1 1, the assignment 2, the control again 1 1 1 (its interval is over at once):
// undisturbed. Then the assignment 4, the control 2 2 2: disturbed, so both again: 2, and 1 1 1.
TEST_F(MeasurementTest, IsRepeatedWhereTheControlWasSlow) {
  GraphRunner own = runner({1, 1, 1, 2, 1, 1, 1, 4, 2, 2, 2, 2, 1, 1, 1});
  Measurer measurer(own, {.warmup = 0,
                          .repeats = 1,
                          .control_interval_seconds = 0,
                          .control_repeats = 3,
                          .retries = 1});
  const Measurement first = measurer.measure(Assignment(1, DeviceId(0)), {});
  EXPECT_FALSE(first.disturbed);
  EXPECT_EQ(first.attempts, 1);
  const Measurement second = measurer.measure(Assignment(1, DeviceId(0)), {});
  EXPECT_FALSE(second.disturbed);
  EXPECT_EQ(second.attempts, 2);
  EXPECT_NEAR(second.seconds, 2, 1e-9);
}

// The control's typical time: the median of 3, 1 s. Then 2 s beside a control of 1 s, 4 s beside
// one of 2 s, since somebody else has half of the machine by then, and 2.2 s beside one of 1 s: 2,
// 2 and 2.2 s of a quiet machine. The warm-up, 50 s, and the control's, 9 s, do not count.
TEST_F(MeasurementTest, IsARatioToTheControlWherePaired) {
  GraphRunner own = runner({9, 1, 0.9, 1.1, 50, 1, 2, 2, 4, 1, 2.2});
  Measurer measurer(own, {.warmup = 1, .repeats = 3, .paired = true, .typical_runs = 3});
  const Measurement m = measurer.measure(Assignment(1, DeviceId(0)), {}, true);
  ASSERT_EQ(m.samples.size(), 3U);
  EXPECT_NEAR(m.samples[0], 2, 1e-9);
  EXPECT_NEAR(m.samples[1], 2, 1e-9);
  EXPECT_NEAR(m.samples[2], 2.2, 1e-9);
  EXPECT_NEAR(m.seconds, 2, 1e-9);
  EXPECT_TRUE(m.record.has_value());
}

// The control's typical time is found once: 1 s, and then a pair of 1 and 3 s, and one of 2 and 4
// s.
TEST_F(MeasurementTest, PairsLaterMeasurementsToTheSameTypicalTime) {
  GraphRunner own = runner({1, 1, 3, 2, 4});
  Measurer measurer(own, {.warmup = 0, .repeats = 1, .paired = true, .typical_runs = 1});
  EXPECT_NEAR(measurer.measure(Assignment(1, DeviceId(0)), {}).seconds, 3, 1e-9);
  EXPECT_NEAR(measurer.measure(Assignment(1, DeviceId(0)), {}).seconds, 2, 1e-9);
}

// A control that runs into the time-out, here of 5 s, leaves plain measurements: 7 s, and then 3 s.
TEST_F(MeasurementTest, IsPlainWhereTheControlDoesNotRun) {
  GraphRunner own = runner({7, 3});
  Measurer measurer(
      own, {.warmup = 0, .repeats = 1, .timeout_seconds = 5, .paired = true, .typical_runs = 1});
  EXPECT_NEAR(measurer.measure(Assignment(1, DeviceId(0)), {}).seconds, 3, 1e-9);
}

// As above, but the control stays slow.
TEST_F(MeasurementTest, IsMarkedWhereTheControlStaysSlow) {
  GraphRunner own = runner({1, 1, 1, 4, 2, 2, 2, 4, 2});
  Measurer measurer(own, {.warmup = 0, .repeats = 1, .control_interval_seconds = 0, .retries = 1});
  const Measurement m = measurer.measure(Assignment(1, DeviceId(0)), {});
  EXPECT_TRUE(m.disturbed);
  EXPECT_EQ(m.attempts, 2);
  EXPECT_NEAR(m.control_ratio, 2, 1e-9);
}

TEST(RoundRobin, GoesOverTheDevicesThatAreAllowed) {
  const Graph graph = test::make_unit_graph({{1, 4}, {1, 4}, {1, 4}, {1, 4}, {1, 4}}, {});
  const Topology topology = test::small_machine(3, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  EXPECT_EQ(round_robin_assignment(costs),
            Assignment(std::vector<DeviceId>{DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(0),
                                             DeviceId(1)}));
}

TEST_F(MeasurementTest, ExecutorCostsWhatWasMeasured) {
  MeasuredExecutor executor(costs_, topology_, {},
                            std::make_unique<test::ScriptedBackend>(2, std::vector<double>{3}),
                            {.warmup = 0, .repeats = 3, .control = false});
  EXPECT_EQ(executor.run(Assignment(1, DeviceId(1)), {}), SimTime(3'000'000'000'000));
  EXPECT_TRUE(executor.feasible());
  const Execution record = executor.run_recorded(Assignment(1, DeviceId(1)), {});
  EXPECT_EQ(record.makespan, SimTime(3'000'000'000'000));
  EXPECT_TRUE(record.feasible);
  EXPECT_EQ(record.start.size(), 1U);
}

// 1e11 FLOPs take 1,000 s; the time-out is 1 ms, so the cost 2 ms.
TEST(MeasuredExecutor, GivesATimeOutACost) {
  const Graph graph = test::make_unit_graph({{1e11, 4}}, {});
  const Topology topology = test::small_machine(1, 1e4);
  const CostTable costs = CostTable::physical(graph, topology);
  MeasuredExecutor executor(
      costs, topology, {},
      std::make_unique<EmulatedBackend>(costs, topology, Contention::kSerial, EmulatedOptions()),
      {.timeout_seconds = 0.001, .control = false});
  EXPECT_EQ(executor.run(Assignment(1, DeviceId(0)), {}), SimTime(2'000'000'000));
  EXPECT_FALSE(executor.feasible());
  EXPECT_EQ(executor.last_measurement().status, MeasurementStatus::kTimedOut);
  EXPECT_FALSE(executor.run_recorded(Assignment(1, DeviceId(0)), {}).feasible);
}

// 4,096 bytes where 2,048 fit: an overflow of 1, so 1 + 10 times the simulated makespan.
TEST(MeasuredExecutor, GivesAnAssignmentThatDoesNotFitACost) {
  const Graph graph = test::make_unit_graph({{1, 4096}}, {});
  TopologyParts parts = test::unit_mesh(2);
  parts.devices[0].memory_bytes = 2048;
  const Topology topology(parts);
  const CostTable costs = CostTable::physical(graph, topology);
  MeasuredExecutor executor(
      costs, topology, {},
      std::make_unique<EmulatedBackend>(costs, topology, Contention::kSerial, EmulatedOptions()),
      {.control = false});
  EXPECT_EQ(executor.run(Assignment(1, DeviceId(0)), {}), SimTime(11 * test::kSecond));
  EXPECT_FALSE(executor.feasible());
  EXPECT_EQ(executor.last_measurement().status, MeasurementStatus::kOutOfMemory);
}

}  // namespace
}  // namespace doppler
