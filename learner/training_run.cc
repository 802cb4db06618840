#include "learner/training_run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "common/error.h"
#include "common/log.h"
#include "common/reference_cost.h"
#include "learner/demonstrations.h"
#include "learner/real_candidates.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPollTimeout(2);
constexpr double kBestWriteSeconds = 1.0;
constexpr double kProgressSeconds = 0.5;
constexpr double kRateWindowSeconds = 2.0;
constexpr double kHostsSeconds = 1.0;
constexpr double kLogProbabilityTolerance = 1e-3;  // nats
// A final evaluation that has not come back by then is done without.
constexpr double kFinalEvaluationSeconds = 30.0;
// A run that cannot learn any more should not use its allocation up.
constexpr std::uint64_t kMostSkippedUpdates = 100;

EpisodeCounts after_resume(EpisodeCounts counts) {
  counts.discarded_at_resume += counts.outstanding;
  counts.outstanding = 0;
  return counts;
}

// Where worker and learner have the same weights they must agree, but for rounding (some 1e-5).
// They do not where their programs differ, or memory is broken: whatever would be learned then is
// wrong.
void check_log_probabilities(const UpdateStatistics& statistics, std::uint64_t version) {
  if (statistics.log_probability_error <= kLogProbabilityTolerance) return;
  throw SystemError(fmt::format(
      "self-test: with weight version {} a worker's log-probability differs from the learner's by "
      "{:.3g}, more than {:g}; install the same build on every host",
      version, statistics.log_probability_error, kLogProbabilityTolerance));
}

std::vector<TrainingGraph> training_graphs(const std::vector<RunGraph>& graphs) {
  std::vector<TrainingGraph> result;
  for (const RunGraph& graph : graphs) result.push_back({graph.costs, graph.levels});
  return result;
}

}  // namespace

TrainingRun::TrainingRun(const Config& config, std::string config_yaml, std::uint64_t config_hash,
                         std::vector<RunGraph> graphs, RunFolder& folder,
                         RunSurroundings surroundings, const Checkpoint* resumed,
                         const Checkpoint* initial, double training_seconds)
    : config_(config),
      config_yaml_(std::move(config_yaml)),
      config_hash_(config_hash),
      graphs_(std::move(graphs)),
      folder_(&folder),
      surroundings_(std::move(surroundings)),
      schedule_(config.stages, config.learner, training_seconds),
      book_(config.run.seed, resumed != nullptr ? resumed->next_ticket : 0,
            resumed != nullptr ? resumed->next_episode : 0,
            after_resume(resumed != nullptr ? resumed->counts : EpisodeCounts{})),
      trainer_(config.model, config.learner, config.stages.teacher, training_graphs(graphs_),
               config.run.seed),
      checkpoints_(folder.path(), config.checkpoint.keep),
      best_dirty_(graphs_.size(), false),
      fresh_greedy_(graphs_.size()),
      refinements_(graphs_.size()),
      comparisons_(graphs_.size()) {
  if (resumed == nullptr) {
    if (initial != nullptr) trainer_.adopt(*initial);
    if (const auto first = schedule_.at(1, 0)) stage_ = first->stage;
    versions_[0] = encode(trainer_.snapshot(0, 0));
    make_batches();
    return;
  }
  trainer_.restore(resumed->parameters, resumed->optimizer);
  lineage_ = resumed->lineage + 1;
  update_ = resumed->update;
  stage_ = resumed->stage;
  stage_update_ = resumed->stage_update;
  earlier_seconds_ = resumed->elapsed_seconds;
  stage_started_seconds_ = resumed->elapsed_seconds - resumed->stage_elapsed_seconds;
  for (const WeightVersion& version : resumed->recent_versions) {
    versions_[version.version] = version.bytes;
  }
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    graphs_[g].state.best = resumed->graphs.at(g).best;
    graphs_[g].state.greedy = resumed->graphs.at(g).greedy;
    graphs_[g].state.measured = resumed->graphs.at(g).measured;
  }
  make_batches();
  // In synchronous mode the episodes' numbers say all.
  if (const auto number = segment_number(resumed->archive_segment); number && asynchronous()) {
    resumed_position_ = {*number, resumed->archive_rows};
  }
}

