// doppler-train: `doppler train CONFIG` and `doppler resume RUN_DIR`. Reads and checks all input,
// makes the run's folder, and runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/cli.h"
#include "common/config_io.h"
#include "common/error.h"
#include "common/log.h"
#include "common/mpi_link.h"
#include "common/open_files.h"
#include "common/worker_supervisor.h"
#include "gpuexec/backend_factory.h"
#include "learner/initial_checkpoint.h"
#include "learner/resumption.h"
#include "learner/run_assembly.h"
#include "learner/run_folder.h"
#include "learner/run_input.h"
#include "learner/stop_signal.h"
#include "learner/torch_threads.h"
#include "learner/train_options.h"
#include "learner/verify_resume.h"

namespace doppler {
namespace {

// Of the learner itself, measured: libraries' and log files, sockets, descriptors to wake threads.
constexpr std::uint64_t kOwnOpenFiles = 56;

std::string default_run_dir(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("runs/{}-{:04}{:02}{:02}-{:02}{:02}{:02}", name, local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

void refuse_missing_backend(const std::string& backend) {
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), backend) != names.end()) return;
  throw ConfigError(fmt::format(
      "execution.backend: this build is without {}; it has {}; build with -DDP_WITH_CUDA=ON where "
      "the CUDA Toolkit is",
      backend, fmt::join(names, ", ")));
}

// They wait for a learner: without one they would wait for ever.
void dismiss_hosts() {
  MpiSession session;
  HostLinks hosts(session.size());
  hosts.send(HostMessageKind::kStop, {});
  while (hosts.outstanding() > 0) {
    hosts.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  session.finalize();
}

void allow_open_files_for(std::uint64_t workers) {
  allow_open_files(kOwnOpenFiles + workers, "a learner of " + std::to_string(workers) + " workers");
}

int run_trial(const TrainOptions& options, const Config& config) {
  if (config.learner.mode != TrainingMode::kSynchronous || config.run.budget_seconds > 0) {
    throw ConfigError(
        "--verify-resume: only in synchronous mode and with budgets in episodes is a run a "
        "function "
        "of its configuration; set learner.mode: synchronous and run.budget_seconds: 0");
  }
  ResumeTrial trial{.configuration = {options.config_path},
                    .folder = options.run_dir.empty() ? default_run_dir(config.run.name + "-verify")
                                                      : options.run_dir,
                    .updates_before = options.verify_resume[0],
                    .updates_after = options.verify_resume[1]};
  for (const std::string& one : options.overrides) {
    trial.configuration.emplace_back("--set");
    trial.configuration.push_back(one);
  }
  std::fputs(verify_resume(trial).c_str(), stdout);
  return static_cast<int>(ExitCode::kDone);
}

int train_main(int argc, char** argv) {
  const auto process_start = std::chrono::steady_clock::now();
  TrainOptions options = parse_train_options(argc, argv);
  limit_torch_threads(1);
  set_log_name("learner/0");

  // Nothing is written before all input has been read and found good.
  if (options.workers >= 0) {
    options.overrides.push_back("run.workers=" + std::to_string(options.workers));
  }
  const std::string config_path =
      options.resume ? options.run_dir + "/config.yaml" : options.config_path;
  if (options.resume && !std::filesystem::exists(config_path)) {
    throw ConfigError(
        "run folder " + options.run_dir +
        ": there is no config.yaml in it; give the folder of a run that doppler train began");
  }
  Config config = load_config(config_path, options.overrides);
  make_paths_absolute(config);
  if (!options.verify_resume.empty()) return run_trial(options, config);
  const SupervisionLimits limits = supervision_limits_from_environment();
  if (config.stages.real.enabled) refuse_missing_backend(config.execution.backend);
  const RunInputs inputs = load_run_inputs(config);
  std::unique_ptr<Checkpoint> resumed;
  if (options.resume) resumed = load_resumed(options.run_dir, inputs);
  if (resumed && !options.allow_changed_config) {
    refuse_changed_config(options.run_dir, *resumed, config);
  }
  if (resumed && is_finished(options.run_dir, *resumed, config)) {
    log_info("the run is done; to train further raise its budget in {}", config_path);
    dismiss_hosts();
    return static_cast<int>(ExitCode::kDone);
  }
  std::unique_ptr<Checkpoint> initial;
  if (!resumed && !config.model.initial_checkpoint.empty()) initial = load_initial(config, inputs);
  allow_open_files_for(local_worker_count(config));
  if (options.run_dir.empty()) options.run_dir = default_run_dir(config.run.name);
  RunFolder folder = options.resume ? RunFolder::open(options.run_dir)
                                    : RunFolder::create(options.run_dir, to_yaml(config));
  add_log_file(folder.log_path());
  if (options.resume) {
    folder.trim_metrics(resumed ? resumed->update : 0);
    folder.remove_summary();
  }
  install_stop_signals();

  MpiSession session;
  allow_open_files_for(static_cast<std::uint64_t>(session.size()) * local_worker_count(config));
  RunOutcome outcome = RunOutcome::kDone;
  try {
    outcome = run_training({.options = options,
                            .config = config,
                            .inputs = inputs,
                            .resumed = resumed.get(),
                            .initial = initial.get(),
                            .limits = limits,
                            .process_start = process_start},
                           session, folder);
    session.finalize();
  } catch (const Error& error) {
    // With other ranks the session's end aborts the job, before anybody else could say why.
    if (session.size() > 1) log_error("{}", error.what());
    throw;
  }
  if (outcome == RunOutcome::kDone) return static_cast<int>(ExitCode::kDone);
  log_info("stopped {}; continue with: doppler resume {}",
           stop_signal() != 0 ? fmt::format("by signal {}", stop_signal())
                              : fmt::format("after update {}", options.stop_after_updates),
           options.run_dir);
  return static_cast<int>(ExitCode::kResumable);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::train_main);
}
