#include "sim/simple_placements.h"

#include <utility>

#include "common/check.h"
#include "common/random.h"

namespace doppler {
namespace {

BaselineResult evaluate(const CostTable& costs, Executor& executor, Assignment assignment) {
  BaselineResult result;
  result.order = costs.graph().topological_order();
  result.makespan = executor.run(assignment, result.order);
  result.assignment = std::move(assignment);
  result.evaluations = 1;
  return result;
}

}  // namespace

BaselineResult one_device(const CostTable& costs, Executor& executor) {
  return evaluate(costs, executor, Assignment(costs.graph().operation_count(), DeviceId(0)));
}

BaselineResult round_robin_by_id(const CostTable& costs, Executor& executor) {
  Assignment assignment;
  for (std::size_t i = 0; i < costs.graph().operation_count(); ++i) {
    assignment.push_back(DeviceId(static_cast<std::int32_t>(i) % costs.device_count()));
  }
  return evaluate(costs, executor, std::move(assignment));
}

BaselineResult round_robin_topological(const CostTable& costs, Executor& executor) {
  Assignment assignment(costs.graph().operation_count());
  std::int32_t position = 0;
  for (OperationId operation : costs.graph().topological_order()) {
    assignment[operation] = DeviceId(position++ % costs.device_count());
  }
  return evaluate(costs, executor, std::move(assignment));
}

BaselineResult random_placement(const CostTable& costs, Executor& executor, std::uint64_t seed,
                                std::int64_t samples) {
  DP_CHECK_GE(samples, 1);
  RandomStream random(seed);
  BaselineResult best;
  best.order = costs.graph().topological_order();
  best.makespan = SimTime::max();
  best.evaluations = samples;
  double sum = 0;
  Assignment assignment(costs.graph().operation_count());
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (DeviceId& device : assignment) {
      device = DeviceId(static_cast<std::int32_t>(
          random.next_below(static_cast<std::uint64_t>(costs.device_count()))));
    }
    const SimTime makespan = executor.run(assignment, best.order);
    sum += static_cast<double>(makespan.ticks());
    if (makespan < best.makespan) {
      best.makespan = makespan;
      best.assignment = assignment;
    }
  }
  best.mean_makespan_ticks = sum / static_cast<double>(samples);
  return best;
}

}  // namespace doppler