void TrainingRun::make_batches() {
  std::function<std::vector<MeasuringOrder>()> measure;
  const bool measured_already = stage_ == Stage::kReal && stage_update_ > 0;
  if (!measured_already) measure = [this] { return measure_first(); };
  batches_ = make_batch_source({.learner = config_.learner,
                                .teacher = config_.stages.teacher,
                                .epsilon = config_.model.epsilon,
                                .graph_count = static_cast<std::uint32_t>(graphs_.size()),
                                .lineage = lineage_,
                                .update = update_,
                                .oldest_version = versions_.begin()->first,
                                .measure_first = std::move(measure)},
                               schedule_, book_);
}

std::vector<MeasuringOrder> TrainingRun::measure_first() const {
  std::vector<MeasuringOrder> orders;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    for (NamedPlan& placement :
         real_candidates(graphs_[g].state, graphs_[g].baseline_placements,
                         static_cast<std::size_t>(config_.execution.candidates))) {
      orders.push_back({static_cast<std::uint32_t>(g), std::move(placement)});
    }
  }
  return orders;
}

TrainingRun::~TrainingRun() = default;

std::size_t TrainingRun::snapshot_bytes() const {
  return versions_.rbegin()->second.size();
}

std::size_t TrainingRun::version_slots() const {
  // Asynchronous mode needs the newest alone; a reader may still be copying the one before it.
  return asynchronous() ? 3 : kept_versions() + 1;
}

// Those that open tickets may name.
std::size_t TrainingRun::kept_versions() const {
  return asynchronous() ? 1 : static_cast<std::size_t>(config_.learner.pipeline_depth) + 1;
}

