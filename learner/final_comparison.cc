#include "learner/final_comparison.h"

#include <algorithm>
#include <utility>

#include "common/time_rounding.h"
#include "gpuexec/backend_factory.h"
#include "gpuexec/turns.h"
#include "sim/baselines.h"

namespace doppler {
namespace {

// A mean of random assignments is no placement to measure.
bool is_placement(const std::string& baseline) {
  return baseline != "random";
}

std::vector<MeasuredPlacement> candidates_of(const Config& config, const RunInput& input,
                                             const std::vector<LearnedPlacement>& learned) {
  std::vector<MeasuredPlacement> candidates;
  for (const LearnedPlacement& placement : learned) {
    MeasuredPlacement& candidate = candidates.emplace_back();
    candidate.name = placement.name;
    candidate.learned = true;
    candidate.placement = placement.placement;
  }
  for (const BaselineInfo& baseline : baselines()) {
    if (!is_placement(baseline.name)) continue;
    BaselineResult result =
        run_baseline(baseline.name, input.machine->costs(), input.machine->executor(),
                     run_input_baseline_options(input, config.run.seed));
    MeasuredPlacement& candidate = candidates.emplace_back();
    candidate.name = baseline.name;
    candidate.placement.found_by = baseline.name;
    candidate.placement.assignment = std::move(result.assignment);
    candidate.placement.order = std::move(result.order);
  }
  return candidates;
}

std::optional<std::size_t> fastest(const std::vector<MeasuredPlacement>& placements, bool learned) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (placements[i].learned != learned || !placements[i].failure.empty()) continue;
    if (!best || placements[i].placement.makespan < placements[*best].placement.makespan) best = i;
  }
  return best;
}

}  // namespace

MeasuredComparison compare_for_real(const Config& config, const RunInput& input,
                                    const Topology& topology,
                                    const std::vector<LearnedPlacement>& learned,
                                    const std::function<bool(int)>& before_round) {
  const CostTable& costs = input.machine->costs();
  const PhysicalOptions physical = physical_options(config.simulation, config.run.seed);
  GraphRunner runner(costs, topology, physical,
                     make_backend(config.execution.backend, costs, topology, physical.contention));
  MeasuredComparison comparison;
  comparison.backend = config.execution.backend;
  comparison.placements = candidates_of(config, input, learned);
  std::vector<TurnPlacement> turns;
  for (const MeasuredPlacement& candidate : comparison.placements)
    turns.push_back({candidate.placement.assignment, candidate.placement.order});
  TurnOptions options;
  options.rounds = static_cast<int>(config.execution.final_repeats);
  options.timeout_seconds = config.execution.timeout_seconds;
  options.before_placement = [&](int round, std::size_t placement) {
    return placement > 0 || !before_round || before_round(round);
  };
  const std::vector<TurnTimes> times = measure_in_turn(runner, turns, options);
  for (std::size_t i = 0; i < times.size(); ++i) {
    MeasuredPlacement& candidate = comparison.placements[i];
    candidate.failure = times[i].failure;
    if (times[i].seconds.empty()) {
      if (candidate.failure.empty()) candidate.failure = "not measured";
      candidate.placement.makespan = SimTime::max();
      continue;
    }
    comparison.rounds = std::max(comparison.rounds, static_cast<int>(times[i].seconds.size()));
    candidate.placement.makespan = round_seconds(median(times[i].seconds));
    const MedianInterval interval = median_interval(times[i].seconds);
    candidate.low_seconds = interval.low;
    candidate.high_seconds = interval.high;
  }
  comparison.best_learned = fastest(comparison.placements, true);
  comparison.best_baseline = fastest(comparison.placements, false);
  if (comparison.best_learned && comparison.best_baseline) {
    const PairedRatio ratio = paired_ratio(times[*comparison.best_learned].seconds,
                                           times[*comparison.best_baseline].seconds);
    comparison.ratio = ratio.median;
    comparison.ratio_low = ratio.interval.low;
    comparison.ratio_high = ratio.interval.high;
  }
  return comparison;
}

}  // namespace doppler
