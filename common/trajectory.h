// Trajectory: the decisions of one episode and what came of them. It carries decisions, not
// features: whoever has the graph and the weights can replay it (common/episode.h), and a build
// that replays it differently is found at once.
#ifndef DOPPLER_COMMON_TRAJECTORY_H_
#define DOPPLER_COMMON_TRAJECTORY_H_

#include <cstdint>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "common/sim_time.h"
#include "common/stage.h"

namespace doppler {

// How a ticket's episode ended in the learner's books.
enum class TrajectoryStatus : std::uint8_t {
  kTrained = 0,
  kDroppedStale = 1,    // played with weights older than allowed
  kDroppedInvalid = 2,  // did not replay, or broke the format
  kDroppedLineage = 3,  // belongs to a run before a resume
  kFailed = 4,          // killed its workers
  kEvaluated = 5,       // played to judge the policy, never to train it
};

struct Trajectory {
  std::uint64_t episode = 0;  // unique in a run; with the run's seed it determines `seed`
  std::uint32_t graph = 0;    // position in the run's list of graphs
  Stage stage = Stage::kSimulation;
  std::uint64_t ticket = 0;
  std::uint32_t attempt = 0;         // of the ticket: 0 unless a worker died with it
  std::uint32_t lineage = 0;         // how often the run had been resumed
  std::uint64_t weight_version = 0;  // that played it
  std::uint32_t worker = 0;
  std::uint64_t seed = 0;
  SimTime makespan;
  // Of an executor that measures, unless it failed (MeasuredTime); else 0.
  double measured_seconds = 0;
  std::uint32_t repeats = 0;
  double spread_seconds = 0;

  // One entry a step, m = operation count entries in all, in the order of the decisions.
  std::vector<OperationId> operations;          // SEL's choices
  std::vector<DeviceId> devices;                // PLC's choices
  std::vector<float> select_log_probabilities;  // of the behaviour policy
  std::vector<float> place_log_probabilities;

  Assignment assignment() const {
    Assignment result(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) result[operations[i]] = devices[i];
    return result;
  }
  bool operator==(const Trajectory&) const = default;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_TRAJECTORY_H_