double TrainingRun::elapsed_seconds() const {
  return earlier_seconds_ +
         std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

double TrainingRun::stage_elapsed_seconds() const {
  return elapsed_seconds() - stage_started_seconds_;
}

RunOutcome TrainingRun::run(TicketDesk& desk) {
  desk_ = &desk;
  started_ = std::chrono::steady_clock::now();
  last_checkpoint_seconds_ = rate_seconds_ = elapsed_seconds();
  if (config_.archive.enabled) {
    ArchiveHeader header;
    header.run_name = config_.run.name;
    header.lineage = lineage_;
    header.first_episode = book_.resume_episode();
    header.asynchronous = asynchronous();
    header.resumed_segment = resumed_position_.first;
    header.resumed_row = resumed_position_.second;
    header.tick_unit = physical() ? "picoseconds" : "ticks of the graph file";
    for (const RunGraph& graph : graphs_) {
      header.graphs.push_back(
          {graph.state.name, graph.state.content_hash, graph.state.operation_count});
    }
    episode_log_ = std::make_unique<EpisodeLog>(folder_->path(), header, config_.archive);
  }
  for (const auto& [version, bytes] : versions_) surroundings_.publish(version, bytes);
  if (update_ == 0) save_checkpoint();  // whenever the run is killed, there is one to resume from

  RunOutcome outcome = RunOutcome::kDone;
  while (true) {
    batches_->open(update_, elapsed_seconds());
    if (batches_->finished()) break;
    desk.poll(kPollTimeout);
    surroundings_.tend();
    for (const std::string& event : desk.take_events()) log_warning("{}", event);
    auto ready = batches_->take(update_);
    auto stale = batches_->take_stale();  // before a checkpoint that counts them
    if (episode_log_) episode_log_->add_stale(std::move(stale));
    if (ready) train(std::move(*ready));
    if (surroundings_.stop_requested()) {
      outcome = RunOutcome::kStoppedEarly;
      break;
    }
  }
  if (outcome == RunOutcome::kDone) {
    finish(desk);
    refine();
    compare();
  }
  close_files();
  book_.check_identity();
  return outcome;
}

void TrainingRun::close_files() {
  write_best(true);
  save_checkpoint();
  if (checkpoint_failed_) losses_.emplace_back("the last checkpoint could not be written");
  folder_->flush_metrics();
  if (episode_log_ && !episode_log_->close()) {
    losses_.emplace_back("the trajectory archive is not complete");
  }
}

void TrainingRun::publish_current() {
  std::vector<std::byte> bytes = encode(trainer_.snapshot(update_, lineage_));
  surroundings_.publish(update_, bytes);
  versions_[update_] = std::move(bytes);
  while (versions_.size() > kept_versions()) versions_.erase(versions_.begin());
}

void TrainingRun::train(ReadyBatch ready) {
  std::vector<ClosedTicket> closed = std::move(ready.tickets);
  const Stage stage = ready.stage;
  if (stage != stage_) {
    log_info("stage {} ends after {} updates; stage {} begins", stage_name(stage_), stage_update_,
             stage_name(stage));
    stage_ = stage;
    stage_update_ = 0;
    stage_started_seconds_ = elapsed_seconds();
  }
  const StagePoint point = schedule_.within(stage, update_ + 1, elapsed_seconds());

  std::vector<Trajectory> batch;
  std::vector<TrainingGroup> groups;
  for (ClosedTicket& ticket : closed) {
    if (ticket.ticket.purpose != TicketPurpose::kTrain) continue;
    if (ticket.gradient) {
      groups.push_back({batch.size(), ticket.trajectories.size(), std::move(*ticket.gradient)});
      ticket.gradient.reset();
    }
    for (Trajectory& trajectory : ticket.trajectories) batch.push_back(std::move(trajectory));
    ticket.trajectories.clear();
  }
  note_measured(closed);  // before the update, which may imitate the best of them
  UpdateStatistics statistics;
  std::vector<bool> invalid(batch.size(), false);
  if (!batch.empty()) {
    const UpdateSettings settings{.stage = stage,
                                  .learning_rate = point.learning_rate,
                                  .entropy_weight = point.entropy_weight,
                                  .self_imitation_weight = point.self_imitation_weight,
                                  .transfer_weight = point.transfer_weight,
                                  .version = update_};
    if (config_.learner.gradients == GradientSource::kWorkers) {
      statistics = trainer_.update(batch, groups, best_trajectories(), settings, invalid);
      if (stage != Stage::kImitation) {
        statistics.log_probability_error = error_of_a_sample(batch.front());
      }
    } else {
      statistics = trainer_.update(batch, best_trajectories(), settings, invalid);
    }
    note_skipped(statistics.skipped, update_ + 1);
    check_log_probabilities(statistics, update_);
  }
  std::vector<std::uint64_t> lags = lags_of(batch);
  ++update_;
  ++stage_update_;
  publish_current();
  batches_->open(update_, elapsed_seconds());  // workers should not wait for what follows

  for (std::size_t i = 0; i < batch.size(); ++i) {
    book_.count(invalid[i] ? TrajectoryStatus::kDroppedInvalid : TrajectoryStatus::kTrained, 1);
  }
  book_.check_identity();
  note_results(closed);
  std::set<std::uint64_t> improvements;
  const char* found_by = stage == Stage::kImitation ? "teacher" : "policy sample";
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (invalid[i]) continue;
    if (consider(batch[i].graph, batch[i], found_by)) improvements.insert(batch[i].episode);
  }
  report_progress(point, write_metrics(statistics, point, batch, std::move(lags)));
  if (episode_log_) {
    episode_log_->add_batch(std::move(batch), invalid, improvements, elapsed_seconds());
    episode_log_->add_evaluated(std::move(closed));
  }
  write_best(false);
  const auto every = static_cast<std::uint64_t>(config_.checkpoint.every_updates);
  const double period = config_.checkpoint.every_seconds;
  if ((every > 0 && update_ % every == 0) ||
      (period > 0 && elapsed_seconds() - last_checkpoint_seconds_ >= period)) {
    save_checkpoint();
  }
}

std::vector<Trajectory> TrainingRun::best_trajectories() const {
  std::vector<Trajectory> result;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    auto best = demonstration(graphs_[g].state, static_cast<std::uint32_t>(g), stage_);
    if (best) result.push_back(std::move(*best));
  }
  return result;
}

// The self-test where the learner replays nothing: of one trajectory an update, with the version
// that played it.
double TrainingRun::error_of_a_sample(const Trajectory& trajectory) {
  const auto played_with = versions_.find(trajectory.weight_version);
  if (played_with == versions_.end()) return 0;
  const auto snapshot = decode_weight_snapshot(played_with->second);
  if (!snapshot) return 0;
  return trainer_.log_probability_error(trajectory, *snapshot).value_or(0);
}

