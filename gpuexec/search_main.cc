// doppler search: local search whose every evaluation is a measured run. What the real stage of
// training has to beat with as many runs.
#include <csignal>
#include <cstdint>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/assignment_text.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/interruption.h"
#include "common/progress.h"
#include "common/text_file.h"
#include "gpuexec/measured_executor.h"
#include "gpuexec/measured_graph.h"
#include "gpuexec/measuring_flags.h"
#include "gpuexec/poisoned_exit.h"
#include "sim/local_search.h"
#include "sim/search_starts.h"

namespace doppler {
namespace {

struct Flags {
  MeasuringFlags measuring;
  std::int64_t evaluations = 300;
  std::uint64_t seed = 1;
  std::string starts;
  std::string output;
  bool json = false;
};

Flags read_flags(int argc, char** argv) {
  CLI::App app("Searches for a placement by measured runs.", "doppler search");
  Flags flags;
  flags.measuring.measurement.repeats = 3;
  flags.measuring.measurement.timeout_seconds = 5;
  add_measuring_flags(app, flags.measuring);
  app.add_flag("--paired", flags.measuring.measurement.paired,
               "run a control placement before every measured run and take the ratio, as training "
               "does: twice the runs, and less noise where others use the machine");
  app.add_option("--evaluations", flags.evaluations, "placements to measure")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--seed", flags.seed, "of the search")->capture_default_str();
  app.add_option(
      "--starts", flags.starts,
      "file with an assignment a line to begin from, besides those of the list schedulers");
  app.add_option("-o,--output", flags.output,
                 "file to write the assignment to; - is standard output (default)");
  app.add_flag("--json", flags.json, "print the report as JSON");
  app.footer(
      "Simulated annealing as doppler baseline runs it in simulation. The best of many noisy "
      "measurements is partly luck: measure it again with doppler\n"
      "execute. Ctrl-C and SIGTERM end the search with its best so far.\n\nExample:\n"
      "  doppler search graph.json --topology here.yaml --evaluations 1000 -o searched.csv");
  parse_flags(app, argc, argv);
  if (!flags.output.empty()) check_output_file(flags.output);
  return flags;
}

BaselineResult search(const Flags& flags, const MeasuredGraph& question) {
  LocalSearchOptions options;
  options.starts = read_search_starts(flags.starts, question.costs());
  options.refine = !options.starts.empty();
  options.seed = flags.seed;
  options.evaluations = flags.evaluations;
  MeasuredExecutor executor(question.costs(), question.topology(), question.options(),
                            question.make_backend(), flags.measuring.measurement);
  std::stop_source stop;
  options.stop = stop.get_token();
  Progress progress("search");
  options.on_progress = [&](const SearchProgress& search) {
    if (interruption_signal() != 0) stop.request_stop();
    progress.update(search.fraction, std::to_string(search.evaluations) + " evaluations, best " +
                                         std::to_string(1e3 * search.best.seconds()) + " ms");
  };
  note_interruptions({SIGINT, SIGTERM});
  return local_search(question.costs(), executor, options);
}

int search_main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  const MeasuredGraph question(flags.measuring);
  const BaselineResult result = search(flags, question);
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
