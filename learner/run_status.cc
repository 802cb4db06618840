#include "learner/run_status.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "common/config_io.h"
#include "common/error.h"
#include "common/stage.h"
#include "common/text_file.h"
#include "learner/checkpoint_store.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// So much of the end of metrics.jsonl is read: hundreds of rows.
constexpr std::streamoff kTailBytes = 1 << 20;
// Of the newest rows, the pace is taken over so much training time, or what there is.
constexpr double kPaceSeconds = 30;

double age_seconds(const std::string& path, std::error_code& error) {
  const auto written = fs::last_write_time(path, error);
  if (error) return 0;
  const auto age = fs::file_time_type::clock::now() - written;
  // The clock of a file server may be ahead.
  return std::max(0.0, std::chrono::duration<double>(age).count());
}

// Whether a learner holds the folder's lock. Asking takes a shared lock for a moment, which
// RunFolder waits out.
std::optional<bool> is_locked(const std::string& run_dir) {
  const int descriptor = open((run_dir + "/.lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const int result = flock(descriptor, LOCK_SH | LOCK_NB);
  const int error = errno;
  close(descriptor);
  if (result == 0) return false;
  if (error == EWOULDBLOCK) return true;
  return std::nullopt;
}

// The rows at the end of the file, oldest first; a half-written one is left out.
std::vector<Json> newest_rows(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<Json> rows;
  if (!in) return rows;
  const std::streamoff size = in.tellg();
  const std::streamoff begin = std::max<std::streamoff>(0, size - kTailBytes);
  in.seekg(begin);
  std::string line;
  if (begin > 0) std::getline(in, line);
  while (std::getline(in, line)) {
    Json row = Json::parse(line, nullptr, false);
    if (row.is_object() && row.contains("update")) rows.push_back(std::move(row));
  }
  return rows;
}

// A key of another type counts as missing: the file may be of another version.
double number(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::uint64_t count(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> ticks(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<std::int64_t> placement_ticks(const BestPlacement& placement) {
  if (placement.assignment.empty()) return std::nullopt;
  return placement.makespan.ticks();
}

void take_checkpoint(RunStatus& status) {
  const CheckpointStore store(status.run_dir, 1);
  NewestCheckpoint newest = store.load_newest_valid();
  for (std::string& warning : newest.warnings) status.problems.push_back(std::move(warning));
  if (!newest.loaded) return;
  const Checkpoint& checkpoint = newest.loaded->checkpoint;
  std::error_code error;
  const double age = age_seconds(newest.loaded->path, error);
  if (error) return;  // the learner has just made room: it is no longer the newest
  status.checkpoint = CheckpointStatus{newest.loaded->path, checkpoint.update, age};
  status.resumes = checkpoint.lineage;
  status.update = checkpoint.update;
  status.episodes = checkpoint.counts.trained;
  status.training_seconds = checkpoint.elapsed_seconds;
  for (const GraphState& state : checkpoint.graphs) {
    GraphStatus graph;
    graph.name = state.name;
    graph.best_ticks = placement_ticks(state.best);
    graph.greedy_ticks = placement_ticks(state.greedy);
    graph.measured_best_ticks = placement_ticks(state.measured);
    graph.lower_bound_ticks = state.lower_bound.ticks();
    for (const NamedTime& baseline : state.baselines) {
      graph.baselines.push_back({baseline.name, baseline.time.ticks()});
    }
    std::stable_sort(graph.baselines.begin(), graph.baselines.end(),
                     [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
    status.graphs.push_back(std::move(graph));
  }
}

// Of graph `g`, or of the row itself where there is only one.
void take_graph(const Json& row, GraphStatus& graph) {
  if (const auto best = ticks(row, "best_ticks")) graph.best_ticks = best;
  if (const auto greedy = ticks(row, "greedy_ticks")) graph.greedy_ticks = greedy;
  if (const auto best = ticks(row, "measured_best_ticks")) graph.measured_best_ticks = best;
}

// The oldest of the newest rows from which the pace is taken; null: there are not two of them.
const Json* pace_begin(const std::vector<Json>& rows) {
  for (const Json& row : rows) {
    const double seconds = number(rows.back(), "time_seconds") - number(row, "time_seconds");
    if (seconds > kPaceSeconds || text(row, "stage") != text(rows.back(), "stage")) continue;
    return seconds > 0 ? &row : nullptr;
  }
  return nullptr;
}

double progress(const std::vector<Json>& rows, const Json& begin, const char* key) {
  return number(rows.back(), key) - number(begin, key);
}

std::map<std::uint64_t, HostStatus> hosts_of(const Json& row) {
  std::map<std::uint64_t, HostStatus> hosts;
  const auto listed = row.find("hosts");
  if (listed == row.end() || !listed->is_array()) return hosts;
  for (const Json& item : *listed) {
    if (!item.is_object()) continue;
    HostStatus& host = hosts[count(item, "host")];
    host.host = count(item, "host");
    host.machine = text(item, "machine");
    host.workers = count(item, "workers");
    host.episodes = count(item, "episodes");
    host.restarts = count(item, "restarts");
  }
  return hosts;
}

void mark_slow_hosts(std::vector<HostStatus>& hosts) {
  std::vector<double> rates;  // of a worker
  for (const HostStatus& host : hosts) {
    if (host.workers == 0 || !host.episodes_per_second) continue;
    rates.push_back(*host.episodes_per_second / static_cast<double>(host.workers));
  }
  if (rates.size() < 2) return;
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                   rates.end());
  const double median = rates[rates.size() / 2];
  for (HostStatus& host : hosts) {
    host.slow = host.workers > 0 && host.episodes_per_second &&
                *host.episodes_per_second / static_cast<double>(host.workers) < median / 2;
  }
}

// The newest list of them; their rates since the oldest one of this learner within the pace's span.
void take_hosts(const std::vector<Json>& rows, RunStatus& status) {
  const Json* newest = nullptr;
  const Json* oldest = nullptr;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (!row->contains("hosts")) continue;
    if (newest == nullptr) newest = &*row;
    const double age = number(*newest, "time_seconds") - number(*row, "time_seconds");
    if (age > kPaceSeconds) break;
    oldest = &*row;
  }
  if (newest == nullptr) return;
  const auto before = hosts_of(*oldest);
  const double seconds = number(*newest, "time_seconds") - number(*oldest, "time_seconds");
  for (auto& [number_of_host, host] : hosts_of(*newest)) {
    const auto earlier = before.find(number_of_host);
    // Of a learner before this one it counted otherwise.
    if (seconds > 0 && earlier != before.end() && earlier->second.episodes <= host.episodes) {
      host.episodes_per_second =
          static_cast<double>(host.episodes - earlier->second.episodes) / seconds;
    }
    status.hosts.push_back(std::move(host));
  }
  mark_slow_hosts(status.hosts);
}

void take_rows(const std::vector<Json>& rows, RunStatus& status) {
  for (const Json& row : rows) {
    // What the checkpoint holds of earlier updates is as new.
    if (count(row, "update") < status.update) continue;
    const auto graphs = row.find("graphs");
    if (graphs == row.end()) {
      if (status.graphs.empty()) status.graphs.emplace_back();
      take_graph(row, status.graphs.front());
      continue;
    }
    if (!graphs->is_array()) continue;
    for (std::size_t g = 0; g < graphs->size(); ++g) {
      if (status.graphs.size() <= g) status.graphs.emplace_back().name = text((*graphs)[g], "name");
      take_graph((*graphs)[g], status.graphs[g]);
    }
  }
  if (rows.empty()) return;
  const Json& last = rows.back();
  if (count(last, "update") < status.update) return;  // they were lost; the checkpoint knows more
  status.stage = text(last, "stage");
  status.stage_used_fraction = number(last, "stage_used_fraction");
  status.update = count(last, "update");
  status.episodes = count(last, "episodes");
  status.training_seconds = number(last, "time_seconds");
  status.episodes_per_second = number(last, "episodes_per_second");
  if (const Json* begin = pace_begin(rows); begin != nullptr && status.episodes_per_second == 0) {
    status.episodes_per_second =
        progress(rows, *begin, "episodes") / progress(rows, *begin, "time_seconds");
  }
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (number(last, "time_seconds") - number(*row, "time_seconds") > kPaceSeconds) break;
    const auto lags = row->find("lags");
    if (lags == row->end() || !lags->is_array()) continue;
    status.recent_lags.resize(std::max(status.recent_lags.size(), lags->size()), 0);
    for (std::size_t lag = 0; lag < lags->size(); ++lag) {
      if ((*lags)[lag].is_number_unsigned()) {
        status.recent_lags[lag] += (*lags)[lag].get<std::uint64_t>();
      }
    }
  }
  if (last.contains("effective_sample_fraction")) {
    status.effective_sample_fraction = number(last, "effective_sample_fraction");
  }
  take_hosts(rows, status);
  status.refused_connections = count(last, "refused_connections");
  status.conflated_versions = count(last, "conflated_versions");
  if (const auto late = last.find("late_hosts"); late != last.end() && late->is_array()) {
    for (const Json& host : *late) {
      if (host.is_object()) status.late_hosts[count(host, "host")] = number(host, "seconds");
    }
  }
  status.worker_restarts = count(last, "restarts");
  status.reissued_tickets = count(last, "reissued_tickets");
  if (const auto counts = last.find("counts"); counts != last.end() && counts->is_object()) {
    for (const auto& [name, value] : counts->items()) {
      if (value.is_number_unsigned()) status.counts[name] = value.get<std::uint64_t>();
    }
  }
}

void estimate_time_left(const Config& config, const std::vector<Json>& rows, RunStatus& status) {
  const Json* begin = pace_begin(rows);
  if (begin == nullptr) return;
  const double fraction = progress(rows, *begin, "stage_used_fraction");
  if (fraction <= 0) return;
  const double whole_stage = progress(rows, *begin, "time_seconds") / fraction;
  double left = whole_stage * (1 - status.stage_used_fraction) + config.refinement.seconds;
  const StageConfig& imitation = config.stages.imitation;
  const StageConfig& simulation = config.stages.simulation;
  if (status.stage == stage_name(Stage::kImitation) && simulation.enabled) {
    const bool by_seconds = config.run.budget_seconds > 0;
    const double now =
        by_seconds ? imitation.share_of_seconds : static_cast<double>(imitation.episodes);
    const double next =
        by_seconds ? simulation.share_of_seconds : static_cast<double>(simulation.episodes);
    if (now > 0) left += whole_stage * next / now;
  }
  status.seconds_left = left;
}

bool is_at_the_end(const Config& config, const RunStatus& status) {
  const bool last_stage =
      status.stage == stage_name(Stage::kSimulation) ||
      (status.stage == stage_name(Stage::kImitation) && !config.stages.simulation.enabled);
  return last_stage && status.stage_used_fraction >= 0.999;
}

void take_summary(const Json& summary, RunStatus& status) {
  const auto graphs = summary.find("graphs");
  if (graphs == summary.end() || !graphs->is_array()) return;
  for (std::size_t g = 0; g < std::min(graphs->size(), status.graphs.size()); ++g) {
    const Json& item = (*graphs)[g];
    if (!item.is_object()) continue;
    status.graphs[g].name = text(item, "name");
    if (const auto greedy = ticks(item, "policy_greedy_ticks")) {
      status.graphs[g].greedy_ticks = greedy;
    }
    if (const auto best = ticks(item, "policy_best_ticks")) status.graphs[g].best_ticks = best;
    status.graphs[g].refined_ticks = ticks(item, "refined_ticks");
  }
}

RunState judge(const RunStatus& status, const Json& summary, bool at_the_end,
               const StatusOptions& options) {
  const bool fresh =
      status.metrics_age_seconds && *status.metrics_age_seconds < options.stalled_after_seconds;
  // Without locks only what the run writes tells of it.
  if (status.learner_alive.value_or(fresh && !summary.is_object())) {
    if (status.stage.empty()) return RunState::kStarting;
    if (at_the_end) return RunState::kFinishing;
    return fresh ? RunState::kRunning : RunState::kStalled;
  }
  if (!summary.is_object()) return RunState::kInterrupted;
  return text(summary, "outcome") == "done" ? RunState::kDone : RunState::kStopped;
}

}  // namespace

const char* state_name(RunState state) {
  switch (state) {
    case RunState::kStarting:
      return "starting";
    case RunState::kRunning:
      return "running";
    case RunState::kFinishing:
      return "finishing";
    case RunState::kStalled:
      return "stalled";
    case RunState::kStopped:
      return "stopped";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kDone:
      return "done";
  }
  return "unknown";
}

bool is_live(RunState state) {
  return state != RunState::kStopped && state != RunState::kInterrupted && state != RunState::kDone;
}

RunStatus read_run_status(const std::string& run_dir, const StatusOptions& options) {
  if (!fs::exists(run_dir + "/config.yaml")) {
    throw ConfigError("run folder " + run_dir +
                      ": there is no config.yaml in it; give the folder of a run that doppler "
                      "train began");
  }
  RunStatus status;
  status.run_dir = run_dir;
  status.learner_alive = is_locked(run_dir);
  Config config;
  bool config_is_good = false;
  try {
    config = load_config(run_dir + "/config.yaml", {});
    status.physical = config.simulation.mode == SimulationMode::kPhysical;
    config_is_good = true;
  } catch (const Error& error) {
    status.problems.emplace_back(error.what());
  }
  try {
    take_checkpoint(status);
  } catch (const Error& error) {
    status.problems.emplace_back(error.what());
  }
  const std::string metrics_path = run_dir + "/metrics.jsonl";
  const std::vector<Json> rows = newest_rows(metrics_path);
  take_rows(rows, status);
  std::error_code error;
  const double age = age_seconds(metrics_path, error);
  if (!error && !rows.empty()) status.metrics_age_seconds = age;

  Json summary;
  if (fs::exists(run_dir + "/summary.json", error)) {
    try {
      summary = Json::parse(read_text_file(run_dir + "/summary.json"), nullptr, false);
    } catch (const Error&) {
      summary = Json();  // a resumed run has just removed it
    }
    if (summary.is_discarded()) {
      status.problems.push_back(run_dir + "/summary.json: it is damaged; doppler resume " +
                                run_dir + " writes it anew");
    }
  }
  if (summary.is_object()) take_summary(summary, status);
  status.state = judge(status, summary, config_is_good && is_at_the_end(config, status), options);
  if (config_is_good && is_live(status.state)) estimate_time_left(config, rows, status);
  return status;
}

}  // namespace doppler