void TrainingRun::note_skipped(bool skipped, std::uint64_t update) {
  if (!skipped) {
    skipped_in_a_row_ = 0;
    return;
  }
  if (++skipped_in_a_row_ == 1) {
    log_warning("update {}: the gradient was not finite; the weights stay as they were", update);
  }
  if (skipped_in_a_row_ == kMostSkippedUpdates) {
    throw SystemError(fmt::format(
        "no gradient of the last {} updates was finite, so nothing is learned any more; begin anew "
        "with smaller learning rates or another "
        "seed, and with model.initial_checkpoint to keep what was learned until update {}",
        kMostSkippedUpdates, update - kMostSkippedUpdates));
  }
}

std::vector<std::uint64_t> TrainingRun::lags_of(const std::vector<Trajectory>& batch) const {
  std::vector<std::uint64_t> lags;
  for (const Trajectory& trajectory : batch) {
    const std::uint64_t lag = update_ - std::min(update_, trajectory.weight_version);
    if (lags.size() <= lag) lags.resize(lag + 1, 0);
    ++lags[lag];
  }
  return lags;
}

void TrainingRun::note_measured(const std::vector<ClosedTicket>& closed) {
  for (const ClosedTicket& ticket : closed) {
    if (ticket.ticket.purpose != TicketPurpose::kMeasure || ticket.trajectories.empty()) continue;
    consider(ticket.ticket.graph, ticket.trajectories.front(), ticket.ticket.placement->name);
  }
}

void TrainingRun::note_results(const std::vector<ClosedTicket>& closed) {
  std::fill(fresh_greedy_.begin(), fresh_greedy_.end(), std::nullopt);
  for (const ClosedTicket& ticket : closed) {
    if (ticket.ticket.purpose != TicketPurpose::kEvaluate || ticket.trajectories.empty()) continue;
    const Trajectory& trajectory = ticket.trajectories.front();
    if (trajectory.stage != Stage::kReal) {
      graphs_[ticket.ticket.graph].state.greedy = {trajectory.makespan,     trajectory.episode,
                                                   trajectory.seed,         "policy greedy",
                                                   trajectory.assignment(), trajectory.operations};
    }
    fresh_greedy_[ticket.ticket.graph] = trajectory.makespan;
    consider(ticket.ticket.graph, trajectory, "policy greedy");
  }
}

// Simulated and measured times do not compare, so there is a best of each.
BestPlacement& TrainingRun::best_of(std::size_t graph, Stage stage) {
  GraphState& state = graphs_[graph].state;
  return stage == Stage::kReal ? state.measured : state.best;
}

// Whether it is the best of its kind so far.
bool TrainingRun::consider(std::uint32_t graph, const Trajectory& trajectory,
                           const std::string& found_by) {
  BestPlacement& best = best_of(graph, trajectory.stage);
  if (trajectory.makespan >= best.makespan) return false;
  // What ran into the time-out costs twice the time-out: a penalty, not a measurement.
  if (trajectory.stage == Stage::kReal &&
      trajectory.makespan.seconds() >= 2 * config_.execution.timeout_seconds) {
    return false;
  }
  best = {trajectory.makespan,     trajectory.episode,   trajectory.seed, found_by,
          trajectory.assignment(), trajectory.operations};
  best_dirty_[graph] = true;
  best_since_checkpoint_ = true;
  return true;
}

MetricsRow TrainingRun::write_metrics(const UpdateStatistics& statistics, const StagePoint& point,
                                      const std::vector<Trajectory>& batch,
                                      std::vector<std::uint64_t> lags) {
  const double now = elapsed_seconds();
  const std::uint64_t episodes = book_.counts().trained;
  if (now - rate_seconds_ >= kRateWindowSeconds) {
    episodes_per_second_ = static_cast<double>(episodes - rate_episodes_) / (now - rate_seconds_);
    rate_seconds_ = now;
    rate_episodes_ = episodes;
  }
  MetricsRow row;
  row.time_seconds = now;
  row.point = point;
  row.update = update_;
  row.episodes = episodes;
  for (std::uint32_t g = 0; g < graphs_.size(); ++g) {
    GraphMetrics& graph = row.graphs.emplace_back();
    graph.name = graphs_[g].state.name;
    double sum = 0;
    std::size_t count = 0;
    for (const Trajectory& trajectory : batch) {
      if (trajectory.graph != g) continue;
      sum += static_cast<double>(trajectory.makespan.ticks());
      graph.makespan_min =
          count == 0 ? trajectory.makespan : std::min(graph.makespan_min, trajectory.makespan);
      ++count;
    }
    if (count > 0) graph.makespan_mean_ticks = sum / static_cast<double>(count);
    graph.best = graphs_[g].state.best.makespan;
    const BestPlacement& measured = graphs_[g].state.measured;
    if (!measured.assignment.empty()) graph.measured_best = measured.makespan;
    if (point.stage != Stage::kReal) graph.greedy = fresh_greedy_[g];
  }
  row.episodes_per_second = episodes_per_second_;
  row.statistics = statistics;
  row.counts = book_.counts();
  const ProcessCounts processes = surroundings_.counts();
  row.refused_connections = processes.refused_connections;
  row.conflated_versions = processes.conflated_versions;
  row.late_hosts = processes.late_hosts;
  row.restarts = restarts();
  if (now - last_hosts_seconds_ >= kHostsSeconds) {
    last_hosts_seconds_ = now;
    row.hosts = desk_->hosts();
  }
  row.reissued_tickets = book_.reissued();
  row.lags = std::move(lags);
  folder_->append_metrics(metrics_json(row));
  return row;
}

