// doppler-assign: `doppler assign GRAPH --checkpoint FILE --devices N`: the placement of a graph by
// a trained policy, also of graphs and device counts that it has never seen.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "actors/policies.h"
#include "actors/rollout.h"
#include "common/cli.h"
#include "common/config_io.h"
#include "common/error.h"
#include "common/graph_format.h"
#include "common/log.h"
#include "common/message.h"
#include "common/reference_cost.h"
#include "common/text_file.h"
#include "common/topology_file.h"
#include "learner/checkpoint_store.h"
#include "learner/graph_encoding.h"
#include "learner/refinement.h"
#include "learner/torch_threads.h"
#include "sim/machine.h"

namespace doppler {
namespace {

struct Options {
  std::string graph;
  std::string checkpoint;
  int devices = 0;
  std::string topology;
  std::int64_t samples = 0;
  RefinementBudget refinement;
  std::uint64_t seed = 1;
  std::string output;
  bool json = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Place a graph by the policy of a checkpoint, greedily or as the best of K samples."};
  app.name("doppler assign");
  app.add_option("GRAPH", options.graph, "graph file")->required();
  app.add_option("--checkpoint", options.checkpoint, "checkpoint file of a run")->required();
  app.add_option("--devices", options.devices,
                 "how many devices to place on (policies of reference mode)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--topology", options.topology,
                 "topology file to place on (policies of physical mode; default: the run's own)");
  app.add_option("--samples", options.samples,
                 "besides the greedy episode, sample as many and keep the best")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}));
  app.add_option("--refine", options.refinement.seconds,
                 "local search from there, for as many seconds, on every core")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--refine-evaluations", options.refinement.evaluations,
                 "the same by number of simulations, on one core: a function of the seed")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--refine");
  app.add_option("--seed", options.seed, "of the samples and the search");
  app.add_option("--output", options.output,
                 "write the assignment there, as doppler simulate --assignments reads it");
  app.add_flag("--json", options.json, "print JSON");
  app.footer(
      "Example:\n  doppler assign graph.txt --checkpoint runs/quickstart/checkpoints/best.h5 "
      "--devices 4 --samples 100 --refine 10");
  parse_flags(app, argc, argv);
  return options;
}

// The position of the checkpoint's per-operation table for this graph; -1: it was not trained on
// it.
std::int64_t table_of(const Checkpoint& checkpoint, const Graph& graph) {
  for (std::size_t g = 0; g < checkpoint.graphs.size(); ++g) {
    if (checkpoint.graphs[g].content_hash == graph.content_hash()) {
      return static_cast<std::int64_t>(g);
    }
  }
  return -1;
}

// "chain-mm (76 operations), ffnn (180 operations)"
std::string trained_graphs(const Checkpoint& checkpoint) {
  std::string text;
  for (const GraphState& graph : checkpoint.graphs) {
    text += fmt::format("{}{} ({} operations)", text.empty() ? "" : ", ", graph.name,
                        graph.operation_count);
  }
  return text;
}

// What each step contributed.
struct Placement {
  SimTime greedy_makespan;
  BestPlacement policy;  // the best of the greedy episode and the samples
  std::optional<Refinement> refinement;
  const BestPlacement& best() const { return refinement ? refinement->placement : policy; }
};

BestPlacement placement_of(const Trajectory& trajectory, std::string found_by) {
  return {trajectory.makespan, trajectory.episode,      trajectory.seed,
          std::move(found_by), trajectory.assignment(), trajectory.operations};
}

Placement place(const WeightSnapshot& snapshot, const ModelConfig& model, const Levels& levels,
                Machine& machine, const Options& options) {
  const HeadTables& tables = snapshot.tables.front();
  const SelectHead select_head(tables.select_scores);
  const Heads heads{&snapshot.shape, &tables, &snapshot.weights, &select_head};
  Episode episode(machine.costs());
  Assignment assignment;
  Trajectory trajectory;
  const auto play = [&](const Exploration& exploration, std::uint64_t seed) {
    const Policies policies =
        make_policies(model.select, model.place, heads, levels, episode, exploration);
    play_episode(seed, episode, *policies.node, *policies.device, machine.executor(), assignment,
                 trajectory);
  };
  play({.greedy = true}, options.seed);
  Placement placement{trajectory.makespan, placement_of(trajectory, "greedy"), std::nullopt};
  for (std::int64_t sample = 0; sample < options.samples; ++sample) {
    play({}, episode_seed(options.seed, static_cast<std::uint64_t>(sample)));
    if (trajectory.makespan < placement.policy.makespan) {
      placement.policy = placement_of(trajectory, "sample " + std::to_string(sample));
    }
  }
  if (options.refinement.any()) {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    placement.refinement = refine(machine, {placement.policy}, options.refinement,
                                  options.refinement.seconds > 0 ? cores : 1, options.seed);
  }
  return placement;
}

std::vector<int> device_numbers(const Assignment& assignment) {
  std::vector<int> result;
  for (DeviceId device : assignment) result.push_back(device.value());
  return result;
}

// What is to be placed, and on what.
struct Target {
  Graph graph;
  SimulationConfig simulation;
};

