// doppler baseline: what the classical schedulers and search reach on a graph.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/interruption.h"
#include "common/progress.h"
#include "common/reference_cost.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "sim/baseline_report.h"
#include "sim/baselines.h"
#include "sim/device_choices.h"
#include "sim/lower_bounds.h"
#include "sim/machine.h"
#include "sim/search_starts.h"
#include "sim/simulation_flags.h"
#include "sim/watched_run.h"

namespace doppler {
namespace {

constexpr const char* kAll = "all";

// "all" tries exhaustive search up to that many operations with a choice.
constexpr std::size_t kMaxExhaustiveOperations = 24;

// As shells tell it.
constexpr int kInterrupted = 128 + SIGINT;

// How long those that look at the stop token have until they are left behind too.
constexpr std::chrono::seconds kPatience(2);

struct Flags {
  std::string graph;
  SimulationConfig simulation;
  std::string algorithm = kAll;
  BaselineOptions options;
  int threads = 1;
  std::string starts;
  bool json = false;
  std::string output;
};

void add_algorithm_flags(CLI::App& app, Flags& flags) {
  const CLI::Range some(std::int64_t{1}, std::int64_t{1} << 40);
  BaselineOptions& options = flags.options;
  app.add_option("--algorithm", flags.algorithm, "one of those listed below, or all")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of what is drawn at random")->capture_default_str();
  app.add_option("--samples", options.random_samples, "assignments of random")
      ->check(some)
      ->capture_default_str();
  app.add_option("--tries", options.critical_path_tries, "schedules of critical-path")
      ->check(some)
      ->capture_default_str();
  app.add_option("--evaluations", options.local_search_evaluations, "simulations of local-search")
      ->check(some)
      ->capture_default_str();
  app.add_option("--seconds", options.local_search_seconds,
                 "let local-search run that long instead; not reproducible")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--threads", flags.threads, "of local-search; part of what makes its result")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--starts", flags.starts,
                 "file with an assignment a line that local-search begins from, besides its own");
  app.add_option("--limit", options.exhaustive.limit,
                 "assignments, whole and partial, that exhaustive may look at")
      ->check(some)
      ->capture_default_str();
}

Flags read_flags(int argc, char** argv) {
  CLI::App app("Costs the classical schedulers and search on a graph.", "doppler baseline");
  Flags flags;
  app.add_option("GRAPH", flags.graph, "graph file of any format")->required();
  add_simulation_flags(app, flags.simulation);
  add_algorithm_flags(app, flags);
  app.add_flag("--json", flags.json, "print JSON, with the assignments");
  app.add_option("--output", flags.output, "folder to write each assignment to, as ALGORITHM.json");
  std::string footer = "Algorithms:\n";
  const auto add_line = [&](const BaselineInfo& info) {
    std::string name = info.name;
    name.resize(26, ' ');
    footer += "  " + name + info.summary + "\n";
  };
  for (const BaselineInfo& info : baselines()) add_line(info);
  add_line(kExhaustiveInfo);
  app.footer(
      footer +
      "\nall takes exhaustive only for tiny graphs. Ctrl-C ends the algorithm that runs, with its\n"
      "best so far where it makes many tries, and prints what there is.\n\n"
      "Examples:\n"
      "  doppler baseline graph.txt --reference --devices 4\n"
      "  doppler baseline model.onnx --topology configs/topologies/a100x8-nvswitch.yaml \\\n"
      "      --contention fair --algorithm local-search --seconds 60 --threads 8");
  parse_flags(app, argc, argv);
  check_simulation_flags(app, flags.simulation);
  return flags;
}

// All that the algorithms need, in the order in which it has to be there. Owns it, and each
// algorithm that runs has a share: one that is left behind runs on beside the end of the program.
class Comparison : public std::enable_shared_from_this<Comparison> {
 public:
  Comparison(Flags flags, Graph graph)
      : flags_(std::move(flags)),
        graph_(std::move(graph)),
        physical_(flags_.simulation.mode == SimulationMode::kPhysical),
        topology_(physical_ ? std::optional(load_topology(flags_.simulation.topology))
                            : std::nullopt),
        machine_(name_file_in_errors(input_name(flags_.graph), [this] { return make_machine(); })),
        options_(flags_.options) {
    for (int t = 0; t < flags_.threads; ++t) {
      executors_.push_back(owned_executors_.emplace_back(machine_.make_executor()).get());
    }
    const SimulationConfig& simulation = flags_.simulation;
    const bool noisy = simulation.operation_noise > 0 || simulation.transfer_noise > 0 ||
                       !simulation.kind_noise.empty();
    const bool plain = !noisy && simulation.contention == Contention::kNone &&
                       simulation.memory == MemoryRule::kReport;
    options_.exhaustive.cost_table_bounds = !physical_ || !noisy;
    options_.exhaustive.cost_table_tells_all = !physical_ || plain;
    options_.local_search_starts = read_search_starts(flags_.starts, machine_.costs());
    options_.stop = stop_.get_token();
    options_.on_progress = [this](const SearchProgress& search) { set_search(search); };

    report_.graph = graph_.name();
    report_.devices = machine_.costs().device_count();
    report_.seed = flags_.options.seed;
    report_.physical = physical_;
    if (!physical_ || !noisy) report_.bounds = lower_bounds(machine_.costs());
    if (report_.bounds) options_.local_search_target = report_.bounds->largest;
  }