// Of several graphs each in its turn.
void TrainingRun::report_progress(const StagePoint& point, const MetricsRow& row) {
  const double now = elapsed_seconds();
  if (now - last_progress_seconds_ < kProgressSeconds) return;
  last_progress_seconds_ = now;
  folder_->flush_metrics();
  const std::size_t shown = progress_count_++ % graphs_.size();
  const GraphState& state = graphs_[shown].state;
  std::string line =
      fmt::format("{:<10} update {:>6}  {:>6.0f} episodes/s  mean {:.4g}  best {:.6g}",
                  stage_name(point.stage), update_, episodes_per_second_,
                  row.graphs[shown].makespan_mean_ticks * (physical() ? 1e-12 : 1e-10),
                  displayed_cost(point.stage == Stage::kReal
                                     ? row.graphs[shown].measured_best.value_or(SimTime(0))
                                     : row.graphs[shown].best,
                                 physical()));
  if (point.stage != Stage::kReal && !state.greedy.assignment.empty()) {
    line += fmt::format("  greedy {:.6g}", displayed_cost(state.greedy.makespan, physical()));
  }
  if (graphs_.size() > 1) line += "  " + state.name;
  surroundings_.show_progress(schedule_.used_fraction(update_ + 1, now), line);
}

void TrainingRun::write_best(bool force) {
  const double now = elapsed_seconds();
  if (!force && now - last_best_write_seconds_ < kBestWriteSeconds) return;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    if (!best_dirty_[g]) continue;
    const RunGraph& graph = graphs_[g];
    const BestPlacement& best = export_of(g);
    const Execution execution = graph.executor->run_recorded(best.assignment, best.order);
    folder_->write_best_assignment(g, best_assignment_json(graph.costs->graph(), best, execution,
                                                           graph.costs->device_count()));
    best_dirty_[g] = false;
    last_best_write_seconds_ = now;
  }
}

// What the run has to show for: what was measured counts more than what was simulated.
const BestPlacement& TrainingRun::export_of(std::size_t graph) const {
  const GraphState& state = graphs_[graph].state;
  if (comparisons_[graph] && comparisons_[graph]->best_learned) {
    return comparisons_[graph]->placements[*comparisons_[graph]->best_learned].placement;
  }
  if (!state.measured.assignment.empty()) return state.measured;
  return refinements_[graph] ? refinements_[graph]->placement : state.best;
}

void TrainingRun::compare() {
  if (!surroundings_.compare) return;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    const GraphState& state = graphs_[g].state;
    std::vector<LearnedPlacement> learned;
    const auto add = [&](const std::string& name, const BestPlacement& placement) {
      if (!placement.assignment.empty()) learned.push_back({name, placement});
    };
    const bool learned_it = state.measured.found_by.starts_with("policy");
    const std::string stage_three =
        learned_it ? "stage III, best"
                   : fmt::format("stage III, best ({})", state.measured.found_by);
    add(stage_three, state.measured);
    add("policy, best in simulation", state.best);
    add("policy, greedy", state.greedy);
    if (refinements_[g]) add("refined in simulation", refinements_[g]->placement);
    if (learned.empty()) continue;
    comparisons_[g] = surroundings_.compare(g, learned);
    best_dirty_[g] = true;
  }
}

