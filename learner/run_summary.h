// What a run tells people and scripts: its rows of metrics, its best assignment, its closing
// summary. JSON texts and the table of the terminal (docs/formats.md); nothing here computes
// anything.
#ifndef DOPPLER_LEARNER_RUN_SUMMARY_H_
#define DOPPLER_LEARNER_RUN_SUMMARY_H_

#include <optional>
#include <string>
#include <vector>

#include "common/executor.h"
#include "common/graph.h"
#include "learner/checkpoint.h"
#include "learner/measured_comparison.h"
#include "learner/refinement.h"
#include "learner/schedule.h"
#include "learner/ticket_desk.h"
#include "learner/update_statistics.h"

namespace doppler {

struct GraphMetrics {
  std::string name;
  double makespan_mean_ticks = 0;  // over its trajectories in the batch; 0 without any
  SimTime makespan_min;
  SimTime best;                          // so far, in simulation
  std::optional<SimTime> measured_best;  // so far, in the real stage
  std::optional<SimTime> greedy;         // where this batch evaluated the policy
};

// A host that held up broadcasts of the weights, for how long in all, in this life of the run.
struct LateHostRow {
  std::uint32_t host = 0;
  double seconds = 0;
};

struct MetricsRow {
  double time_seconds = 0;
  StagePoint point;
  std::uint64_t update = 0;
  std::uint64_t episodes = 0;        // trained, in all
  std::vector<GraphMetrics> graphs;  // [graphs]
  double episodes_per_second = 0;
  UpdateStatistics statistics;
  EpisodeCounts counts;
  std::uint64_t restarts = 0;
  std::uint64_t reissued_tickets = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t conflated_versions = 0;
  std::vector<LateHostRow> late_hosts;
  std::vector<HostActivity> hosts;  // now and then
  std::vector<std::uint64_t> lags;  // trained trajectories by versions that they lay behind, from 0
};
std::string metrics_json(const MetricsRow& row);

// The graph's unit of cost says what a tick is.
std::string best_assignment_json(const Graph& graph, const BestPlacement& best,
                                 const Execution& execution, int device_count);

struct RunSummary {
  std::string run_dir;
  bool physical = false;  // ticks are picoseconds
  std::string outcome;    // "done" or "stopped early"
  std::vector<GraphState> graphs;
  std::vector<std::optional<Refinement>> refinements;          // [graphs]
  std::vector<std::optional<MeasuredComparison>> comparisons;  // [graphs], after a real stage
  std::uint64_t episodes = 0;
  std::uint64_t updates = 0;
  double training_seconds = 0;
  double wall_seconds = 0;  // of this process
  std::uint64_t restarts = 0;
  EpisodeCounts counts;
};
std::string summary_json(const RunSummary& summary);
// Whether a summary of a run tells that it came to its end with that many updates.
bool tells_of_the_end(const std::string& summary_json, std::uint64_t update);
// The comparison that stands at the end of a run; seconds, or costs as the reference prints them.
std::string summary_table(const RunSummary& summary);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_SUMMARY_H_
