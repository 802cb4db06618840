#include "actors/rollout.h"

namespace doppler {

void play_episode(std::uint64_t seed, Episode& episode, NodePolicy& node_policy,
                  DevicePolicy& device_policy, Executor& executor, Assignment& assignment,
                  Trajectory& trajectory) {
  RandomStream random(seed);
  trajectory.seed = seed;
  trajectory.operations.clear();
  trajectory.devices.clear();
  trajectory.select_log_probabilities.clear();
  trajectory.place_log_probabilities.clear();
  episode.reset();
  node_policy.begin_episode();
  device_policy.begin_episode();
  while (!episode.done()) {
    const OperationChoice operation = node_policy.select(episode, random);
    episode.select(operation.operation);
    const DeviceChoice device = device_policy.choose(episode, random);
    episode.place(device.device);
    device_policy.placed(operation.operation, device.device);
    trajectory.operations.push_back(operation.operation);
    trajectory.devices.push_back(device.device);
    trajectory.select_log_probabilities.push_back(operation.log_probability);
    trajectory.place_log_probabilities.push_back(device.log_probability);
  }
  assignment.assign(trajectory.operations.size(), DeviceId(0));
  for (std::size_t i = 0; i < trajectory.operations.size(); ++i) {
    assignment[trajectory.operations[i]] = trajectory.devices[i];
  }
  trajectory.makespan = executor.run(assignment, trajectory.operations);
  const MeasuredTime measured = executor.measured().value_or(MeasuredTime{});
  trajectory.measured_seconds = measured.seconds;
  trajectory.repeats = measured.repeats;
  trajectory.spread_seconds = measured.spread_seconds;
}

}  // namespace doppler