void TrainingRun::refine() {
  if (!surroundings_.refine) return;
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    const GraphState& state = graphs_[g].state;
    std::vector<BestPlacement> starts;
    if (!state.best.assignment.empty()) starts.push_back(state.best);
    if (!state.greedy.assignment.empty()) starts.push_back(state.greedy);
    if (starts.empty()) continue;
    refinements_[g] = surroundings_.refine(g, starts);
    best_dirty_[g] = true;
  }
}

Checkpoint TrainingRun::make_checkpoint() const {
  Checkpoint checkpoint;
  checkpoint.config_yaml = config_yaml_;
  checkpoint.config_hash = config_hash_;
  checkpoint.lineage = lineage_;
  checkpoint.stage = stage_;
  checkpoint.stage_update = stage_update_;
  checkpoint.update = update_;
  checkpoint.next_episode = book_.resume_episode();
  checkpoint.next_ticket = book_.resume_ticket();
  checkpoint.elapsed_seconds = elapsed_seconds();
  checkpoint.stage_elapsed_seconds = stage_elapsed_seconds();
  checkpoint.counts = book_.counts();
  checkpoint.learning_rate = schedule_.within(stage_, update_, elapsed_seconds()).learning_rate;
  checkpoint.parameters = trainer_.parameters();
  checkpoint.optimizer = trainer_.optimizer_state();
  for (const auto& [version, bytes] : versions_) {
    checkpoint.recent_versions.push_back({version, bytes});
  }
  for (const RunGraph& graph : graphs_) checkpoint.graphs.push_back(graph.state);
  if (episode_log_) {
    const ArchivePosition position = episode_log_->position();
    checkpoint.archive_segment = position.segment;
    checkpoint.archive_rows = position.rows;
  }
  return checkpoint;
}

void TrainingRun::save_checkpoint() {
  // Every episode that the checkpoint counts as trained is in the log before the checkpoint is: a
  // resumed run does not play it again.
  if (episode_log_) episode_log_->flush();
  folder_->flush_metrics();
  try {
    checkpoints_.save(make_checkpoint(), best_since_checkpoint_);
    best_since_checkpoint_ = false;
    checkpoint_failed_ = false;
  } catch (const SystemError& error) {
    checkpoint_failed_ = true;
    log_error(
        "checkpoint after update {} could not be written: {}; training goes on, the last one stays",
        update_, error.what());
  }
  last_checkpoint_seconds_ = elapsed_seconds();
}

void TrainingRun::finish(TicketDesk& desk) {
  BatchOrder order;
  order.batch = batches_->free_batch_number();
  order.stage = stage_;
  order.weight_version = update_;
  order.lineage = lineage_;
  order.graph_count = static_cast<std::uint32_t>(graphs_.size());
  order.group_episodes = 1;
  order.evaluate = true;
  book_.open(order);
  const double deadline = elapsed_seconds() + kFinalEvaluationSeconds;
  while (!book_.complete(order.batch)) {
    desk.poll(kPollTimeout);
    surroundings_.tend();
    if (elapsed_seconds() > deadline) {
      log_warning(
          "the final evaluation did not come back; the newest greedy result is an earlier one");
      return;
    }
  }
  std::vector<ClosedTicket> closed = book_.close(order.batch);
  note_results(closed);
  if (episode_log_) episode_log_->add_evaluated(std::move(closed));
}

// This node's are known at once; those of other hosts when the restarted worker says hello.
std::uint64_t TrainingRun::restarts() const {
  std::uint64_t count = surroundings_.counts().restarts;
  if (desk_ == nullptr) return count;
  for (const HostActivity& host : desk_->hosts()) {
    if (host.host != 0) count += host.restarts;
  }
  return count;
}

RunSummary TrainingRun::summary() const {
  RunSummary summary;
  summary.run_dir = folder_->path();
  summary.physical = physical();
  for (const RunGraph& graph : graphs_) summary.graphs.push_back(graph.state);
  summary.refinements = refinements_;
  summary.comparisons = comparisons_;
  summary.episodes = book_.counts().trained;
  summary.updates = update_;
  summary.training_seconds = elapsed_seconds();
  summary.restarts = restarts();
  summary.counts = book_.counts();
  return summary;
}

}  // namespace doppler
