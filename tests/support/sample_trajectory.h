// Trajectories that follow from their episode number, so that whoever reads one can tell whether it
// is whole.
#ifndef DOPPLER_TESTS_SUPPORT_SAMPLE_TRAJECTORY_H_
#define DOPPLER_TESTS_SUPPORT_SAMPLE_TRAJECTORY_H_

#include <cstdint>

#include "common/trajectory.h"
#include "learner/archive_format.h"

namespace doppler::test {

inline constexpr std::int32_t kSampleOperations = 229;

inline ArchiveHeader sample_header(std::uint32_t lineage = 0, std::uint64_t first_episode = 0) {
  return {.run_name = "sample run",
          .lineage = lineage,
          .first_episode = first_episode,
          .graphs = {{"chain", 0x8123456789abcdefULL, kSampleOperations}, {"ffnn", 17, 3}},
          .tick_unit = "picoseconds"};
}

inline Trajectory sample_trajectory(std::uint64_t episode, std::uint32_t lineage = 0) {
  Trajectory trajectory;
  trajectory.episode = episode;
  trajectory.graph = 0;
  trajectory.stage = episode % 2 == 0 ? Stage::kSimulation : Stage::kReal;
  trajectory.ticket = episode / 8;
  trajectory.attempt = static_cast<std::uint32_t>(episode % 3);
  trajectory.lineage = lineage;
  trajectory.weight_version = episode / 64;
  trajectory.worker = static_cast<std::uint32_t>(episode % 5);
  trajectory.seed = episode * 0x9e3779b97f4a7c15ULL;
  trajectory.makespan = SimTime(static_cast<std::int64_t>(1000000 + episode % 1000));
  trajectory.measured_seconds = static_cast<double>(episode) * 0.5;
  trajectory.repeats = static_cast<std::uint32_t>(episode % 7);
  trajectory.spread_seconds = static_cast<double>(episode) * 0.25;
  for (std::int32_t i = 0; i < kSampleOperations; ++i) {
    const auto shift = static_cast<std::int32_t>(episode % kSampleOperations);
    trajectory.operations.push_back(OperationId((i + shift) % kSampleOperations));
    trajectory.devices.push_back(DeviceId((i + shift) % 4));
    trajectory.select_log_probabilities.push_back(-0.01F * static_cast<float>(i));
    trajectory.place_log_probabilities.push_back(-0.02F * static_cast<float>(i + shift));
  }
  return trajectory;
}

inline TrajectoryStatus sample_status(std::uint64_t episode) {
  return static_cast<TrajectoryStatus>(episode % 10 < 6 ? 0 : episode % 10 - 6);
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_SAMPLE_TRAJECTORY_H_
