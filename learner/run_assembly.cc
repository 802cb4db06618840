#include "learner/run_assembly.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/config_io.h"
#include "common/error.h"
#include "common/progress.h"
#include "common/topology_file.h"
#include "learner/closing_stages.h"
#include "learner/run_processes.h"
#include "learner/run_summary.h"
#include "learner/stop_signal.h"
#include "learner/ticket_desk.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

// What the end of a run needs beyond training: the last evaluation, checkpoint and report.
constexpr double kClosingSeconds = 1.0;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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

// What is left for training of a budget in seconds; 0 where there is none.
double training_seconds(const RunParts& parts) {
  const Config& config = parts.config;
  if (config.run.budget_seconds <= 0) return 0;
  const double used = seconds_since(parts.process_start);
  return std::max(0.1,
                  config.run.budget_seconds - config.refinement.seconds - used - kClosingSeconds);
}

ProcessCounts counts_of(RunProcesses& processes) {
  ProcessCounts counts{.restarts = processes.restart_count(),
                       .refused_connections = processes.socket().refused_connections(),
                       .conflated_versions = processes.conflated_versions(),
                       .late_hosts = {}};
  for (const LateHost& late : processes.late_hosts()) {
    counts.late_hosts.push_back({late.host, late.seconds});
  }
  return counts;
}

// The stages after training that the configuration asks for.
void add_closing_stages(const RunParts& parts, const ShowProgress& show_progress,
                        RunSurroundings& surroundings) {
  const Config& config = parts.config;
  const RunInputs& inputs = parts.inputs;
  if (config.refinement.seconds > 0 || config.refinement.evaluations > 0) {
    // As many threads as this node's workers, which have nothing to do by then.
    surroundings.refine = [&config, &inputs, show_progress](
                              std::size_t graph, const std::vector<BestPlacement>& starts) {
      return std::optional(refine_graph(config, inputs.graphs[graph], inputs.graphs.size(),
                                        static_cast<int>(local_worker_count(config)), starts,
                                        show_progress));
    };
  }
  if (config.stages.real.enabled && config.execution.final_repeats > 0) {
    surroundings.compare = [&config, &inputs, show_progress](
                               std::size_t graph, const std::vector<LearnedPlacement>& learned) {
      return compare_graph(config, inputs, graph, learned, show_progress);
    };
  }
}

void tell(const RunSummary& summary, const TrainOptions& options) {
  std::fputs(options.json ? summary_json(summary).c_str() : summary_table(summary).c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw SystemError("standard output: the summary could not be written; it stands in " +
                      options.run_dir + "/summary.json");
  }
}

}  // namespace

std::uint32_t local_worker_count(const Config& config) {
  return config.run.workers > 0 ? static_cast<std::uint32_t>(config.run.workers)
                                : std::max(1U, std::thread::hardware_concurrency());
}

RunOutcome run_training(const RunParts& parts, MpiSession& session, RunFolder& folder) {
  const TrainOptions& options = parts.options;
  const Config& config = parts.config;
  const std::string config_yaml = to_yaml(config);
  std::vector<RunGraph> graphs = make_run_graphs(config, parts.inputs, parts.resumed);
  const Welcome welcome = make_welcome(config, parts.inputs);
  Progress progress("train");
  const double seconds = training_seconds(parts);
  std::unique_ptr<RunProcesses> processes;
  std::uint64_t newest_version = 0;
  RunSurroundings surroundings;
  surroundings.publish = [&](std::uint64_t version, std::span<const std::byte> bytes) {
    processes->publish(version, bytes);
    if (version == options.kill_after_updates && version > 0) std::raise(SIGKILL);
    newest_version = version;
  };
  surroundings.tend = [&] { processes->tend(); };
  surroundings.counts = [&] { return processes ? counts_of(*processes) : ProcessCounts{}; };
  surroundings.stop_requested = [&] {
    return stop_signal() != 0 ||
           (options.stop_after_updates > 0 && newest_version >= options.stop_after_updates);
  };
  surroundings.show_progress = [&](double fraction, const std::string& line) {
    if (!options.quiet) progress.update(fraction, line);
  };
  add_closing_stages(parts, surroundings.show_progress, surroundings);
  TrainingRun run(config, config_yaml, config_hash(config), std::move(graphs), folder,
                  std::move(surroundings), parts.resumed, parts.initial, seconds);
  processes = std::make_unique<RunProcesses>(
      config,
      RunPlace{.world_size = session.size(),
               .machine = session.processor_name(),
               .run_dir = options.run_dir},
      WeightStore{.slots = run.version_slots(), .bytes = run.snapshot_bytes()},
      local_worker_count(config), parts.limits);
  TicketDesk desk(processes->socket(), run.book(), welcome, processes->token(),
                  processes->joined());
  const RunOutcome outcome = run.run(desk);
  progress.finish();
  desk.say_goodbye();
  processes->stop();

  RunSummary summary = run.summary();
  summary.outcome = outcome == RunOutcome::kDone ? "done" : "stopped early";
  summary.wall_seconds = seconds_since(parts.process_start);
  folder.write_summary(summary_json(summary));
  tell(summary, options);
  if (!run.losses().empty()) {
    throw SystemError(
        fmt::format("run folder {}: {}; look for a full disk, then go on with doppler "
                    "resume",
                    options.run_dir, fmt::join(run.losses(), "; ")));
  }
  return outcome;
}

}  // namespace doppler
