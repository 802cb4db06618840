#include "learner/run_summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/reference_cost.h"
#include "learner/episode_counts_json.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

double ratio(SimTime time, SimTime bound) {
  return bound > SimTime(0) ? static_cast<double>(time.ticks()) / static_cast<double>(bound.ticks())
                            : 0;
}

// Of the first graph, for runs of one graph: its keys stand in the row itself.
void add_graph_metrics(const GraphMetrics& graph, Json& json) {
  json["makespan_mean_ticks"] = graph.makespan_mean_ticks;
  json["makespan_min_ticks"] = graph.makespan_min.ticks();
  json["best_ticks"] = graph.best.ticks();
  if (graph.measured_best) json["measured_best_ticks"] = graph.measured_best->ticks();
  if (graph.greedy) json["greedy_ticks"] = graph.greedy->ticks();
}

}  // namespace

std::string metrics_json(const MetricsRow& row) {
  Json json = {{"time_seconds", row.time_seconds},
               {"stage", stage_name(row.point.stage)},
               {"stage_used_fraction", row.point.used_fraction},
               {"update", row.update},
               {"version", row.update},
               {"episodes", row.episodes},
               {"loss", row.statistics.loss},
               {"entropy", row.statistics.select_entropy + row.statistics.place_entropy},
               {"select_entropy", row.statistics.select_entropy},
               {"place_entropy", row.statistics.place_entropy},
               {"entropy_weight", row.point.entropy_weight},
               {"learning_rate", row.point.learning_rate},
               {"gradient_norm", row.statistics.gradient_norm},
               {"update_skipped", row.statistics.skipped},
               {"clipped_fraction", row.statistics.clipped_fraction},
               {"log_probability_difference", row.statistics.largest_log_probability_difference},
               {"effective_sample_fraction", row.statistics.effective_sample_fraction},
               {"lags", row.lags},
               {"episodes_per_second", row.episodes_per_second},
               {"restarts", row.restarts},
               {"reissued_tickets", row.reissued_tickets},
               {"refused_connections", row.refused_connections},
               {"conflated_versions", row.conflated_versions},
               {"counts", counts_json(row.counts)}};
  for (const HostActivity& host : row.hosts) {
    json["hosts"].push_back({{"host", host.host},
                             {"machine", host.machine},
                             {"workers", host.workers},
                             {"episodes", host.episodes},
                             {"restarts", host.restarts}});
  }
  for (const LateHostRow& late : row.late_hosts) {
    json["late_hosts"].push_back({{"host", late.host}, {"seconds", late.seconds}});
  }
  add_graph_metrics(row.graphs.front(), json);
  if (row.graphs.size() > 1) {
    for (const GraphMetrics& graph : row.graphs) {
      Json item = {{"name", graph.name}};
      add_graph_metrics(graph, item);
      json["graphs"].push_back(std::move(item));
    }
  }
  return json.dump();
}

std::string best_assignment_json(const Graph& graph, const BestPlacement& best,
                                 const Execution& execution, int device_count) {
  Json names = Json::array();
  Json kinds = Json::array();
  Json assignment = Json::array();
  Json starts = Json::array();
  Json ends = Json::array();
  Json order = Json::array();
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    names.push_back(graph.operation(id).name);
    kinds.push_back(graph.operation(id).kind);
    assignment.push_back(best.assignment[id].value());
    starts.push_back(execution.start[id].ticks());
    ends.push_back(execution.end[id].ticks());
  }
  for (OperationId id : best.order) order.push_back(id.value());
  const Json json = {
      {"graph", graph.name()},
      {"devices", device_count},
      {"makespan_ticks", best.makespan.ticks()},
      {"cost", displayed_cost(best.makespan, graph.cost_unit() == CostUnit::kPhysical)},
      {"found_by", best.found_by},
      {"episode", best.episode},
      {"seed", best.seed},
      {"assignment", assignment},
      {"order", order},
      {"operation_names", names},
      {"operation_kinds", kinds},
      {"start_ticks", starts},
      {"end_ticks", ends}};
  return json.dump(1) + "\n";
}

