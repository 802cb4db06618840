// TrainingRun: the learner's loop. Opens batches, hands out tickets, trains on each batch when it
// is there (batch_source.h), publishes the new weights, and keeps the run's files. In synchronous
// mode the weights after k updates are a function of the configuration alone.
//
// One thread. It owns no process and no socket; whoever joins the parts (train_main.cc) hands them
// in.
#ifndef DOPPLER_LEARNER_TRAINING_RUN_H_
#define DOPPLER_LEARNER_TRAINING_RUN_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/executor.h"
#include "common/weight_snapshot.h"
#include "learner/batch_source.h"
#include "learner/checkpoint_store.h"
#include "learner/episode_log.h"
#include "learner/measured_comparison.h"
#include "learner/refinement.h"
#include "learner/run_folder.h"
#include "learner/run_summary.h"
#include "learner/schedule.h"
#include "learner/ticket_book.h"
#include "learner/ticket_desk.h"
#include "learner/trainer.h"

namespace doppler {

// A graph of the run with everything that was found out about it before training.
struct RunGraph {
  const CostTable* costs = nullptr;
  const Levels* levels = nullptr;
  Executor* executor = nullptr;  // for the record of the best assignment
  GraphState state;  // name, hash, baselines, bound; best and greedy are filled in by the run
  // For a real stage to measure (real_candidates.h).
  std::vector<BestPlacement> baseline_placements = {};
};

// What became of processes and connections so far, in this life of the run.
struct ProcessCounts {
  std::uint64_t restarts = 0;  // of this node's workers
  std::uint64_t refused_connections = 0;
  std::uint64_t conflated_versions = 0;  // that some host was not sent
  std::vector<LateHostRow> late_hosts;   // that held up broadcasts of the weights
};

// What the run needs from the processes around it. Each is called often and must not block.
struct RunSurroundings {
  // A new weight version is ready: to this node's shared memory and to every host.
  std::function<void(std::uint64_t version, std::span<const std::byte> bytes)> publish;
  // Moves sends on, restarts dead workers.
  std::function<void()> tend;
  std::function<ProcessCounts()> counts;
  // Somebody asked the run to stop (a signal).
  std::function<bool()> stop_requested;
  // Local search from placements of a graph, after the last stage; null: none.
  std::function<std::optional<Refinement>(std::size_t graph,
                                          const std::vector<BestPlacement>& starts)>
      refine;
  // What the learned placements of a graph take in reality beside the baselines, after a real
  // stage; null: no comparison.
  std::function<std::optional<MeasuredComparison>(std::size_t graph,
                                                  const std::vector<LearnedPlacement>& learned)>
      compare;
  // Progress for people: 0..1 and a line.
  std::function<void(double fraction, const std::string& line)> show_progress;
};

enum class RunOutcome { kDone, kStoppedEarly };

class TrainingRun {
 public:
  // training_seconds: how long training may take from now, for budgets in seconds; 0 otherwise.
  // `resumed`: where to go on; `initial`: whose weights a new run begins with (both may be null).
  // Everything handed in must outlive the run. Throws FormatError when
  // the checkpoint does not fit.
  TrainingRun(const Config& config, std::string config_yaml, std::uint64_t config_hash,
              std::vector<RunGraph> graphs, RunFolder& folder, RunSurroundings surroundings,
              const Checkpoint* resumed, const Checkpoint* initial, double training_seconds);
  ~TrainingRun();

  // Encoded size of every weight version of this run, and how many must be kept at hand.
  std::size_t snapshot_bytes() const;
  std::size_t version_slots() const;
  // What workers are told.
  TicketBook& book() { return book_; }

  RunOutcome run(TicketDesk& desk);
  RunSummary summary() const;
  // What of the run's results did not reach the disk at its end, a sentence each; empty: all did.
  const std::vector<std::string>& losses() const { return losses_; }

 private:
  void make_batches();
  std::size_t kept_versions() const;
  void publish_current();
  void train(ReadyBatch ready);
  std::vector<Trajectory> best_trajectories() const;
  double error_of_a_sample(const Trajectory& trajectory);
  void note_skipped(bool skipped, std::uint64_t update);
  std::vector<std::uint64_t> lags_of(const std::vector<Trajectory>& batch) const;
  std::vector<MeasuringOrder> measure_first() const;
  void note_measured(const std::vector<ClosedTicket>& closed);
  void note_results(const std::vector<ClosedTicket>& closed);
  bool consider(std::uint32_t graph, const Trajectory& trajectory, const std::string& found_by);
  MetricsRow write_metrics(const UpdateStatistics& statistics, const StagePoint& point,
                           const std::vector<Trajectory>& batch, std::vector<std::uint64_t> lags);
  void write_best(bool force);
  void refine();
  void compare();
  BestPlacement& best_of(std::size_t graph, Stage stage);
  const BestPlacement& export_of(std::size_t graph) const;
  void save_checkpoint();
  void close_files();
  void finish(TicketDesk& desk);
  Checkpoint make_checkpoint() const;
  std::uint64_t restarts() const;
  bool asynchronous() const { return config_.learner.mode == TrainingMode::kAsynchronous; }
  bool physical() const { return config_.simulation.mode == SimulationMode::kPhysical; }
  double elapsed_seconds() const;
  double stage_elapsed_seconds() const;
  void report_progress(const StagePoint& point, const MetricsRow& row);

  Config config_;
  std::string config_yaml_;
  std::uint64_t config_hash_;
  std::vector<RunGraph> graphs_;
  RunFolder* folder_;
  RunSurroundings surroundings_;
  Schedule schedule_;
  TicketBook book_;
  std::unique_ptr<BatchSource> batches_;
  Trainer trainer_;
  CheckpointStore checkpoints_;
  std::unique_ptr<EpisodeLog> episode_log_;  // none: the archive is off

  std::uint32_t lineage_ = 0;
  std::pair<std::uint64_t, std::uint64_t> resumed_position_;  // in the log: segment, row
  std::uint64_t update_ = 0;                                  // done; the newest weight version
  Stage stage_ = Stage::kImitation;
  std::uint64_t skipped_in_a_row_ = 0;
  std::uint64_t stage_update_ = 0;
  std::map<std::uint64_t, std::vector<std::byte>> versions_;  // that open batches may name

  std::chrono::steady_clock::time_point started_;
  double earlier_seconds_ = 0;        // of training, in earlier lives of the run
  double stage_started_seconds_ = 0;  // in training time
  double last_checkpoint_seconds_ = 0;
  double last_best_write_seconds_ = -1e9;
  double last_progress_seconds_ = -1e9;
  std::size_t progress_count_ = 0;
  double rate_seconds_ = 0;  // start of the window in which the rate is measured
  std::uint64_t rate_episodes_ = 0;
  double episodes_per_second_ = 0;
  std::vector<bool> best_dirty_;                                // [graphs]
  std::vector<std::optional<SimTime>> fresh_greedy_;            // [graphs], of the newest batch
  std::vector<std::optional<Refinement>> refinements_;          // [graphs]
  std::vector<std::optional<MeasuredComparison>> comparisons_;  // [graphs]
  bool best_since_checkpoint_ = false;
  bool checkpoint_failed_ = false;  // the newest attempt
  std::vector<std::string> losses_;
  const TicketDesk* desk_ = nullptr;  // while the run goes on
  double last_hosts_seconds_ = -1e9;  // when they were last told of in the metrics
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAINING_RUN_H_
