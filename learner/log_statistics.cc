#include "learner/log_statistics.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

const char* status_name(TrajectoryStatus status) {
  switch (status) {
    case TrajectoryStatus::kTrained:
      return "trained";
    case TrajectoryStatus::kDroppedStale:
      return "dropped_stale";
    case TrajectoryStatus::kDroppedInvalid:
      return "dropped_invalid";
    case TrajectoryStatus::kDroppedLineage:
      return "dropped_lineage";
    case TrajectoryStatus::kFailed:
      return "failed";
    case TrajectoryStatus::kEvaluated:
      return "evaluated";
  }
  return "unknown";
}

// Whether the makespan of such an episode says anything.
bool has_makespan(const EpisodeRow& row) {
  return row.status != TrajectoryStatus::kFailed && row.status != TrajectoryStatus::kDroppedInvalid;
}

Json range_json(const ValueRange& range) {
  if (range.count == 0) return nullptr;
  return {{"min", range.smallest},
          {"mean", range.sum / static_cast<double>(range.count)},
          {"max", range.largest}};
}

}  // namespace

void ValueRange::add(double value) {
  smallest = count == 0 ? value : std::min(smallest, value);
  largest = count == 0 ? value : std::max(largest, value);
  sum += value;
  ++count;
}

Json episode_json(const EpisodeRow& row) {
  Json json = {{"episode", row.episode},
               {"graph", row.graph},
               {"stage", stage_name(row.stage)},
               {"status", status_name(row.status)},
               {"makespan_ticks", row.makespan.ticks()},
               {"ticket", row.ticket},
               {"attempt", row.attempt},
               {"lineage", row.lineage},
               {"weight_version", row.weight_version},
               {"worker", row.worker},
               {"seed", row.seed}};
  if (row.stage == Stage::kReal) {
    json["measured_seconds"] = row.measured_seconds;
    json["repeats"] = row.repeats;
    json["spread_seconds"] = row.spread_seconds;
  }
  json["decision_count"] = row.decision_count;
  return json;
}

void LogStatistics::add(const EpisodeRow& row) {
  ++by_status_[status_name(row.status)];
  ++by_stage_[stage_name(row.stage)];
  ranges_["episode"].add(static_cast<double>(row.episode));
  ranges_["ticket"].add(static_cast<double>(row.ticket));
  ranges_["attempt"].add(row.attempt);
  ranges_["lineage"].add(row.lineage);
  ranges_["weight_version"].add(static_cast<double>(row.weight_version));
  ranges_["worker"].add(row.worker);
  ranges_["makespan_ticks"].add(static_cast<double>(row.makespan.ticks()));
  if (row.stage == Stage::kReal) {
    ranges_["measured_seconds"].add(row.measured_seconds);
    ranges_["repeats"].add(row.repeats);
    ranges_["spread_seconds"].add(row.spread_seconds);
  }
  if (row.decision_offset >= 0) {
    ++with_decisions_;
    ranges_["decision_count"].add(static_cast<double>(row.decision_count));
  }
  if (has_makespan(row)) add_makespan(row);
}

void LogStatistics::add_makespan(const EpisodeRow& row) {
  GraphLog& log = graphs_[row.graph];
  log.makespans.add(static_cast<double>(row.makespan.ticks()));
  if (log.shortest.size() >= best_episodes_ &&
      (best_episodes_ == 0 || row.makespan >= log.shortest.back().makespan)) {
    return;
  }
  const auto place = std::upper_bound(
      log.shortest.begin(), log.shortest.end(), row,
      [](const EpisodeRow& a, const EpisodeRow& b) { return a.makespan < b.makespan; });
  log.shortest.insert(place, row);
  if (log.shortest.size() > best_episodes_) log.shortest.pop_back();
}

Json LogStatistics::episodes_json(const ArchiveSummary& summary) const {
  Json ranges = Json::object();
  for (const auto& [name, range] : ranges_) ranges[name] = range_json(range);
  return {{"count", summary.episodes},
          {"superseded", summary.superseded},
          {"duplicates", summary.duplicates},
          {"late", summary.late},
          {"missing", summary.missing},
          {"with_decisions", with_decisions_},
          {"by_status", by_status_},
          {"by_stage", by_stage_},
          {"ranges", ranges}};
}

Json LogStatistics::graphs_json(const std::vector<ArchiveGraph>& graphs) const {
  Json list = Json::array();
  for (const auto& [position, log] : graphs_) {
    const bool is_known = position < graphs.size();
    Json best = Json::array();
    for (const EpisodeRow& row : log.shortest) best.push_back(episode_json(row));
    list.push_back({{"graph", position},
                    {"name", is_known ? graphs[position].name : ""},
                    {"operation_count", is_known ? graphs[position].operation_count : 0},
                    {"makespan_ticks", range_json(log.makespans)},
                    {"best_episodes", best}});
  }
  return list;
}

}  // namespace doppler
