#include "learner/resumption.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/config_io.h"
#include "common/error.h"
#include "common/log.h"
#include "common/text_file.h"
#include "learner/checkpoint_store.h"
#include "learner/run_summary.h"

namespace doppler {
namespace {

Config trained_config(const Checkpoint& resumed) {
  Config config = parse_config(resumed.config_yaml, "the checkpoint's configuration", {});
  make_paths_absolute(config);
  return config;
}

}  // namespace

std::unique_ptr<Checkpoint> load_resumed(const std::string& run_dir, const RunInputs& inputs) {
  const CheckpointStore store(run_dir, 1);
  NewestCheckpoint newest = store.load_newest_valid();
  for (const std::string& warning : newest.warnings) log_warning("{}", warning);
  if (!newest.loaded && store.list().empty()) {
    std::error_code error;
    if (std::filesystem::file_size(run_dir + "/metrics.jsonl", error) > 0 && !error) {
      throw FormatError(
          "run folder " + run_dir +
          ": it was trained in, but its checkpoints are gone; put them back, or begin "
          "anew with doppler train in another folder");
    }
    log_info("there is no checkpoint yet; the run begins anew");
    return nullptr;
  }
  if (!newest.loaded) {
    throw FormatError("run folder " + run_dir +
                      ": none of its checkpoints is valid; start the run again with doppler train");
  }
  const Checkpoint& checkpoint = newest.loaded->checkpoint;
  if (checkpoint.graphs.size() != inputs.graphs.size()) {
    throw FormatError(newest.loaded->path + ": holds " + std::to_string(checkpoint.graphs.size()) +
                      " graphs, the run's config.yaml names " +
                      std::to_string(inputs.graphs.size()) + "; put the original config.yaml back");
  }
  for (std::size_t g = 0; g < inputs.graphs.size(); ++g) {
    if (checkpoint.graphs[g].content_hash == inputs.graphs[g].graph->content_hash()) continue;
    throw FormatError(inputs.graphs[g].source +
                      ": the graph is not the one that this run was trained on; put the original "
                      "file back to resume");
  }
  log_info("resuming from {} (update {})", newest.loaded->path, checkpoint.update);
  return std::make_unique<Checkpoint>(std::move(newest.loaded->checkpoint));
}

void make_paths_absolute(Config& config) {
  const auto absolute = [](std::string& path) {
    if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
  };
  for (std::string& path : config.graph.path) absolute(path);
  absolute(config.simulation.topology);
  absolute(config.model.initial_checkpoint);
}

void refuse_changed_config(const std::string& run_dir, const Checkpoint& resumed,
                           const Config& config) {
  const std::vector<std::string> changes = forbidden_changes(trained_config(resumed), config);
  if (changes.empty()) return;
  throw ConfigError(fmt::format(
      "{}/config.yaml: differs from what the run was trained with ({}); put it back, or accept "
      "another run with --allow-changed-config",
      run_dir, fmt::join(changes, "; ")));
}

bool is_finished(const std::string& run_dir, const Checkpoint& resumed, const Config& config) {
  std::error_code error;
  if (!std::filesystem::exists(run_dir + "/summary.json", error)) return false;
  Config before = trained_config(resumed);
  before.run.workers = config.run.workers;
  if (config_hash(before) != config_hash(config)) return false;
  return tells_of_the_end(read_text_file(run_dir + "/summary.json"), resumed.update);
}

}  // namespace doppler
