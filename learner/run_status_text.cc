#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/reference_cost.h"
#include "learner/run_status.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBaselines = 3;  // the best

double cost(std::int64_t ticks, bool physical) {
  return displayed_cost(SimTime(ticks), physical);
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json graph_json(const GraphStatus& graph, bool physical) {
  Json json = {{"name", graph.name}};
  const auto add = [&](const std::string& key, const std::optional<std::int64_t>& ticks) {
    if (!ticks) return;
    json[key + "_ticks"] = *ticks;
    json[key + "_cost"] = cost(*ticks, physical);
  };
  add("best", graph.best_ticks);
  add("greedy", graph.greedy_ticks);
  add("measured_best", graph.measured_best_ticks);
  add("refined", graph.refined_ticks);
  add("lower_bound", graph.lower_bound_ticks);
  json["baselines"] = Json::array();
  for (const BaselineStatus& baseline : graph.baselines) {
    json["baselines"].push_back({{"name", baseline.name},
                                 {"makespan_ticks", baseline.ticks},
                                 {"cost", cost(baseline.ticks, physical)}});
  }
  return json;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 2 * 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string what_now(const RunStatus& status) {
  switch (status.state) {
    case RunState::kStarting:
      return "a learner is there, no update yet";
    case RunState::kRunning:
      return "a learner is at work";
    case RunState::kFinishing:
      return "the budget is used; last evaluation, refinement, report";
    case RunState::kStalled:
      return fmt::format(
          "a learner is there, but no update has come for {}; look at log.txt, then stop and "
          "resume it",
          duration(status.metrics_age_seconds.value_or(0)));
    case RunState::kStopped:
      return "on request; go on with: doppler resume " + status.run_dir;
    case RunState::kInterrupted:
      return "no learner is there; go on with: doppler resume " + status.run_dir;
    case RunState::kDone:
      return "see summary.json";
  }
  return "";
}

// "mean 1.2, at most 4; effective samples 98%"
std::string lags_text(const RunStatus& status) {
  double sum = 0;
  double episodes = 0;
  std::size_t largest = 0;
  for (std::size_t lag = 0; lag < status.recent_lags.size(); ++lag) {
    if (status.recent_lags[lag] == 0) continue;
    largest = lag;
    episodes += static_cast<double>(status.recent_lags[lag]);
    sum += static_cast<double>(lag) * static_cast<double>(status.recent_lags[lag]);
  }
  std::string text =
      fmt::format("mean {:.2f}, at most {}", episodes > 0 ? sum / episodes : 0, largest);
  if (status.effective_sample_fraction) {
    text += fmt::format("; effective samples {:.1f}%", 100 * *status.effective_sample_fraction);
  }
  return text;
}

std::string graph_text(const GraphStatus& graph, bool physical) {
  const double scale = physical ? 1e3 : 1;
  std::string text = fmt::format("\n{}, {}", graph.name.empty() ? "graph" : graph.name,
                                 physical ? "milliseconds" : "cost");
  // Against the best that is known without learning.
  const std::int64_t best = graph.baselines.empty() ? 0 : graph.baselines.front().ticks;
  if (best > 0) text += ", against " + graph.baselines.front().name;
  text += "\n";
  const auto row = [&](const std::string& name, const std::optional<std::int64_t>& ticks) {
    if (!ticks) return;
    text += fmt::format("  {:<32} {:>14.4f}", name, cost(*ticks, physical) * scale);
    if (best > 0) {
      text += fmt::format("  {:+.2f}%",
                          100.0 * static_cast<double>(*ticks - best) / static_cast<double>(best));
    }
    text += "\n";
  };
  row("policy, best", graph.best_ticks);
  row("policy, greedy", graph.greedy_ticks);
  row("refined", graph.refined_ticks);
  const std::size_t shown = std::min<std::size_t>(kShownBaselines, graph.baselines.size());
  for (std::size_t b = 0; b < shown; ++b) row(graph.baselines[b].name, graph.baselines[b].ticks);
  row("lower bound", graph.lower_bound_ticks);
  // On the machine: not to be compared with what is simulated.
  if (graph.measured_best_ticks) {
    text += fmt::format("  {:<32} {:>14.4f}\n", "stage III, best, measured",
                        cost(*graph.measured_best_ticks, physical) * scale);
  }
  return text;
}

// Of a label's value.
std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

// One metric: its explanation, then its samples.
class Metric {
 public:
  Metric(std::string& text, const std::string& run, const std::string& name, const char* type,
         const char* help)
      : text_(text), run_(run), name_("doppler_" + name) {
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
  }
  void sample(double value, const std::string& labels = "") {
    text_ += fmt::format("{}{{run=\"{}\"{}}} {}\n", name_, escaped(run_), labels, value);
  }
  static std::string label(const char* key, const std::string& value) {
    return fmt::format(",{}=\"{}\"", key, escaped(value));
  }

 private:
  std::string& text_;
  const std::string& run_;
  std::string name_;
};

}  // namespace

Json status_json(const RunStatus& status) {
  Json graphs = Json::array();
  for (const GraphStatus& graph : status.graphs) {
    graphs.push_back(graph_json(graph, status.physical));
  }
  Json late_hosts = Json::array();
  for (const auto& [host, seconds] : status.late_hosts) {
    late_hosts.push_back({{"host", host}, {"seconds", seconds}});
  }
  Json hosts = Json::array();
  for (const HostStatus& host : status.hosts) {
    hosts.push_back({{"host", host.host},
                     {"machine", host.machine},
                     {"workers", host.workers},
                     {"episodes", host.episodes},
                     {"episodes_per_second", or_null(host.episodes_per_second)},
                     {"restarts", host.restarts},
                     {"slow", host.slow}});
  }
  Json checkpoint = nullptr;
  if (status.checkpoint) {
    checkpoint = {{"path", status.checkpoint->path},
                  {"update", status.checkpoint->update},
                  {"age_seconds", status.checkpoint->age_seconds}};
  }
  return {{"run_dir", status.run_dir},
          {"state", state_name(status.state)},
          {"learner_alive", or_null(status.learner_alive)},
          {"stage", status.stage.empty() ? Json(nullptr) : Json(status.stage)},
          {"stage_used_fraction", status.stage_used_fraction},
          {"seconds_left", or_null(status.seconds_left)},
          {"update", status.update},
          {"episodes", status.episodes},
          {"training_seconds", status.training_seconds},
          {"episodes_per_second", status.episodes_per_second},
          {"recent_lags", status.recent_lags},
          {"effective_sample_fraction", or_null(status.effective_sample_fraction)},
          {"worker_restarts", status.worker_restarts},
          {"reissued_tickets", status.reissued_tickets},
          {"resumes", status.resumes},
          {"counts", status.counts},
          {"metrics_age_seconds", or_null(status.metrics_age_seconds)},
          {"checkpoint", checkpoint},
          {"refused_connections", status.refused_connections},
          {"conflated_versions", status.conflated_versions},
          {"late_hosts", late_hosts},
          {"hosts", hosts},
          {"graphs", graphs},
          {"problems", status.problems}};
}

std::string status_text(const RunStatus& status) {
  std::string text =
      fmt::format("{}: {} ({})\n", status.run_dir, state_name(status.state), what_now(status));
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<18} {}\n", name, value);
  };
  // What is left of the budget of a run that is done would not have bought another batch.
  if (!status.stage.empty() && status.state != RunState::kDone) {
    row("stage", fmt::format("{}, {:.1f}% of its budget used", status.stage,
                             100 * status.stage_used_fraction));
  }
  if (status.seconds_left) row("left, about", duration(*status.seconds_left));
  row("trained", fmt::format("{} episodes in {} updates, {}", status.episodes, status.update,
                             duration(status.training_seconds)));
  if (is_live(status.state)) row("episodes/s", fmt::format("{:.0f}", status.episodes_per_second));
  if (!status.recent_lags.empty()) row("versions behind", lags_text(status));
  row("worker restarts",
      fmt::format("{}, {} tickets issued again", status.worker_restarts, status.reissued_tickets));
  row("resumed", fmt::format("{} times", status.resumes));
  if (status.refused_connections > 0) {
    row("strangers", fmt::format("{} connections refused", status.refused_connections));
  }
  for (const auto& [host, seconds] : status.late_hosts) {
    row("late for weights", fmt::format("host {}, {:.1f} s in all", host, seconds));
  }
  std::string counts;
  for (const auto& [name, count] : status.counts) {
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name, count);
  }
  if (!counts.empty()) row("episodes", counts);
  if (status.metrics_age_seconds)
    row("newest metrics", duration(*status.metrics_age_seconds) + " ago");
  row("newest checkpoint", status.checkpoint
                               ? fmt::format("update {}, {} ago", status.checkpoint->update,
                                             duration(status.checkpoint->age_seconds))
                               : "none");
  for (const HostStatus& host : status.hosts) {
    row(fmt::format("host {}", host.host).c_str(),
        fmt::format("{:<20} {} workers{}{}{}", host.machine, host.workers,
                    host.episodes_per_second
                        ? fmt::format(", {:.0f} episodes/s", *host.episodes_per_second)
                        : "",
                    host.restarts > 0 ? fmt::format(", {} restarts", host.restarts) : "",
                    host.slow ? ", slow" : ""));
  }
  for (const GraphStatus& graph : status.graphs) text += graph_text(graph, status.physical);
  for (const std::string& problem : status.problems) text += "problem: " + problem + "\n";
  return text;
}

