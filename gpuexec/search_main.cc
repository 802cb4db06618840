// doppler search: local search whose every evaluation is a measured run. What the real stage of
// training has to beat with as many runs.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/progress.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "gpuexec/backend_factory.h"
#include "gpuexec/measured_executor.h"
#include "gpuexec/poisoned_exit.h"
#include "sim/local_search.h"
#include "sim/search_starts.h"
#include "sim/simulation_flags.h"

namespace doppler {
namespace {

struct Flags {
  std::string graph;
  std::string topology;
  std::string backend = "cpu";
  ExecutionRules rules;
  std::int64_t evaluations = 300;
  std::uint64_t seed = 1;
  std::string starts;
  MeasurementOptions measurement{.repeats = 3, .timeout_seconds = 5};
  std::string output;
  bool json = false;
};

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

Flags read_flags(int argc, char** argv) {
  CLI::App app("Searches for a placement by measured runs.", "doppler search");
  Flags flags;
  app.add_option("GRAPH", flags.graph, "graph file of any format that states FLOPs and bytes")
      ->required();
  app.add_option("--topology", flags.topology, "topology file, as doppler calibrate makes it")
      ->required();
  app.add_option("--backend", flags.backend, "cpu, emulated or cuda (default: cpu)");
  add_execution_flags(app, flags.rules);
  app.add_option("--evaluations", flags.evaluations, "placements to measure (default: 300)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--seed", flags.seed, "of the search");
  app.add_option(
      "--starts", flags.starts,
      "file with an assignment a line to begin from, besides those of the list schedulers");
  app.add_option("--repeats", flags.measurement.repeats,
                 "measured runs of each placement (default: 3)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--warmup", flags.measurement.warmup, "runs before them (default: 1)")
      ->check(CLI::Range(0, 100000));
  app.add_option("--timeout", flags.measurement.timeout_seconds,
                 "seconds that a run may take (default: 5)")
      ->check(CLI::Range(1e-6, 1e8));
  app.add_option("-o,--output", flags.output,
                 "file to write the assignment to; - is standard output (default)");
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.footer(
      "Simulated annealing as doppler baseline runs it in simulation. The best of many noisy "
      "measurements is partly luck: measure it again with doppler\n"
      "execute. Ctrl-C and SIGTERM end the search with its best so far.\n\nExample:\n"
      "  doppler search graph.json --topology here.yaml --evaluations 1000 -o searched.csv");
  parse_flags(app, argc, argv);
  return flags;
}

int search_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const Imported file = load_any_graph(flags.graph, std::nullopt, {});
  for (const Warning& warning : file.warnings)
    std::cerr << describe(warning, input_name(flags.graph)) << "\n";
  const Topology topology = load_topology(flags.topology);
  const CostTable costs = name_file_in_errors(
      input_name(flags.graph), [&] { return CostTable::physical(file.graph, topology); });
  PhysicalOptions physical;
  physical.contention = flags.rules.contention;
  physical.dispatch = flags.rules.dispatch;
  physical.memory = MemoryRule::kEnforce;
  LocalSearchOptions options;
  options.starts = read_search_starts(flags.starts, costs);
  options.refine = !options.starts.empty();
  options.seed = flags.seed;
  options.evaluations = flags.evaluations;
  MeasuredExecutor executor(costs, topology, physical,
                            make_backend(flags.backend, costs, topology, physical.contention),
                            flags.measurement);

  std::stop_source stop;
  options.stop = stop.get_token();
  Progress progress("search");
  options.on_progress = [&](const SearchProgress& search) {
    if (interrupted) stop.request_stop();
    progress.update(search.fraction, std::to_string(search.evaluations) + " evaluations, best " +
                                         std::to_string(1e3 * search.best.seconds()) + " ms");
  };
  for (int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { interrupted = true; });
  const BaselineResult result = local_search(costs, executor, options);
  progress.clear();
  if (!result.feasible)
    throw SystemError("no placement could be measured: all failed; look at memory and --timeout");

  const std::string line = format_assignment(result.assignment) + "\n";
  if (!flags.output.empty() && flags.output != "-") write_text_file(flags.output, line);
  if (flags.json) {
    const nlohmann::ordered_json json = {
        {"evaluations", result.evaluations},
        {"stopped_early", result.stopped_early},
        {"best_seconds", result.makespan.seconds()},
        {"assignment", nlohmann::json::parse("[" + format_assignment(result.assignment) + "]")}};
    std::cout << json.dump() << "\n";
    return static_cast<int>(ExitCode::kDone);
  }
  if (flags.output.empty() || flags.output == "-") std::cout << line;
  std::cerr << "best of " << result.evaluations
            << " placements: " << 1e3 * result.makespan.seconds() << " ms\n";
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, [](int count, char** values) {
    return doppler::with_poisoned_exit_code([&] { return doppler::search_main(count, values); });
  });
}
