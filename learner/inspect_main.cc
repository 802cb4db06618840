// doppler inspect: what the HDF5 files of a run hold.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/error.h"
#include "learner/inspect_report.h"

namespace doppler {
namespace {

struct InspectOptions {
  std::string path;
  bool json = false;
  std::size_t best_episodes = 5;
  std::optional<std::uint64_t> episode;
};

nlohmann::ordered_json inspect(const InspectOptions& options) {
  namespace fs = std::filesystem;
  if (!fs::exists(options.path)) {
    throw ConfigError(options.path +
                      ": there is no such run folder or file; runs are made by `doppler train`, in "
                      "runs/NAME");
  }
  if (options.episode) return inspect_episode(options.path, *options.episode);
  if (!fs::is_directory(options.path)) return inspect_file(options.path, options.best_episodes);
  if (!fs::exists(options.path + "/checkpoints") && !fs::exists(options.path + "/trajectories")) {
    throw ConfigError(options.path +
                      ": not a run folder, it holds neither checkpoints/ nor trajectories/");
  }
  return inspect_run(options.path, options.best_episodes);
}

int run(int argc, char** argv) {
  CLI::App app("Shows what the checkpoints and trajectory logs of a run hold, also while it runs.",
               "doppler inspect");
  InspectOptions options;
  app.add_option("path", options.path, "run folder, checkpoint or trajectory segment (.h5)")
      ->required();
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--episodes", options.best_episodes,
                 "list so many of the best episodes of each graph")
      ->capture_default_str();
  app.add_option("--episode", options.episode, "show this episode with its decisions")
      ->check(CLI::Range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  app.footer(
      "Exits with 2 where something is damaged or missing.\n\n"
      "Example:\n  doppler inspect runs/chain-mm --episodes 3\n"
      "  doppler inspect runs/chain-mm/checkpoints/best.h5 --json");
  parse_flags(app, argc, argv);
  const nlohmann::ordered_json report = inspect(options);
  std::cout << (options.json ? report.dump(2) + "\n" : inspect_text(report));
  const bool sound = !report.contains("problems") || report["problems"].empty();
  return static_cast<int>(sound ? ExitCode::kDone : ExitCode::kBadInput);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, &doppler::run);
}
