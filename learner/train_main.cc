// doppler-train: `doppler train CONFIG` and `doppler resume RUN_DIR`. Joins the parts of a run:
// graph, simulator and baselines, the learner's loop, this node's workers, the links to the hosts
// of other ranks.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/config_io.h"
#include "common/error.h"
#include "common/log.h"
#include "common/mpi_link.h"
#include "common/open_files.h"
#include "common/progress.h"
#include "common/reference_cost.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "common/worker_supervisor.h"
#include "gpuexec/backend_factory.h"
#include "learner/checkpoint_store.h"
#include "learner/final_comparison.h"
#include "learner/refinement.h"
#include "learner/run_folder.h"
#include "learner/run_input.h"
#include "learner/run_processes.h"
#include "learner/torch_threads.h"
#include "learner/training_run.h"
#include "learner/verify_resume.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

// Of the learner itself, measured: libraries' and log files, sockets, descriptors to wake threads.
constexpr std::uint64_t kOwnOpenFiles = 56;
// What the end of a run needs beyond training: the last evaluation, checkpoint and report.
constexpr double kClosingSeconds = 1.0;

volatile std::sig_atomic_t stop_signal = 0;

void request_stop(int number) {
  stop_signal = number;
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), not a death
}

struct Options {
  bool resume = false;
  std::string config_path;
  std::string run_dir;
  std::int64_t workers = -1;
  std::vector<std::string> overrides;
  bool allow_changed_config = false;
  bool json = false;
  bool quiet = false;
  std::vector<std::uint64_t> verify_resume;  // empty, or updates before and after
  std::uint64_t stop_after_updates = 0;      // 0: does not
  std::uint64_t kill_after_updates = 0;
};

Options parse_options(int argc, char** argv) {
  Options options;
  options.resume = argc > 1 && std::string(argv[1]) == "resume";
  if (options.resume) {
    --argc;
    ++argv;
  }
  CLI::App app{options.resume ? "Continue a run from its newest valid checkpoint."
                              : "Train the policies on a graph; keep everything in a run folder."};
  app.name(options.resume ? "doppler resume" : "doppler train");
  if (options.resume) {
    app.add_option("RUN_DIR", options.run_dir, "folder of the run")->required();
    app.add_flag("--allow-changed-config", options.allow_changed_config,
                 "go on although config.yaml was changed in ways that make it another run");
    app.footer("Example:\n  doppler resume runs/quickstart");
  } else {
    app.add_option("CONFIG", options.config_path, "configuration file, see docs/configuration.md")
        ->required();
    app.add_option("--run-dir", options.run_dir,
                   "folder for the run's files (default: runs/<run.name>-<date>-<time>)");
    app.add_option("--set", options.overrides, "key=value: overrides the configuration")
        ->take_all();
    app.add_option("--verify-resume", options.verify_resume,
                   "instead of a run, a trial: K + M updates straight, and K, SIGKILL, resume, M; "
                   "equal to the last bit?")
        ->expected(2)
        ->check(CLI::Range(1, 1000000000))
        ->type_name("K M");
    app.add_option("--kill-after-updates", options.kill_after_updates,
                   "for trials: end by SIGKILL after so many updates");
    app.footer(
        "Examples:\n"
        "  doppler train configs/quickstart.yaml\n"
        "  doppler train configs/reference.yaml --set graph.path=graph.txt --workers 2\n"
        "  mpirun -n 3 doppler train configs/reference.yaml --set graph.path=graph.txt");
  }
  app.add_option("--workers", options.workers, "worker processes per host (default: one per core)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", options.json, "print the summary as JSON on standard output");
  app.add_flag("--quiet", options.quiet, "no progress");
  app.add_option("--stop-after-updates", options.stop_after_updates,
                 "stop, resumable, when so many updates are done in all");
  parse_flags(app, argc, argv);
  return options;
}

