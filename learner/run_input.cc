#include "learner/run_input.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/check.h"
#include "common/graph_source.h"
#include "common/log.h"
#include "common/topology_file.h"
#include "sim/baselines.h"
#include "sim/lower_bounds.h"

namespace doppler {
namespace {

// The search that every report shows beside the policy.
constexpr std::int64_t kSearchEvaluations = 50000;
// Simulated operations and edges that all tries of one baseline may add up to.
constexpr std::int64_t kTriedOperations = 100'000'000;

// The order of the schedule that an assignment leads to: each operation after its inputs.
Plan plan_of(const Assignment& assignment, const std::vector<OperationId>& order,
             const RunInput& input) {
  const Execution execution = input.machine->executor().run_recorded(assignment, order);
  Plan plan;
  plan.assignment = assignment;
  plan.order = input.graph->topological_order();
  std::stable_sort(plan.order.begin(), plan.order.end(), [&](OperationId a, OperationId b) {
    return execution.start[a] < execution.start[b];
  });
  return plan;
}

std::string baseline_of(Teacher teacher) {
  static constexpr std::array<const char*, 6> kNames = {
      "critical-path", "heft", "etf", "peft", "enum-opt", "local-search"};
  return kNames.at(static_cast<std::size_t>(teacher));
}

}  // namespace

RunInputs load_run_inputs(const Config& config) {
  RunInputs inputs;
  const bool physical = config.simulation.mode == SimulationMode::kPhysical;
  if (physical) {
    inputs.topology = std::make_unique<Topology>(load_topology(config.simulation.topology));
  }
  const auto devices =
      physical ? inputs.topology->device_count() : static_cast<int>(config.simulation.devices);
  for (LoadedGraph& loaded : load_graphs(
           config.graph, devices, physical ? CostConvention::kPhysical : CostConvention::kPaper)) {
    for (const Warning& warning : loaded.warnings) {
      log_warning("{}", describe(warning, loaded.source));
    }
    RunInput& input = inputs.graphs.emplace_back();
    input.source = std::move(loaded.source);
    input.graph = std::make_unique<Graph>(std::move(loaded.graph));
    input.machine = std::make_unique<Machine>(*input.graph, inputs.topology.get(),
                                              config.simulation, config.run.seed);
    input.levels = std::make_unique<Levels>(compute_levels(input.machine->costs()));
  }
  return inputs;
}

BaselineOptions run_input_baseline_options(const RunInput& input, std::uint64_t seed) {
  const auto size =
      static_cast<std::int64_t>(input.graph->operation_count() + input.graph->edge_count());
  const auto tries = [size](std::int64_t wanted) {
    return std::clamp<std::int64_t>(kTriedOperations / size, 3, wanted);
  };
  BaselineOptions options;
  options.seed = seed;
  options.local_search_evaluations = tries(kSearchEvaluations);
  options.random_samples = tries(options.random_samples);
  options.critical_path_tries = tries(options.critical_path_tries);
  return options;
}

GraphState describe_run_input(const RunInput& input, std::uint64_t seed) {
  const CostTable& costs = input.machine->costs();
  GraphState state;
  state.name = input.graph->name();
  state.content_hash = input.graph->content_hash();
  state.operation_count = static_cast<std::int64_t>(input.graph->operation_count());
  state.lower_bound = lower_bounds(costs).largest;
  const BaselineOptions options = run_input_baseline_options(input, seed);
  for (const BaselineInfo& baseline : baselines()) {
    const BaselineResult result =
        run_baseline(baseline.name, costs, input.machine->executor(), options);
    std::string name = baseline.name;
    if (name == "local-search") {
      name = fmt::format("local-search, {} evaluations", result.evaluations);
    }
    state.baselines.push_back({name, result.makespan});
  }
  return state;
}

std::vector<BestPlacement> baseline_placements(const RunInput& input, std::uint64_t seed) {
  std::vector<BestPlacement> placements;
  for (const BaselineInfo& baseline : baselines()) {
    if (baseline.name == std::string("random")) continue;
    const BaselineResult result =
        run_baseline(baseline.name, input.machine->costs(), input.machine->executor(),
                     run_input_baseline_options(input, seed));
    if (!result.feasible) continue;
    Plan plan = plan_of(result.assignment, result.order, input);
    BestPlacement& placement = placements.emplace_back();
    placement.makespan = result.makespan;
    placement.found_by = baseline.name;
    placement.assignment = std::move(plan.assignment);
    placement.order = std::move(plan.order);
  }
  std::stable_sort(
      placements.begin(), placements.end(),
      [](const BestPlacement& a, const BestPlacement& b) { return a.makespan < b.makespan; });
  return placements;
}

std::optional<Plan> teacher_plan(Teacher teacher, const RunInput& input, std::uint64_t seed) {
  if (teacher == Teacher::kCriticalPath) return std::nullopt;
  std::optional<BaselineResult> best;
  for (const BaselineInfo& baseline : baselines()) {
    const bool wanted = teacher == Teacher::kBest || baseline.name == baseline_of(teacher);
    if (!wanted) continue;
    BaselineResult result =
        run_baseline(baseline.name, input.machine->costs(), input.machine->executor(),
                     run_input_baseline_options(input, seed));
    if (!best || best->improved_by(result.makespan, result.feasible)) best = std::move(result);
  }
  DP_CHECK(best.has_value());
  return plan_of(best->assignment, best->order, input);
}

}  // namespace doppler
