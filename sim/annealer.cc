#include "sim/annealer.h"

#include <algorithm>
#include <cmath>

#include "sim/critical_operations.h"

namespace doppler {
namespace {

// What a tick of transfers weighs against a tick of makespan, with the transfers spread evenly over
// the devices. Without it the mean of 30,000 evaluations is 1 to 5 % worse on the paper's graphs.
constexpr double kTransferWeight = 0.2;

// The critical path is looked up that often; the record of a run costs as much as an evaluation.
constexpr std::int64_t kCriticalInterval = 150;

// A look at the clock and at what other threads want costs as much as a part of a small simulation.
constexpr std::int64_t kMonitorInterval = 64;

}  // namespace

Annealer::Annealer(const CostTable& costs, const DeviceChoices& choices,
                   const std::vector<std::vector<OperationId>>& groups, Executor& executor,
                   SearchMonitor& monitor, std::uint64_t seed)
    : costs_(&costs),
      executor_(&executor),
      monitor_(&monitor),
      moves_(costs, choices, groups, seed),
      state_(costs) {}

void Annealer::anneal(const SearchPoint& start, const AnnealingPlan& plan,
                      const std::function<void()>& report) {
  evaluations_ = 0;
  clock_share_ = 0;
  state_.reset(start.assignment);
  moves_.set_critical({});
  SimTime makespan = start.makespan;
  const double transfer_weight = kTransferWeight / costs_->device_count();
  std::int64_t next_critical = 0;
  std::int64_t next_report = kMonitorInterval;
  while (!monitor_->stop_requested()) {
    const double share = used_share(plan);
    if (share >= 1) break;
    if (evaluations_ >= next_report) {
      next_report = evaluations_ + kMonitorInterval;
      report();
    }
    if (evaluations_ >= next_critical) {
      next_critical = evaluations_ + kCriticalInterval;
      find_critical(start.order);
      continue;
    }
    const std::int64_t transfers = state_.transfer_ticks();
    moves_.move(state_);
    if (!state_.moved()) continue;
    const SimTime next = evaluate(start.order);
    const double loss = static_cast<double>((next - makespan).ticks()) +
                        transfer_weight * static_cast<double>(state_.transfer_ticks() - transfers);
    const double temperature =
        plan.first_temperature * std::pow(plan.last_temperature / plan.first_temperature, share);
    moves_.learn(loss < 0);
    if (loss <= 0 || moves_.random().next_unit() < std::exp(-loss / temperature)) {
      makespan = next;
    } else {
      state_.undo_move();
    }
  }
  monitor_->add_evaluations(evaluations_ % kMonitorInterval);
}

SimTime Annealer::evaluate(const std::vector<OperationId>& order) {
  if (++evaluations_ % kMonitorInterval == 0) monitor_->add_evaluations(kMonitorInterval);
  const SimTime makespan = executor_->run(state_.assignment(), order);
  const bool feasible = executor_->feasible();
  if (feasible != best_.feasible ? feasible : makespan < best_.makespan) {
    best_.assignment = state_.assignment();
    best_.order = order;
    best_.makespan = makespan;
    best_.feasible = feasible;
    if (feasible) monitor_->lower_best(makespan);
  }
  return makespan;
}

void Annealer::find_critical(const std::vector<OperationId>& order) {
  if (++evaluations_ % kMonitorInterval == 0) monitor_->add_evaluations(kMonitorInterval);
  const Execution execution = executor_->run_recorded(state_.assignment(), order);
  moves_.set_critical(critical_operations(*costs_, state_.assignment(), execution));
}

// 1 where the plan is carried out.
double Annealer::used_share(const AnnealingPlan& plan) {
  if (plan.evaluations > 0) {
    return static_cast<double>(evaluations_) / static_cast<double>(plan.evaluations);
  }
  if (evaluations_ % kMonitorInterval == 0) {
    using Seconds = std::chrono::duration<double>;
    const double passed = Seconds(std::chrono::steady_clock::now() - plan.begin).count();
    const double all = Seconds(plan.end - plan.begin).count();
    clock_share_ = all > 0 ? std::clamp(passed / all, 0.0, 1.0) : 1.0;
  }
  return clock_share_;
}

}  // namespace doppler