  // All that were asked for, or those that had a result when a signal came.
  const BaselineReport& run() {
    const std::vector<std::string> names = algorithms();
    Progress progress("baseline");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto show = [&] {
        const auto [fraction, text] = shown(names[i]);
        progress.update((static_cast<double>(i) + fraction) / static_cast<double>(names.size()),
                        text);
      };
      if (interruption_signal() != 0 || !run_one(names[i], show))
        without_result_.push_back(names[i]);
    }
    progress.clear();
    return report_;
  }

  const std::vector<std::string>& without_result() const { return without_result_; }

 private:
  Machine make_machine() const {
    return {graph_, topology_ ? &*topology_ : nullptr, flags_.simulation, flags_.options.seed};
  }

  std::vector<std::string> algorithms() const {
    if (flags_.algorithm != kAll) return {flags_.algorithm};
    std::vector<std::string> names;
    for (const BaselineInfo& info : baselines()) names.emplace_back(info.name);
    const DeviceChoices choices(machine_.costs());
    if (choices.free_operations().size() <= kMaxExhaustiveOperations) {
      names.emplace_back(kExhaustiveInfo.name);
    }
    return names;
  }

  // False: interrupted and left behind.
  bool run_one(const std::string& name, const std::function<void()>& show) {
    set_search({.fraction = 0, .evaluations = 0, .best = SimTime::max()});
    show();
    const auto result = std::make_shared<std::optional<BaselineResult>>();
    std::optional<std::chrono::steady_clock::time_point> stopped;
    const bool done =
        run_watched([self = shared_from_this(), name, result] { *result = self->result_of(name); },
                    [&] {
                      show();
                      if (interruption_signal() == 0) return true;
                      stop_.request_stop();
                      const auto now = std::chrono::steady_clock::now();
                      if (!stopped) stopped = now;
                      return now - *stopped < kPatience;
                    });
    if (done && *result) report_.results.push_back(std::move(**result));
    return done;
  }

  // Nothing where the search through everything, not asked for by name, is not for this graph.
  std::optional<BaselineResult> result_of(const std::string& name) {
    if (flags_.algorithm != kAll || name != kExhaustiveInfo.name) {
      return run_baseline(name, machine_.costs(), executors_, options_);
    }
    const auto begin = std::chrono::steady_clock::now();
    ExhaustiveOptions limits = options_.exhaustive;
    limits.stop = options_.stop;
    std::optional<BaselineResult> result =
        exhaustive(machine_.costs(), *executors_.front(), limits);
    if (!result) return std::nullopt;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    result->name = kExhaustiveInfo.name;
    result->seconds = passed.count();
    return result;
  }

  void set_search(const SearchProgress& search) {
    const std::lock_guard lock(progress_mutex_);
    search_ = search;
  }

  // How far the algorithm is, of 1, and what it has reached.
  std::pair<double, std::string> shown(const std::string& name) {
    const std::lock_guard lock(progress_mutex_);
    std::string text = name;
    if (search_.evaluations > 0)
      text += ": " + std::to_string(search_.evaluations) + " evaluations";
    if (search_.evaluations > 0 && search_.best != SimTime::max()) {
      text += ", best " + std::to_string(displayed_cost(search_.best, physical_));
    }
    return {search_.fraction, text};
  }

  const Flags flags_;
  const Graph graph_;
  const bool physical_;
  const std::optional<Topology> topology_;
  Machine machine_;
  BaselineOptions options_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<Executor>> owned_executors_;
  std::vector<Executor*> executors_;
  BaselineReport report_;
  std::vector<std::string> without_result_;
  std::mutex progress_mutex_;
  SearchProgress search_;  // of the algorithm that runs
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void print(const BaselineReport& report, bool json) {
  if (json) {
    std::cout << to_json(report).dump(2) << "\n";
  } else {
    print_table(report, std::cout);
  }
}

int baseline_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  Imported file = load_any_graph(flags.graph, std::nullopt, {});
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, input_name(flags.graph)) << "\n";
  }
  const auto comparison = std::make_shared<Comparison>(flags, std::move(file.graph));
  if (!flags.output.empty()) prepare_folder(flags.output);
  note_interruptions({SIGINT});
  const BaselineReport& report = comparison->run();
  if (!flags.output.empty()) write_assignments(report, flags.output);
  const std::vector<std::string>& missing = comparison->without_result();
  if (missing.empty() || !report.results.empty()) print(report, flags.json);
  if (missing.empty()) return static_cast<int>(ExitCode::kDone);
  std::cout.flush();
  std::cerr << "doppler baseline: interrupted; without a result: " << joined(missing) << "\n";
  return kInterrupted;
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::baseline_main);
}