// Whether its weights are for the very devices that it was trained with.
bool knows_its_devices(const ModelConfig& model) {
  return model.place == PlacePolicy::kOnePass || model.encode == EncodeTime::kPerStep;
}
std::string describe_kind(const ModelConfig& model) {
  return model.encode == EncodeTime::kPerStep ? "a policy that passes messages at each step"
                                              : "a one-pass policy";
}

Target load_target(const Options& options, const Config& config) {
  SimulationConfig simulation = config.simulation;
  if (simulation.mode == SimulationMode::kReference) {
    if (options.devices < 1) {
      throw ConfigError(
          "--devices is required: the checkpoint's policy was trained in reference mode");
    }
    if (!options.topology.empty()) {
      throw ConfigError(
          "--topology: the checkpoint's policy was trained in reference mode, which knows none; "
          "leave it out");
    }
    if (knows_its_devices(config.model) && options.devices != simulation.devices) {
      throw ConfigError("--devices: " + describe_kind(config.model) +
                        " places on as many devices as it was trained with, which is " +
                        std::to_string(simulation.devices));
    }
    simulation.devices = options.devices;
  } else {
    if (options.devices > 0) {
      throw ConfigError(
          "--devices: the checkpoint's policy was trained on a topology, which says how many "
          "devices there are; give another with --topology");
    }
    if (!options.topology.empty() && knows_its_devices(config.model)) {
      throw ConfigError("--topology: " + describe_kind(config.model) +
                        " places on the devices that it was trained with; leave it out");
    }
    if (!options.topology.empty()) simulation.topology = options.topology;
  }
  Imported loaded = load_any_graph(options.graph, std::nullopt, ImportOptions{});
  for (const Warning& warning : loaded.warnings) {
    log_warning("{}", describe(warning, options.graph));
  }
  return {std::move(loaded.graph), std::move(simulation)};
}

int assign_main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  limit_torch_threads(1);
  set_log_name("assign");
  if (std::filesystem::is_directory(options.checkpoint)) {
    throw ConfigError("--checkpoint " + options.checkpoint +
                      ": is a folder; name a file, as RUN_DIR/checkpoints/best.h5");
  }
  if (!std::filesystem::is_regular_file(options.checkpoint)) {
    throw ConfigError(
        "--checkpoint " + options.checkpoint +
        ": there is no such file; a run keeps its checkpoints in RUN_DIR/checkpoints");
  }
  const Checkpoint checkpoint = CheckpointStore::load(options.checkpoint);
  const Config config = parse_config(checkpoint.config_yaml, options.checkpoint, {});
  const Target target = load_target(options, config);
  std::unique_ptr<Topology> topology;
  if (target.simulation.mode == SimulationMode::kPhysical) {
    topology = std::make_unique<Topology>(load_topology(target.simulation.topology));
  }
  Machine machine(target.graph, topology.get(), target.simulation, options.seed);
  const Levels levels = compute_levels(machine.costs());
  const std::int64_t table = table_of(checkpoint, target.graph);
  if (table < 0) {
    log_info("the policy was not trained on this graph but on {}: zero-shot",
             trained_graphs(checkpoint));
  }
  const WeightSnapshot snapshot =
      encode_graph(config.model, checkpoint.parameters, {&machine.costs(), &levels}, table);
  const Placement placement = place(snapshot, config.model, levels, machine, options);
  const std::vector<int> assignment = device_numbers(placement.best().assignment);
  const SimTime makespan = placement.best().makespan;

  if (!options.output.empty()) {
    write_text_file(options.output, fmt::format("{}\n", fmt::join(assignment, ",")));
  }
  if (options.json) {
    std::vector<int> order;
    for (OperationId operation : placement.best().order) order.push_back(operation.value());
    nlohmann::ordered_json json = {{"graph", options.graph},
                                   {"devices", machine.costs().device_count()},
                                   {"cost", displayed_cost(makespan, topology != nullptr)},
                                   {"makespan_ticks", makespan.ticks()},
                                   {"found_by", placement.best().found_by},
                                   {"greedy_makespan_ticks", placement.greedy_makespan.ticks()},
                                   {"policy_makespan_ticks", placement.policy.makespan.ticks()},
                                   {"samples", options.samples},
                                   {"trained_on_this_graph", table >= 0},
                                   {"assignment", assignment},
                                   {"order", order}};
    if (placement.refinement) {
      json["refinement_evaluations"] = placement.refinement->evaluations;
      json["refinement_seconds"] = placement.refinement->seconds;
    }
    fmt::print("{}\n", json.dump(1));
    return static_cast<int>(ExitCode::kDone);
  }
  const bool physical = topology != nullptr;
  fmt::print("{} {:.6g} ({} ticks), by {}; policy {:.6g}, greedy {:.6g}\n{}\n",
             physical ? "seconds" : "cost", displayed_cost(makespan, physical), makespan.ticks(),
             placement.best().found_by, displayed_cost(placement.policy.makespan, physical),
             displayed_cost(placement.greedy_makespan, physical), fmt::join(assignment, ","));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::assign_main);
}
