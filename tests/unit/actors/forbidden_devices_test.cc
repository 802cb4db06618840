// Devices that an operation may not run on: neither policies nor replays use them.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "actors/heuristic_policy.h"
#include "actors/learned_policy.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "sim/reference_simulator.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 8};

// Operation 0 pinned to device 2, operation 1 kept off device 0.
Graph restricted() {
  GraphBuilder builder("restricted", CostUnit::kDurations);
  for (int i = 0; i < 3; ++i) {
    Operation operation;
    operation.compute_time = SimTime(5);
    operation.transfer_time = SimTime(1);
    if (i == 0) operation.pinned_device = DeviceId(2);
    if (i == 1) operation.forbidden_devices = {DeviceId(0)};
    builder.add_operation(operation);
  }
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = {}});
  builder.add_edge({.source = OperationId(1), .destination = OperationId(2), .bytes = {}});
  return builder.build();
}

TEST(ForbiddenDevices, NoPolicyUsesAForbiddenDevice) {
  const Graph graph = restricted();
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 6);
  const SelectHead head(snapshot.tables[0].select_scores);
  ReferenceSimulator simulator(costs);
  Episode episode(costs);
  Assignment assignment;
  Trajectory trajectory;
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kLearned, PlacePolicy::kLearned);
  std::set<int> devices_of_1;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LearnedNodePolicy nodes(head, {});
    LearnedDevicePolicy learned(kShape, snapshot.tables[0], snapshot.weights, 3,
                                {.greedy = seed % 3 == 0, .epsilon = seed % 2 == 0 ? 0.5 : 0.0});
    EarliestStartDevicePolicy earliest;
    RandomDevicePolicy chance;
    for (DevicePolicy* policy :
         {static_cast<DevicePolicy*>(&learned), static_cast<DevicePolicy*>(&earliest),
          static_cast<DevicePolicy*>(&chance)}) {
      play_episode(seed, episode, nodes, *policy, simulator, assignment, trajectory);
      EXPECT_EQ(assignment[OperationId(0)], DeviceId(2));
      EXPECT_NE(assignment[OperationId(1)], DeviceId(0));
      devices_of_1.insert(assignment[OperationId(1)].value());
      // Replaying gives finite gradients, and none for what cannot be chosen.
      HeadGradients gradients;
      gradients.reset(kShape, 3);
      ASSERT_TRUE(gradient.add(trajectory, snapshot.tables[0], snapshot.weights, head,
                               {.advantage = 1, .entropy_weight = 0.1F}, gradients));
      for (float value : gradients.tables.place_rows) EXPECT_TRUE(std::isfinite(value));
    }
  }
  EXPECT_EQ(devices_of_1, (std::set<int>{1, 2}));
}

TEST(ForbiddenDevices, ATrajectoryOnAForbiddenDeviceDoesNotReplay) {
  const Graph graph = restricted();
  const CostTable costs = CostTable::reference(graph, 3);
  const Levels levels = compute_levels(costs);
  const WeightSnapshot snapshot = test::random_snapshot(3, kShape, 6);
  Trajectory trajectory = test::sample_episode(costs, snapshot, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    if (trajectory.operations[i] == OperationId(0)) trajectory.devices[i] = DeviceId(1);
  }
  HeadGradient gradient(kShape, costs, levels, SelectPolicy::kLearned, PlacePolicy::kLearned);
  HeadGradients gradients;
  gradients.reset(kShape, 3);
  const SelectHead head(snapshot.tables[0].select_scores);
  EXPECT_FALSE(gradient.add(trajectory, snapshot.tables[0], snapshot.weights, head,
                            {.advantage = 1}, gradients));
}

}  // namespace
}  // namespace doppler
