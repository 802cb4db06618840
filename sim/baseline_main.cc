// doppler baseline: what the classical schedulers and search reach on a graph.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/progress.h"
#include "common/reference_cost.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "sim/baseline_report.h"
#include "sim/baselines.h"
#include "sim/device_choices.h"
#include "sim/lower_bounds.h"
#include "sim/machine.h"
#include "sim/simulation_flags.h"

namespace doppler {
namespace {

constexpr const char* kAll = "all";
constexpr const char* kLocalSearch = "local-search";

// "all" tries exhaustive search up to that many operations with a choice.
constexpr std::size_t kMaxExhaustiveOperations = 24;

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
volatile std::sig_atomic_t stop_signal = 0;

void request_stop(int number) {
  stop_signal = number;
}

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
  app.footer(footer +
             "\nall takes exhaustive only for tiny graphs. Ctrl-C ends local-search early.\n\n"
             "Examples:\n"
             "  doppler baseline graph.txt --reference --devices 4\n"
             "  doppler baseline model.onnx --topology configs/topologies/a100x8-nvswitch.yaml \\\n"
             "      --contention fair --algorithm local-search --seconds 60 --threads 8");
  parse_flags(app, argc, argv);
  check_simulation_flags(app, flags.simulation);
  return flags;
}

std::vector<SearchStart> read_starts(const std::string& path, const CostTable& costs) {
  std::vector<SearchStart> starts;
  if (path.empty()) return starts;
  const std::string name = path == "-" ? "standard input" : path;
  for (Assignment& assignment : parse_assignments(
           read_text_file(path), name, costs.graph().operation_count(), costs.device_count())) {
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      const OperationId operation(static_cast<std::int32_t>(i));
      if (costs.allowed(operation, assignment[operation])) continue;
      throw ConfigError(name + ": assignment " + std::to_string(starts.size() + 1) +
                        ": operation " + std::to_string(i) + " may not run on device " +
                        std::to_string(assignment[operation].value()) +
                        ": the graph pins it elsewhere or forbids it there");
    }
    starts.push_back({std::move(assignment), {}});
  }
  return starts;
}

// All that the algorithms need, in the order in which it has to be there.
class Comparison {
 public:
  Comparison(const Flags& flags, const Graph& graph)
      : flags_(flags),
        physical_(flags.simulation.mode == SimulationMode::kPhysical),
        topology_(physical_ ? std::optional(load_topology(flags.simulation.topology))
                            : std::nullopt),
        machine_(graph, topology_ ? &*topology_ : nullptr, flags.simulation, flags.options.seed),
        options_(flags.options) {
    for (int t = 0; t < flags.threads; ++t) {
      executors_.push_back(owned_executors_.emplace_back(machine_.make_executor()).get());
    }
    const SimulationConfig& simulation = flags.simulation;
    const bool noisy = simulation.operation_noise > 0 || simulation.transfer_noise > 0;
    const bool plain = !noisy && simulation.contention == Contention::kNone &&
                       simulation.memory == MemoryRule::kReport;
    options_.exhaustive.cost_table_bounds = !physical_ || !noisy;
    options_.exhaustive.cost_table_tells_all = !physical_ || plain;
    options_.local_search_starts = read_starts(flags.starts, machine_.costs());
    options_.local_search_stop = stop_.get_token();

    report_.graph = graph.name();
    report_.devices = machine_.costs().device_count();
    report_.seed = flags.options.seed;
    report_.physical = physical_;
    if (!physical_ || !noisy) report_.bounds = lower_bounds(machine_.costs());
    if (report_.bounds) options_.local_search_target = report_.bounds->largest;
  }

  const BaselineReport& run() {
    std::vector<std::string> names;
    if (flags_.algorithm == kAll) {
      for (const BaselineInfo& info : baselines()) names.emplace_back(info.name);
    } else {
      names.push_back(flags_.algorithm);
    }
    Progress progress("baseline");
    for (std::size_t i = 0; i < names.size() && stop_signal == 0; ++i) {
      const auto show = [&](double fraction, const std::string& text) {
        progress.update((static_cast<double>(i) + fraction) / static_cast<double>(names.size()),
                        text);
      };
      show(0, names[i]);
      options_.on_search_progress = [&](const SearchProgress& search) {
        if (stop_signal != 0) stop_.request_stop();
        show(search.fraction, std::string(kLocalSearch) + ": " + describe(search));
      };
      report_.results.push_back(run_baseline(names[i], machine_.costs(), executors_, options_));
    }
    if (flags_.algorithm == kAll && stop_signal == 0) try_exhaustive();
    progress.clear();
    return report_;
  }

 private:
  std::string describe(const SearchProgress& search) const {
    std::string text = std::to_string(search.evaluations) + " evaluations";
    if (search.best == SimTime::max()) return text;
    return text + ", best " + std::to_string(displayed_cost(search.best, physical_));
  }

  void try_exhaustive() {
    const DeviceChoices choices(machine_.costs());
    if (choices.free_operations().size() > kMaxExhaustiveOperations) return;
    const auto begin = std::chrono::steady_clock::now();
    std::optional<BaselineResult> result =
        exhaustive(machine_.costs(), *executors_.front(), options_.exhaustive);
    if (!result) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    result->name = kExhaustiveInfo.name;
    result->seconds = passed.count();
    report_.results.push_back(std::move(*result));
  }

  const Flags& flags_;
  const bool physical_;
  const std::optional<Topology> topology_;
  Machine machine_;
  BaselineOptions options_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<Executor>> owned_executors_;
  std::vector<Executor*> executors_;
  BaselineReport report_;
};

int baseline_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const Imported file = load_any_graph(flags.graph, std::nullopt, {});
  for (const Warning& warning : file.warnings) {
    std::cerr << describe(warning, flags.graph) << "\n";
  }
  Comparison comparison(flags, file.graph);
  struct sigaction action {};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESETHAND;  // a second one ends the program
  sigaction(SIGINT, &action, nullptr);
  const BaselineReport& report = comparison.run();
  if (!flags.output.empty()) write_assignments(report, flags.output);
  if (flags.json) {
    std::cout << to_json(report).dump(2) << "\n";
  } else {
    print_table(report, std::cout);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::baseline_main);
}
