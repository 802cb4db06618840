#include "learner/verify_resume.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "common/child_output.h"
#include "common/error.h"
#include "common/log.h"
#include "common/program_path.h"
#include "learner/checkpoint_store.h"

namespace doppler {
namespace {

// However long the updates take: who waits here can interrupt.
constexpr std::chrono::hours kTimeout(24 * 365);
constexpr int kSignalExit = 128;

void run(std::vector<std::string> arguments, int expected_exit_code) {
  arguments.insert(arguments.begin(), sibling_program("doppler-train"));
  arguments.emplace_back("--quiet");
  const ChildOutput output = child_output(arguments, kTimeout);
  if (output.exit_code == expected_exit_code) return;
  throw SystemError(fmt::format("a run of the trial ended with exit code {} instead of {}:\n{}",
                                output.exit_code, expected_exit_code, output.text));
}

Checkpoint last_checkpoint(const std::string& run_dir, std::uint64_t update) {
  NewestCheckpoint newest = CheckpointStore(run_dir, 1).load_newest_valid();
  if (!newest.loaded || newest.loaded->checkpoint.update != update) {
    throw SystemError(
        fmt::format("run folder {}: there is no checkpoint of update {}; the budget "
                    "of the configuration may be smaller",
                    run_dir, update));
  }
  return std::move(newest.loaded->checkpoint);
}

bool same_bits(const NamedTensor& a, const NamedTensor& b) {
  return a.name == b.name && a.shape == b.shape && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

std::size_t compare(const std::vector<NamedTensor>& straight,
                    const std::vector<NamedTensor>& resumed) {
  if (straight.size() != resumed.size()) {
    throw SystemError("the resumed run has other tensors than the one that went straight on");
  }
  std::size_t values = 0;
  for (std::size_t i = 0; i < straight.size(); ++i) {
    if (!same_bits(straight[i], resumed[i])) {
      throw SystemError("tensor \"" + straight[i].name +
                        "\" differs between the run that went straight on and the one that was "
                        "killed and resumed");
    }
    values += straight[i].values.size();
  }
  return values;
}

}  // namespace

std::string verify_resume(const ResumeTrial& trial) {
  if (std::filesystem::exists(trial.folder)) {
    throw ConfigError(trial.folder + ": exists already; name another folder with --run-dir");
  }
  const std::uint64_t all = trial.updates_before + trial.updates_after;
  const std::string straight = trial.folder + "/straight";
  const std::string resumed = trial.folder + "/resumed";
  const auto begin = [&](const std::string& run_dir, const std::string& flag,
                         std::uint64_t updates) {
    std::vector<std::string> arguments = trial.configuration;
    // Not after every update, so that some are done twice.
    for (const std::string& word :
         {std::string("--run-dir"), run_dir, flag, std::to_string(updates), std::string("--set"),
          fmt::format("checkpoint.every_updates={}",
                      std::max<std::uint64_t>(1, trial.updates_before * 2 / 3))}) {
      arguments.push_back(word);
    }
    return arguments;
  };
  const int resumable = static_cast<int>(ExitCode::kResumable);
  log_info("{} updates without a stop", all);
  run(begin(straight, "--stop-after-updates", all), resumable);
  log_info("{} updates, then SIGKILL", trial.updates_before);
  run(begin(resumed, "--kill-after-updates", trial.updates_before), kSignalExit + SIGKILL);
  log_info("resumed, until update {}", all);
  run({"resume", resumed, "--stop-after-updates", std::to_string(all)}, resumable);

  const Checkpoint a = last_checkpoint(straight, all);
  const Checkpoint b = last_checkpoint(resumed, all);
  const std::size_t weights = compare(a.parameters, b.parameters);
  const std::size_t optimizer = compare(a.optimizer, b.optimizer);
  if (a.counts.trained != b.counts.trained) {
    throw SystemError(fmt::format("{} episodes were trained without a stop, {} with one",
                                  a.counts.trained, b.counts.trained));
  }
  return fmt::format(
      "equal to the last bit after {} updates: {} weights, {} values of the optimizer, {} trained "
      "episodes ({} were played again)\n",
      all, weights, optimizer, a.counts.trained, b.counts.discarded_at_resume);
}

}  // namespace doppler