std::string summary_json(const RunSummary& summary) {
  Json graphs = Json::array();
  for (std::size_t g = 0; g < summary.graphs.size(); ++g) {
    const GraphState& graph = summary.graphs[g];
    Json baselines = Json::array();
    for (const NamedTime& baseline : graph.baselines) {
      baselines.push_back({{"name", baseline.name},
                           {"makespan_ticks", baseline.time.ticks()},
                           {"cost", displayed_cost(baseline.time, summary.physical)},
                           {"ratio_to_lower_bound", ratio(baseline.time, graph.lower_bound)}});
    }
    Json item = {{"name", graph.name},
                 {"operations", graph.operation_count},
                 {"lower_bound_ticks", graph.lower_bound.ticks()},
                 {"lower_bound_cost", displayed_cost(graph.lower_bound, summary.physical)},
                 {"baselines", baselines}};
    const auto add_policy = [&](const std::string& key, const BestPlacement& placement) {
      if (placement.assignment.empty()) return;
      item[key + "_ticks"] = placement.makespan.ticks();
      item[key + "_cost"] = displayed_cost(placement.makespan, summary.physical);
      item[key + "_ratio_to_lower_bound"] = ratio(placement.makespan, graph.lower_bound);
    };
    add_policy("policy_greedy", graph.greedy);
    add_policy("policy_best", graph.best);
    item["policy_best_found_by"] = graph.best.found_by;
    item["policy_best_episode"] = graph.best.episode;
    if (g < summary.refinements.size() && summary.refinements[g]) {
      const Refinement& refinement = *summary.refinements[g];
      add_policy("refined", refinement.placement);
      item["refined_found_by"] = refinement.placement.found_by;
      item["refinement_evaluations"] = refinement.evaluations;
      item["refinement_seconds"] = refinement.seconds;
    }
    if (!graph.measured.assignment.empty()) {
      item["measured_best_seconds"] = graph.measured.makespan.seconds();
      item["measured_best_found_by"] = graph.measured.found_by;
    }
    if (g < summary.comparisons.size() && summary.comparisons[g]) {
      item["measured"] = Json::parse(comparison_json(*summary.comparisons[g]));
    }
    graphs.push_back(item);
  }
  const Json json = {
      {"outcome", summary.outcome},
      {"graphs", graphs},
      {"episodes", summary.episodes},
      {"updates", summary.updates},
      {"episodes_per_second", summary.training_seconds > 0
                                  ? static_cast<double>(summary.episodes) / summary.training_seconds
                                  : 0.0},
      {"training_seconds", summary.training_seconds},
      {"wall_seconds", summary.wall_seconds},
      {"restarts", summary.restarts},
      {"counts", counts_json(summary.counts)}};
  return json.dump(2) + "\n";
}

bool tells_of_the_end(const std::string& summary_json, std::uint64_t update) {
  const Json json = Json::parse(summary_json, nullptr, false);
  return json.is_object() && json.value("outcome", "") == "done" &&
         json.value("updates", std::uint64_t{0}) == update;
}

std::string summary_table(const RunSummary& summary) {
  std::string text;
  const double scale = summary.physical ? 1e3 : 1;
  for (std::size_t g = 0; g < summary.graphs.size(); ++g) {
    const GraphState& graph = summary.graphs[g];
    text += fmt::format("\n{} ({} operations)\n", graph.name, graph.operation_count);
    text += fmt::format("  {:<32} {:>14} {:>16}\n", "", summary.physical ? "milliseconds" : "cost",
                        "to lower bound");
    const auto row = [&](const std::string& name, SimTime time) {
      text += fmt::format("  {:<32} {:>14.4f} {:>15.4f}x\n", name,
                          displayed_cost(time, summary.physical) * scale,
                          ratio(time, graph.lower_bound));
    };
    row("lower bound", graph.lower_bound);
    std::vector<NamedTime> baselines = graph.baselines;
    std::stable_sort(baselines.begin(), baselines.end(),
                     [](const NamedTime& a, const NamedTime& b) { return a.time > b.time; });
    for (const NamedTime& baseline : baselines) row(baseline.name, baseline.time);
    if (!graph.greedy.assignment.empty()) row("policy, greedy", graph.greedy.makespan);
    if (!graph.best.assignment.empty()) row("policy, best", graph.best.makespan);
    if (g < summary.refinements.size() && summary.refinements[g]) {
      const Refinement& refinement = *summary.refinements[g];
      row(fmt::format("refined, {} evaluations", refinement.evaluations),
          refinement.placement.makespan);
    }
    if (g < summary.comparisons.size() && summary.comparisons[g]) {
      text += comparison_table(*summary.comparisons[g]);
    }
  }
  text += fmt::format(
      "\n{}: {} episodes in {} updates, {:.0f} episodes/s, {:.1f} s wall time\nrun folder: {}\n",
      summary.outcome, summary.episodes, summary.updates,
      summary.training_seconds > 0
          ? static_cast<double>(summary.episodes) / summary.training_seconds
          : 0.0,
      summary.wall_seconds, summary.run_dir);
  return text;
}

}  // namespace doppler
