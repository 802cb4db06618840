// The text form of inspect_report.h.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "learner/inspect_report.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string text_of(const Json& value, const char* format = "%.10g") {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  std::array<char, 40> text = {};
  std::snprintf(text.data(), text.size(), format, value.get<double>());
  return text.data();
}

// Columns as wide as their widest entry; the first row is the heading.
std::string table(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string pairs(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += (text.empty() ? "" : ", ") + key + " " + text_of(value);
  }
  return text.empty() ? "none" : text;
}

std::string shape_of(const Json& shape) {
  std::string text;
  for (const Json& extent : shape) text += (text.empty() ? "" : " x ") + extent.dump();
  return text.empty() ? "scalar" : text;
}

// ---- checkpoints

// The newest valid one is shown in full; best.h5 only where it is alone.
const Json* shown_checkpoint(const Json& checkpoints) {
  const Json* shown = nullptr;
  for (const Json& entry : checkpoints) {
    if (!entry["valid"]) continue;
    if (shown == nullptr || entry["file"] != "best.h5") shown = &entry;
  }
  return shown;
}

std::string graph_state(const Json& graph) {
  std::string text = "  graph " + text_of(graph["name"]) + ": " +
                     text_of(graph["operation_count"]) + " operations, lower bound " +
                     text_of(graph["lower_bound_ticks"]) + " ticks";
  for (const char* which : {"best", "greedy"}) {
    if (graph[which].is_null()) continue;
    text += std::string(", ") + which + " " + text_of(graph[which]["makespan_ticks"]) + " (" +
            text_of(graph[which]["found_by"]) + ")";
  }
  return text + "\n    baselines: " + pairs(graph["baseline_ticks"]) + "\n";
}

std::string checkpoint_details(const Json& checkpoint) {
  std::string text = "\nIn " + text_of(checkpoint["file"]) + "\n";
  text += "  episodes: " + pairs(checkpoint["counts"]) + "\n";
  for (const Json& graph : checkpoint["graphs"]) text += graph_state(graph);
  Rows rows = {{"parameter", "shape"}};
  for (const Json& tensor : checkpoint["parameters"]) {
    rows.push_back({text_of(tensor["name"]), shape_of(tensor["shape"])});
  }
  return text + table(rows);
}

std::string checkpoints_text(const Json& checkpoints) {
  std::string text = "Checkpoints\n";
  if (checkpoints.empty()) return text + "  none\n";
  Rows rows = {{"file", "update", "stage", "lineage", "seconds", "next episode", "parameters"}};
  for (const Json& entry : checkpoints) {
    if (!entry["valid"]) {
      rows.push_back({text_of(entry["file"]), "not valid"});
      continue;
    }
    rows.push_back({text_of(entry["file"]), text_of(entry["update"]), text_of(entry["stage"]),
                    text_of(entry["lineage"]), text_of(entry["elapsed_seconds"]),
                    text_of(entry["next_episode"]), text_of(entry["parameter_count"])});
  }
  text += table(rows);
  const Json* shown = shown_checkpoint(checkpoints);
  return shown == nullptr ? text : text + checkpoint_details(*shown);
}

// ---- the log

std::string segments_text(const Json& segments) {
  std::string text = "Trajectory segments\n";
  if (segments.empty()) return text + "  none\n";
  Rows rows = {{"file", "lineage", "from episode", "rows", "not committed", "decision rows", ""}};
  for (const Json& segment : segments) {
    rows.push_back({text_of(segment["file"]), text_of(segment["lineage"]),
                    text_of(segment["first_episode"]), text_of(segment["committed_episodes"]),
                    text_of(segment["uncommitted_episodes"]),
                    text_of(segment["committed_decisions"]),
                    segment["readable"].get<bool>() ? "" : "damaged, see below"});
  }
  return text + table(rows);
}

std::string tick_note(const Json& segments) {
  for (const Json& segment : segments) {
    if (segment["readable"]) return " (tick unit: " + text_of(segment["tick_unit"]) + ")";
  }
  return "";
}

std::string episode_rows(const Json& episodes) {
  Rows rows;
  for (const Json& episode : episodes) {
    std::vector<std::string> heading;
    std::vector<std::string> row;
    for (const auto& [key, value] : episode.items()) {
      // Only episodes of one stage have these: they are shown by --episode.
      if (key == "measured_seconds" || key == "repeats" || key == "spread_seconds") continue;
      heading.push_back(key);
      row.push_back(text_of(value));
    }
    if (rows.empty()) rows.push_back(heading);
    rows.push_back(row);
  }
  return table(rows);
}

std::string log_text(const Json& report) {
  const Json& episodes = report["episodes"];
  std::string text = segments_text(report["segments"]) + "\nEpisodes\n";
  text += "  " + text_of(episodes["count"]) + " in all, " + text_of(episodes["with_decisions"]) +
          " with their decisions; left out: " + text_of(episodes["superseded"]) +
          " played again after a resume, " + text_of(episodes["duplicates"]) + " repeated\n";
  text += "  by status: " + pairs(episodes["by_status"]) + "\n";
  text += "  by stage: " + pairs(episodes["by_stage"]) + "\n";
  Rows rows = {{"column", "min", "mean", "max"}};
  for (const auto& [name, range] : episodes["ranges"].items()) {
    rows.push_back({name, text_of(range["min"]), text_of(range["mean"]), text_of(range["max"])});
  }
  if (rows.size() > 1) text += table(rows);
  for (const Json& graph : report["graphs"]) {
    const Json& makespan = graph["makespan_ticks"];
    text += "\nGraph " + text_of(graph["name"]) + ": makespan " + text_of(makespan["min"]) +
            " to " + text_of(makespan["max"]) + " ticks, mean " + text_of(makespan["mean"]) +
            tick_note(report["segments"]) + "\n";
    text += episode_rows(graph["best_episodes"]);
  }
  return text;
}

std::string episode_text(const Json& report) {
  std::string text = "Episode\n";
  for (const auto& [key, value] : report["episode"].items()) {
    text += "  " + key + ": " + text_of(value) + "\n";
  }
  if (report["decisions"].empty()) return text + "  its decisions were not logged\n";
  Rows rows = {{"step", "operation", "device", "select log-probability", "place log-probability"}};
  for (const Json& decision : report["decisions"]) {
    std::vector<std::string> row;
    for (const Json& value : decision) row.push_back(text_of(value, "%.6f"));
    rows.push_back(row);
  }
  return text + table(rows);
}

}  // namespace

std::string inspect_text(const Json& report) {
  if (report.contains("decisions")) return episode_text(report);
  std::string text;
  const bool has_log = report.contains("segments");
  if (!has_log || !report["checkpoints"].empty())
    text += checkpoints_text(report["checkpoints"]) + "\n";
  if (has_log) text += log_text(report) + "\n";
  text += "Integrity\n";
  if (report["problems"].empty()) text += "  nothing is damaged or missing\n";
  for (const Json& problem : report["problems"]) text += "  " + text_of(problem) + "\n";
  return text;
}

}  // namespace doppler
