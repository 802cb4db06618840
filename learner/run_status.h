// RunStatus: how a run is doing, read from its folder by somebody who is not the run. Works while
// the run writes, after it was killed, and on another node that sees the folder. Nothing is changed
// there.
#ifndef DOPPLER_LEARNER_RUN_STATUS_H_
#define DOPPLER_LEARNER_RUN_STATUS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace doppler {

enum class RunState {
  kStarting,  // a learner is there, and has made no update yet
  kRunning,
  kFinishing,    // the budget is used; the last evaluation or the refinement goes on
  kStalled,      // a learner is there, and no update has come for long
  kStopped,      // on request, resumable
  kInterrupted,  // killed, resumable
  kDone,
};
const char* state_name(RunState state);
// Whether a learner is at work, or should be.
bool is_live(RunState state);

struct BaselineStatus {
  std::string name;
  std::int64_t ticks = 0;
};

struct GraphStatus {
  std::string name;
  std::optional<std::int64_t> best_ticks;  // makespans
  std::optional<std::int64_t> greedy_ticks;
  std::optional<std::int64_t> measured_best_ticks;  // of a real stage, on the machine
  std::optional<std::int64_t> refined_ticks;
  std::optional<std::int64_t> lower_bound_ticks;
  std::vector<BaselineStatus> baselines;  // the best first
};

struct HostStatus {
  std::uint64_t host = 0;
  std::string machine;
  std::uint64_t workers = 0;   // that take tickets
  std::uint64_t episodes = 0;  // that came from it, since its learner began
  std::uint64_t restarts = 0;
  std::optional<double> episodes_per_second;  // lately
  bool slow = false;  // a worker of it plays less than half as many as one of the median host
};

struct CheckpointStatus {
  std::string path;
  std::uint64_t update = 0;
  double age_seconds = 0;
};

struct RunStatus {
  std::string run_dir;
  RunState state = RunState::kStarting;
  std::optional<bool> learner_alive;  // none: the file system has no locks to tell
  bool physical = false;              // ticks are picoseconds
  std::string stage;                  // "": no update yet
  double stage_used_fraction = 0;
  std::uint64_t update = 0;
  std::uint64_t episodes = 0;
  double training_seconds = 0;  // over all lineages
  double episodes_per_second = 0;
  std::optional<double> seconds_left;  // of training and refinement, estimated
  std::uint64_t worker_restarts = 0;
  std::uint64_t reissued_tickets = 0;
  // Trained lately (over the rows that the pace is taken from), by how many versions their weights
  // lay behind, from 0.
  std::vector<std::uint64_t> recent_lags;
  std::optional<double> effective_sample_fraction;  // of the newest update
  std::uint64_t resumes = 0;                        // up to the newest checkpoint
  std::map<std::string, std::uint64_t> counts;      // fates of episodes
  std::optional<double> metrics_age_seconds;        // since the newest row was written
  std::optional<CheckpointStatus> checkpoint;       // the newest that is whole
  std::uint64_t refused_connections = 0;            // strangers, since this learner began
  std::uint64_t conflated_versions = 0;
  std::map<std::uint64_t, double> late_hosts;  // seconds for which a host held up broadcasts
  std::vector<HostStatus> hosts;
  std::vector<GraphStatus> graphs;
  std::vector<std::string> problems;  // what could not be read, and why
};

struct StatusOptions {
  // No new metrics for so long, although a learner is there: stalled. More than a ticket's lease,
  // after which a silent worker's tickets are issued again.
  double stalled_after_seconds = 120;
};

// Throws ConfigError when `run_dir` is no run folder. Damaged files are told in `problems`.
RunStatus read_run_status(const std::string& run_dir, const StatusOptions& options);

nlohmann::ordered_json status_json(const RunStatus& status);
// For people.
std::string status_text(const RunStatus& status);
// Prometheus' text format, for the textfile collector of its node exporter.
std::string status_prometheus(const RunStatus& status);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_STATUS_H_