std::string default_run_dir(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("runs/{}-{:04}{:02}{:02}-{:02}{:02}{:02}", name, local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

// Null for a run that was killed before its first checkpoint: it begins anew.
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

std::uint32_t local_worker_count(const Config& config) {
  return config.run.workers > 0 ? static_cast<std::uint32_t>(config.run.workers)
                                : std::max(1U, std::thread::hardware_concurrency());
}

Welcome make_welcome(const Config& config, const RunInputs& inputs) {
  Welcome welcome;
  welcome.run_seed = config.run.seed;
  welcome.simulation = config.simulation;
  welcome.teacher = config.stages.teacher;
  welcome.select = config.model.select;
  welcome.place = config.model.place;
  welcome.executes = config.stages.real.enabled;
  welcome.execution = config.execution;
  if (inputs.topology) welcome.topology = format_topology(*inputs.topology);
  for (const RunInput& input : inputs.graphs) {
    welcome.graphs.push_back(*input.graph);
    if (!config.stages.imitation.enabled) continue;
    if (auto plan = teacher_plan(config.stages.teacher, input, config.run.seed)) {
      welcome.teacher_plans.push_back(std::move(*plan));
    }
  }
  return welcome;
}

std::vector<RunGraph> make_run_graphs(const Config& config, const RunInputs& inputs,
                                      const Checkpoint* resumed) {
  std::vector<RunGraph> graphs;
  for (std::size_t g = 0; g < inputs.graphs.size(); ++g) {
    const RunInput& input = inputs.graphs[g];
    graphs.push_back(
        {&input.machine->costs(), input.levels.get(), &input.machine->executor(),
         resumed != nullptr ? resumed->graphs[g] : describe_run_input(input, config.run.seed)});
    if (config.stages.real.enabled && config.execution.candidates > 0) {
      graphs.back().baseline_placements = baseline_placements(input, config.run.seed);
    }
  }
  return graphs;
}

// Its threads are as many as this node's workers, which have nothing to do by then.
Refinement refine_graph(const Config& config, const RunInput& input, std::size_t graph_count,
                        const std::vector<BestPlacement>& starts,
                        const std::function<void(double, const std::string&)>& show_progress) {
  const RefinementBudget budget{
      .seconds = config.refinement.seconds / static_cast<double>(graph_count),
      .evaluations = config.refinement.evaluations};
  // By evaluations the result hangs on the number of threads; one gives the same everywhere.
  const int threads = budget.seconds > 0 ? static_cast<int>(local_worker_count(config)) : 1;
  std::stop_source stop;
  return refine(
      *input.machine, starts, budget, threads, config.run.seed, stop.get_token(),
      [&](const SearchProgress& progress) {
        if (stop_signal != 0) stop.request_stop();
        show_progress(
            progress.fraction,
            fmt::format(
                "refinement {:>9} evaluations  best {:.6g}  {}", progress.evaluations,
                displayed_cost(progress.best, input.graph->cost_unit() == CostUnit::kPhysical),
                input.graph->name()));
      });
}

// Nothing where this machine cannot run what the workers' machines can.
std::optional<MeasuredComparison> compare_graph(
    const Config& config, const RunInputs& inputs, std::size_t graph,
    const std::vector<LearnedPlacement>& learned,
    const std::function<void(double, const std::string&)>& show_progress) {
  const auto rounds = static_cast<double>(config.execution.final_repeats);
  try {
    return compare_for_real(
        config, inputs.graphs[graph], *inputs.topology, learned, [&](int round) {
          show_progress(round / rounds, fmt::format("comparison, round {} of {}  {}", round + 1,
                                                    rounds, inputs.graphs[graph].graph->name()));
          return stop_signal == 0;
        });
  } catch (const SystemError& error) {
    log_warning(
        "the placements cannot be compared on the learner's machine: {}; doppler execute on one "
        "of the workers' measures best/assignment.json",
        error.what());
    return std::nullopt;
  }
}

// From input that was found good to the summary; every rank above 0 is served until its end.
RunOutcome run_training(const Options& options, const Config& config, const RunInputs& inputs,
                        const Checkpoint* resumed, const Checkpoint* initial,
                        const SupervisionLimits& limits, MpiSession& session, RunFolder& folder,
                        Clock::time_point process_start) {
  const std::string config_yaml = to_yaml(config);
  std::vector<RunGraph> graphs = make_run_graphs(config, inputs, resumed);
  const Welcome welcome = make_welcome(config, inputs);
  Progress progress("train");
  double training_seconds = 0;
  if (config.run.budget_seconds > 0) {
    const double used = std::chrono::duration<double>(Clock::now() - process_start).count();
    training_seconds = std::max(
        0.1, config.run.budget_seconds - config.refinement.seconds - used - kClosingSeconds);
  }
  std::unique_ptr<RunProcesses> processes;
  std::uint64_t newest_version = 0;
  RunSurroundings surroundings;
  surroundings.publish = [&](std::uint64_t version, std::span<const std::byte> bytes) {
    processes->publish(version, bytes);
    if (version == options.kill_after_updates && version > 0) std::raise(SIGKILL);
    newest_version = version;
  };
  surroundings.tend = [&] { processes->tend(); };
  surroundings.counts = [&]() -> ProcessCounts {
    if (!processes) return {};
    ProcessCounts counts{.restarts = processes->restart_count(),
                         .refused_connections = processes->socket().refused_connections(),
                         .conflated_versions = processes->conflated_versions(),
                         .late_hosts = {}};
    for (const LateHost& late : processes->late_hosts()) {
      counts.late_hosts.push_back({late.host, late.seconds});
    }
    return counts;
  };
  surroundings.stop_requested = [&] {
    return stop_signal != 0 ||
           (options.stop_after_updates > 0 && newest_version >= options.stop_after_updates);
  };
  surroundings.show_progress = [&](double fraction, const std::string& line) {
    if (!options.quiet) progress.update(fraction, line);
  };
  if (config.refinement.seconds > 0 || config.refinement.evaluations > 0) {
    surroundings.refine = [&](std::size_t graph, const std::vector<BestPlacement>& starts) {
      return std::optional(refine_graph(config, inputs.graphs[graph], inputs.graphs.size(), starts,
                                        [&](double fraction, const std::string& line) {
                                          if (!options.quiet) progress.update(fraction, line);
                                        }));
    };
  }
  if (config.stages.real.enabled && config.execution.final_repeats > 0) {
    surroundings.compare = [&](std::size_t graph, const std::vector<LearnedPlacement>& learned) {
      return compare_graph(config, inputs, graph, learned,
                           [&](double fraction, const std::string& line) {
                             if (!options.quiet) progress.update(fraction, line);
                           });
    };
  }
  TrainingRun run(config, config_yaml, config_hash(config), std::move(graphs), folder,
                  std::move(surroundings), resumed, initial, training_seconds);
  processes = std::make_unique<RunProcesses>(
      config,
      RunPlace{.world_size = session.size(),
               .machine = session.processor_name(),
               .run_dir = options.run_dir},
      WeightStore{.slots = run.version_slots(), .bytes = run.snapshot_bytes()},
      local_worker_count(config), limits);
  TicketDesk desk(processes->socket(), run.book(), welcome, processes->token(),
                  processes->joined());
  const RunOutcome outcome = run.run(desk);
  progress.finish();
  desk.say_goodbye();
  processes->stop();

  RunSummary summary = run.summary();
  summary.outcome = outcome == RunOutcome::kDone ? "done" : "stopped early";
  summary.wall_seconds = std::chrono::duration<double>(Clock::now() - process_start).count();
  folder.write_summary(summary_json(summary));
  std::fputs(options.json ? summary_json(summary).c_str() : summary_table(summary).c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw SystemError("standard output: the summary could not be written; it stands in " +
                      options.run_dir + "/summary.json");
  }
  if (!run.losses().empty()) {
    throw SystemError(
        fmt::format("run folder {}: {}; look for a full disk, then go on with doppler "
                    "resume",
                    options.run_dir, fmt::join(run.losses(), "; ")));
  }
  return outcome;
}

// So that resume finds them from any folder.
void make_paths_absolute(Config& config) {
  const auto absolute = [](std::string& path) {
    if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
  };
  for (std::string& path : config.graph.path) absolute(path);
  absolute(config.simulation.topology);
  absolute(config.model.initial_checkpoint);
}

// Before anything is written: a checkpoint that does not fit is refused.
std::unique_ptr<Checkpoint> load_initial(const Config& config, const RunInputs& inputs) {
  const std::string& path = config.model.initial_checkpoint;
  if (!std::filesystem::is_regular_file(path)) {
    throw ConfigError("model.initial_checkpoint: there is no file " + path +
                      "; a run keeps its checkpoints in RUN_DIR/checkpoints");
  }
  auto checkpoint = std::make_unique<Checkpoint>(CheckpointStore::load(path));
  std::vector<TrainingGraph> graphs;
  for (const RunInput& input : inputs.graphs) {
    graphs.push_back({&input.machine->costs(), input.levels.get()});
  }
  try {
    Trainer(config.model, config.learner, config.stages.teacher, graphs, config.run.seed)
        .adopt(*checkpoint);
  } catch (const FormatError& error) {
    throw FormatError(path + ": " + error.what());
  }
  return checkpoint;
}

void refuse_changed_config(const Options& options, const Checkpoint& resumed,
                           const Config& config) {
  Config before = parse_config(resumed.config_yaml, "the checkpoint's configuration", {});
  make_paths_absolute(before);
  const std::vector<std::string> changes = forbidden_changes(before, config);
  if (changes.empty()) return;
  throw ConfigError(fmt::format(
      "{}/config.yaml: differs from what the run was trained with ({}); put it back, or accept "
      "another run with --allow-changed-config",
      options.run_dir, fmt::join(changes, "; ")));
}

// Whether the run had come to its end, and nothing has changed since.
bool is_finished(const std::string& run_dir, const Checkpoint& resumed, const Config& config) {
  std::error_code error;
  if (!std::filesystem::exists(run_dir + "/summary.json", error)) return false;
  Config before = parse_config(resumed.config_yaml, "the checkpoint's configuration", {});
  make_paths_absolute(before);
  before.run.workers = config.run.workers;
  if (config_hash(before) != config_hash(config)) return false;
  return tells_of_the_end(read_text_file(run_dir + "/summary.json"), resumed.update);
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

int run_trial(const Options& options, const Config& config) {
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
  const auto process_start = Clock::now();
  Options options = parse_options(argc, argv);
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
  if (resumed && !options.allow_changed_config) refuse_changed_config(options, *resumed, config);
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
  install_signal_handlers();

  MpiSession session;
  allow_open_files_for(static_cast<std::uint64_t>(session.size()) * local_worker_count(config));
  RunOutcome outcome = RunOutcome::kDone;
  try {
    outcome = run_training(options, config, inputs, resumed.get(), initial.get(), limits, session,
                           folder, process_start);
    session.finalize();
  } catch (const Error& error) {
    // With other ranks the session's end aborts the job, before anybody else could say why.
    if (session.size() > 1) log_error("{}", error.what());
    throw;
  }
  if (outcome == RunOutcome::kDone) return static_cast<int>(ExitCode::kDone);
  log_info("stopped {}; continue with: doppler resume {}",
           stop_signal != 0 ? fmt::format("by signal {}", static_cast<int>(stop_signal))
                            : fmt::format("after update {}", options.stop_after_updates),
           options.run_dir);
  return static_cast<int>(ExitCode::kResumable);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::train_main);
}
