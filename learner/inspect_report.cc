#include "learner/inspect_report.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "learner/archive_reader.h"
#include "learner/checkpoint_store.h"
#include "learner/episode_counts_json.h"
#include "learner/file_operations.h"
#include "learner/log_statistics.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string file_name(const std::string& path) {
  return fs::path(path).filename().string();
}

Json tensors_json(const std::vector<NamedTensor>& tensors) {
  Json list = Json::array();
  for (const NamedTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  return list;
}

std::size_t value_count(const std::vector<NamedTensor>& tensors) {
  std::size_t count = 0;
  for (const NamedTensor& tensor : tensors) count += tensor.values.size();
  return count;
}

Json placement_json(const BestPlacement& placement) {
  if (placement.assignment.empty()) return nullptr;
  return {{"makespan_ticks", placement.makespan.ticks()},
          {"episode", placement.episode},
          {"seed", placement.seed},
          {"found_by", placement.found_by}};
}

Json graph_states_json(const std::vector<GraphState>& states) {
  Json graphs = Json::array();
  for (const GraphState& graph : states) {
    Json baselines = Json::object();
    for (const NamedTime& baseline : graph.baselines)
      baselines[baseline.name] = baseline.time.ticks();
    graphs.push_back({{"name", graph.name},
                      {"operation_count", graph.operation_count},
                      {"lower_bound_ticks", graph.lower_bound.ticks()},
                      {"best", placement_json(graph.best)},
                      {"greedy", placement_json(graph.greedy)},
                      {"measured", placement_json(graph.measured)},
                      {"baseline_ticks", baselines}});
  }
  return graphs;
}

Json checkpoint_json(const std::string& path, const Checkpoint& checkpoint) {
  return {{"file", file_name(path)},
          {"valid", true},
          {"update", checkpoint.update},
          {"stage", stage_name(checkpoint.stage)},
          {"stage_update", checkpoint.stage_update},
          {"lineage", checkpoint.lineage},
          {"elapsed_seconds", checkpoint.elapsed_seconds},
          {"next_episode", checkpoint.next_episode},
          {"learning_rate", checkpoint.learning_rate},
          {"archive_segment", checkpoint.archive_segment},
          {"archive_rows", checkpoint.archive_rows},
          {"counts", counts_json(checkpoint.counts)},
          {"graphs", graph_states_json(checkpoint.graphs)},
          {"parameter_count", value_count(checkpoint.parameters)},
          {"optimizer_value_count", value_count(checkpoint.optimizer)},
          {"recent_versions", checkpoint.recent_versions.size()},
          {"parameters", tensors_json(checkpoint.parameters)}};
}

Json checkpoint_or_reason(const std::string& path) {
  try {
    return checkpoint_json(path, CheckpointStore::load(path));
  } catch (const Error& problem) {
    return {{"file", file_name(path)}, {"valid", false}, {"why", problem.what()}};
  }
}

void add_log(ArchiveReader& reader, std::size_t best_episodes, Json& report) {
  LogStatistics statistics(best_episodes);
  const ArchiveSummary summary = reader.visit([&](const EpisodeRow& row) { statistics.add(row); });
  Json segments = Json::array();
  std::vector<ArchiveGraph> graphs;
  for (const SegmentInfo& info : reader.segments()) {
    segments.push_back({{"file", file_name(info.path)},
                        {"readable", info.damage.empty()},
                        {"run_name", info.header.run_name},
                        {"lineage", info.header.lineage},
                        {"first_episode", info.header.first_episode},
                        {"tick_unit", info.header.tick_unit},
                        {"committed_episodes", info.committed_episodes},
                        {"uncommitted_episodes", info.uncommitted_episodes},
                        {"committed_decisions", info.committed_decisions}});
    if (graphs.empty()) graphs = info.header.graphs;
  }
  report["segments"] = segments;
  report["episodes"] = statistics.episodes_json(summary);
  report["graphs"] = statistics.graphs_json(graphs);
  for (const std::string& problem : reader.problems()) report["problems"].push_back(problem);
}

// Every episode that a checkpoint counts was in the log before the checkpoint was written.
void add_lost_rows(Json& report) {
  const Json& by_status = report["episodes"]["by_status"];
  const auto logged = by_status.value("trained", std::uint64_t{0});
  for (const Json& checkpoint : report["checkpoints"]) {
    if (!checkpoint["valid"] || checkpoint["archive_segment"].get<std::string>().empty()) continue;
    const auto trained = checkpoint["counts"]["trained"].get<std::uint64_t>();
    if (trained <= logged) continue;
    report["problems"].push_back(checkpoint["file"].get<std::string>() + " counts " +
                                 std::to_string(trained) + " trained episodes, the log holds " +
                                 std::to_string(logged) + " of them; the rest is lost");
    return;
  }
}

// A damaged checkpoint is to be called a damaged checkpoint, hence its name counts too.
bool is_checkpoint_file(const std::string& path) {
  const std::vector<std::byte> bytes = read_whole_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string name = file_name(path);
  return text.starts_with("doppler-checkpoint") || name.starts_with("checkpoint-") ||
         name == "best.h5";
}

}  // namespace

Json inspect_run(const std::string& run_dir, std::size_t best_episodes) {
  Json report = {{"path", run_dir}, {"checkpoints", Json::array()}};
  const CheckpointStore store(run_dir, 1);
  for (const CheckpointEntry& entry : store.list()) {
    report["checkpoints"].push_back(checkpoint_or_reason(entry.path));
  }
  if (fs::exists(store.best_path())) {
    report["checkpoints"].push_back(checkpoint_or_reason(store.best_path()));
  }
  report["problems"] = Json::array();
  for (const Json& checkpoint : report["checkpoints"]) {
    if (!checkpoint["valid"]) report["problems"].push_back(checkpoint["why"]);
  }
  ArchiveReader reader(run_dir);
  add_log(reader, best_episodes, report);
  add_lost_rows(report);
  return report;
}

Json inspect_file(const std::string& path, std::size_t best_episodes) {
  Json report = {{"path", path}, {"checkpoints", Json::array()}, {"problems", Json::array()}};
  if (is_checkpoint_file(path)) {
    report["checkpoints"].push_back(checkpoint_json(path, CheckpointStore::load(path)));
    return report;
  }
  ArchiveReader reader = ArchiveReader::of_file(path);
  if (!reader.segments()[0].damage.empty()) throw FormatError(reader.segments()[0].damage);
  add_log(reader, best_episodes, report);
  return report;
}

Json inspect_episode(const std::string& path, std::uint64_t episode) {
  ArchiveReader reader =
      fs::is_directory(path) ? ArchiveReader(path) : ArchiveReader::of_file(path);
  const std::optional<EpisodeRow> row = reader.find(episode);
  if (!row) {
    throw ConfigError("--episode " + std::to_string(episode) + ": " + path +
                      " holds no such episode; without this flag you see which there are");
  }
  Json decisions = Json::array();
  for (const Decision& decision : reader.decisions(*row)) {
    decisions.push_back({{"step", decisions.size()},
                         {"operation", decision.operation.value()},
                         {"device", decision.device.value()},
                         {"select_log_probability", decision.select_log_probability},
                         {"place_log_probability", decision.place_log_probability}});
  }
  return {{"path", path}, {"episode", episode_json(*row)}, {"decisions", decisions}};
}

}  // namespace doppler
