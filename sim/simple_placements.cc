#include "sim/simple_placements.h"

#include <utility>

#include "common/check.h"
#include "common/random.h"
#include "sim/device_choices.h"

namespace doppler {
namespace {

BaselineResult evaluate(const CostTable& costs, Executor& executor, Assignment assignment) {
  return cost_of(executor, std::move(assignment), costs.graph().topological_order());
}

}  // namespace

BaselineResult one_device(const CostTable& costs, Executor& executor) {
  const DeviceChoices choices(costs);
  Assignment assignment;
  for (std::size_t i = 0; i < costs.graph().operation_count(); ++i) {
    assignment.push_back(choices.of(OperationId(static_cast<std::int32_t>(i))).front());
  }
  return evaluate(costs, executor, std::move(assignment));
}

BaselineResult round_robin_by_id(const CostTable& costs, Executor& executor) {
  const DeviceChoices choices(costs);
  Assignment assignment;
  for (std::size_t i = 0; i < costs.graph().operation_count(); ++i) {
    const auto devices = choices.of(OperationId(static_cast<std::int32_t>(i)));
    assignment.push_back(devices[i % devices.size()]);
  }
  return evaluate(costs, executor, std::move(assignment));
}

BaselineResult round_robin_topological(const CostTable& costs, Executor& executor) {
  const DeviceChoices choices(costs);
  Assignment assignment(costs.graph().operation_count());
  std::size_t position = 0;
  for (OperationId operation : costs.graph().topological_order()) {
    const auto devices = choices.of(operation);
    assignment[operation] = devices[position++ % devices.size()];
  }
  return evaluate(costs, executor, std::move(assignment));
}

BaselineResult random_placement(const CostTable& costs, Executor& executor, std::uint64_t seed,
                                std::int64_t samples, const TryMonitor& monitor) {
  DP_CHECK_GE(samples, 1);
  RandomStream random(seed);
  BaselineResult best;
  best.order = costs.graph().topological_order();
  double sum = 0;
  const DeviceChoices choices(costs);
  do {
    Assignment assignment = choices.draw(random);
    const SimTime makespan = executor.run(assignment, best.order);
    ++best.evaluations;
    sum += static_cast<double>(makespan.ticks());
    if (best.assignment.empty() || best.improved_by(makespan, executor.feasible())) {
      best.makespan = makespan;
      best.feasible = executor.feasible();
      best.assignment = std::move(assignment);
    }
  } while (!monitor.ends(best.evaluations, samples, best.makespan));
  best.stopped_early = best.evaluations < samples;
  best.mean_makespan_ticks = sum / static_cast<double>(best.evaluations);
  return best;
}

}  // namespace doppler
