#include "sim/critical_path.h"

#include <utility>
#include <vector>

#include "common/check.h"
#include "sim/device_choices.h"

namespace doppler {
namespace {

// Keeps one of all candidates that tie for the best, each with the same chance.
class TieBreaker {
 public:
  explicit TieBreaker(RandomStream& random) : random_(&random) {}

  void begin() { count_ = 0; }
  // Whether the next candidate replaces the one kept so far.
  bool take(bool better, bool equal) {
    if (count_ == 0 || better) {
      count_ = 1;
      return true;
    }
    return equal && random_->next_below(static_cast<std::uint64_t>(++count_)) == 0;
  }

 private:
  RandomStream* random_;
  int count_ = 0;
};

}  // namespace

PartialSchedule critical_path_schedule(const CostTable& costs, const Levels& levels,
                                       RandomStream& random) {
  const Graph& graph = costs.graph();
  const DeviceChoices choices(costs);
  PartialSchedule schedule(costs);
  std::vector<std::size_t> missing_inputs;
  std::vector<OperationId> ready;
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    missing_inputs.push_back(graph.in_degree(id));
    if (missing_inputs.back() == 0) ready.push_back(id);
  }

  TieBreaker ties(random);
  while (!ready.empty()) {
    std::size_t chosen = 0;
    ties.begin();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const SimTime level = levels.bottom_level[ready[i]];
      const SimTime best = levels.bottom_level[ready[chosen]];
      if (ties.take(level > best, level == best)) chosen = i;
    }
    const OperationId operation = ready[chosen];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));

    DeviceId device;
    SimTime start;
    ties.begin();
    for (DeviceId candidate : choices.of(operation)) {
      const SimTime candidate_start = schedule.earliest_start(operation, candidate);
      if (ties.take(candidate_start < start, candidate_start == start)) {
        device = candidate;
        start = candidate_start;
      }
    }
    schedule.place(operation, device, start);
    for (OperationId successor : graph.successors(operation)) {
      if (--missing_inputs[successor.index()] == 0) ready.push_back(successor);
    }
  }
  return schedule;
}

BaselineResult critical_path(const CostTable& costs, Executor& executor, std::uint64_t seed,
                             std::int64_t tries, const TryMonitor& monitor) {
  DP_CHECK_GE(tries, 1);
  const Levels levels = compute_levels(costs);
  BaselineResult best;
  double sum = 0;
  do {
    RandomStream random(derive_seed({seed, static_cast<std::uint64_t>(best.evaluations)}));
    const PartialSchedule schedule = critical_path_schedule(costs, levels, random);
    const SimTime makespan = executor.run(schedule.assignment(), schedule.order());
    ++best.evaluations;
    sum += static_cast<double>(makespan.ticks());
    if (best.assignment.empty() || best.improved_by(makespan, executor.feasible())) {
      best.makespan = makespan;
      best.feasible = executor.feasible();
      best.assignment = schedule.assignment();
      best.order = schedule.order();
    }
  } while (!monitor.ends(best.evaluations, tries, best.makespan));
  best.stopped_early = best.evaluations < tries;
  best.mean_makespan_ticks = sum / static_cast<double>(best.evaluations);
  return best;
}

}  // namespace doppler