std::string status_prometheus(const RunStatus& status) {
  std::string text;
  const auto metric = [&](const std::string& name, const char* type, const char* help) {
    return Metric(text, status.run_dir, name, type, help);
  };
  const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
  metric("run_live", "gauge", "1 while a learner is at work, or should be")
      .sample(is_live(status.state) ? 1 : 0);
  metric("run_stalled", "gauge", "1 when a learner is there and no update comes")
      .sample(status.state == RunState::kStalled ? 1 : 0);
  metric("run_done", "gauge", "1 when the run has come to its end")
      .sample(status.state == RunState::kDone ? 1 : 0);
  metric("updates_total", "counter", "updates of the weights").sample(count(status.update));
  metric("training_seconds_total", "counter", "training time over all resumes")
      .sample(status.training_seconds);
  metric("episodes_per_second", "gauge", "episodes trained a second")
      .sample(status.episodes_per_second);
  metric("stage_used_fraction", "gauge", "of the budget of the stage")
      .sample(status.stage_used_fraction, Metric::label("stage", status.stage));
  if (status.seconds_left) {
    metric("left_seconds", "gauge", "estimated time to the end").sample(*status.seconds_left);
  }
  if (!status.recent_lags.empty()) {
    Metric lags = metric("recent_lag_episodes", "gauge",
                         "episodes trained lately, by versions that their weights lay behind");
    for (std::size_t lag = 0; lag < status.recent_lags.size(); ++lag) {
      lags.sample(count(status.recent_lags[lag]), Metric::label("versions", std::to_string(lag)));
    }
  }
  if (status.effective_sample_fraction) {
    metric("effective_sample_fraction", "gauge",
           "of the importance ratios of the newest update; 1: all weights were current")
        .sample(*status.effective_sample_fraction);
  }
  metric("worker_restarts_total", "counter", "of workers of the learner's node, this process")
      .sample(count(status.worker_restarts));
  metric("reissued_tickets_total", "counter", "tickets issued again, this process")
      .sample(count(status.reissued_tickets));
  metric("resumes_total", "counter", "how often the run was resumed").sample(count(status.resumes));
  Metric fates = metric("episodes", "gauge", "episodes by their fate, and those opened in all");
  for (const auto& [name, value] : status.counts) {
    fates.sample(count(value), Metric::label("fate", name));
  }
  if (status.metrics_age_seconds) {
    metric("metrics_age_seconds", "gauge", "since the newest row of metrics")
        .sample(*status.metrics_age_seconds);
  }
  if (status.checkpoint) {
    metric("checkpoint_age_seconds", "gauge", "since the newest checkpoint")
        .sample(status.checkpoint->age_seconds);
  }
  metric("refused_connections_total", "counter", "strangers at the socket, this process")
      .sample(count(status.refused_connections));
  metric("conflated_versions_total", "counter",
         "weight versions that a host was not sent because a newer one overtook them, this process")
      .sample(count(status.conflated_versions));
  if (!status.late_hosts.empty()) {
    Metric late = metric("host_late_seconds_total", "counter",
                         "for which a host held up broadcasts of the weights, this process");
    for (const auto& [host, seconds] : status.late_hosts) {
      late.sample(seconds, Metric::label("host", std::to_string(host)));
    }
  }
  const auto label_host = [](const HostStatus& host) {
    return Metric::label("host", std::to_string(host.host)) +
           Metric::label("machine", host.machine);
  };
  if (!status.hosts.empty()) {
    Metric workers = metric("host_workers", "gauge", "workers of a host that take tickets");
    for (const HostStatus& host : status.hosts) {
      workers.sample(count(host.workers), label_host(host));
    }
    Metric episodes =
        metric("host_episodes_total", "counter", "that came from a host, this process");
    for (const HostStatus& host : status.hosts) {
      episodes.sample(count(host.episodes), label_host(host));
    }
  }
  Metric makespans =
      metric("makespan_ticks", "gauge", "of placements of a graph, by who made them");
  for (const GraphStatus& graph : status.graphs) {
    const auto sample = [&](const std::string& by, const std::optional<std::int64_t>& ticks) {
      if (!ticks) return;
      makespans.sample(static_cast<double>(*ticks),
                       Metric::label("graph", graph.name) + Metric::label("by", by));
    };
    sample("policy best", graph.best_ticks);
    sample("policy greedy", graph.greedy_ticks);
    sample("stage III measured", graph.measured_best_ticks);
    sample("refined", graph.refined_ticks);
    sample("lower bound", graph.lower_bound_ticks);
    for (const BaselineStatus& baseline : graph.baselines) sample(baseline.name, baseline.ticks);
  }
  return text;
}

}  // namespace doppler
