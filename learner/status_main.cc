// doppler status: how a run is doing.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/cli.h"
#include "common/error.h"
#include "learner/run_status.h"

namespace doppler {
namespace {

constexpr const char* kClearScreen = "\033[H\033[J";

int run(int argc, char** argv) {
  CLI::App app("Shows how a run is doing: from its folder alone, on any node that sees it.",
               "doppler status");
  std::string run_dir;
  bool watch = false;
  bool json = false;
  bool prometheus = false;
  double interval = 2;
  StatusOptions options;
  app.add_option("RUN_DIR", run_dir, "folder of the run")->required();
  CLI::Option* watch_flag =
      app.add_flag("--watch", watch, "again and again, until no learner is at work any more");
  app.add_option("--interval", interval, "of --watch, seconds")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--stalled-after", options.stalled_after_seconds,
                 "a learner without an update for so many seconds is called stalled")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* json_flag =
      app.add_flag("--json", json, "print JSON; with --watch one object a line");
  app.add_flag("--prometheus", prometheus, "print Prometheus' text format")
      ->excludes(json_flag)
      ->excludes(watch_flag);
  app.footer(
      "Exits with 3 where the run is stalled.\n\n"
      "Examples:\n  doppler status runs/first --watch\n"
      "  doppler status runs/first --json\n"
      "  doppler status runs/first --prometheus > /var/lib/node_exporter/first.prom");
  parse_flags(app, argc, argv);

  const bool redraws = watch && !json && isatty(STDOUT_FILENO) == 1;
  while (true) {
    const RunStatus status = read_run_status(run_dir, options);
    if (redraws) std::cout << kClearScreen;
    if (json) {
      std::cout << status_json(status).dump(watch ? -1 : 2) << "\n";
    } else {
      std::cout << (prometheus ? status_prometheus(status) : status_text(status));
    }
    if (!watch || !is_live(status.state)) {
      return static_cast<int>(status.state == RunState::kStalled ? ExitCode::kEnvironment
                                                                 : ExitCode::kDone);
    }
    if (!redraws && !json) std::cout << "\n";
    if (!std::cout.flush()) return static_cast<int>(ExitCode::kEnvironment);  // nobody reads on
    std::this_thread::sleep_for(std::chrono::duration<double>(interval));
  }
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, &doppler::run);
}
