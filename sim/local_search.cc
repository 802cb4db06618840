#include "sim/local_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/levels.h"
#include "common/random.h"
#include "common/symmetry.h"
#include "sim/critical_path.h"
#include "sim/heft.h"

namespace doppler {
namespace {

// The temperature falls from the first to the last, as shares of the makespan at the start of an
// annealing.
constexpr double kFirstTemperature = 0.02;
constexpr double kLastTemperature = 0.0002;

class Annealer {
 public:
  Annealer(const CostTable& costs, Executor& executor, const LocalSearchOptions& options)
      : graph_(costs.graph()),
        devices_(static_cast<std::uint64_t>(costs.device_count())),
        executor_(executor),
        options_(options),
        random_(derive_seed({options.seed, 0x10ca15ea})),
        begin_(std::chrono::steady_clock::now()) {
    const SymmetryClasses classes = symmetry_classes(graph_);
    const IdVector<OperationId, std::int32_t> depths = operation_depths(graph_);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<OperationId>> groups;
    for (std::size_t i = 0; i < graph_.operation_count(); ++i) {
      const OperationId id(static_cast<std::int32_t>(i));
      groups[{depths[id], classes.class_of[id]}].push_back(id);
    }
    for (auto& [key, members] : groups) {
      if (members.size() > 1) groups_.push_back(std::move(members));
    }
    best_.makespan = SimTime::max();
    best_.order = graph_.topological_order();
  }

  BaselineResult run(const std::vector<Assignment>& starts) {
    double begin = 0;
    for (std::size_t i = 0; i < starts.size() && !over(); ++i) {
      const double end = static_cast<double>(i + 1) / static_cast<double>(starts.size());
      anneal(starts[i], begin, end);
      begin = end;
    }
    return std::move(best_);
  }

 private:
  // The used share of the budget, 1 at its end.
  double progress() {
    if (options_.seconds > 0) {
      // A look at the clock costs as much as a part of a small simulation.
      if (best_.evaluations % 64 == 0) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
        clock_progress_ = std::min(1.0, passed.count() / options_.seconds);
      }
      return clock_progress_;
    }
    return static_cast<double>(best_.evaluations) / static_cast<double>(options_.evaluations);
  }
  bool over() { return best_.evaluations > 0 && progress() >= 1; }

  SimTime evaluate() {
    ++best_.evaluations;
    const SimTime makespan = executor_.run(current_, best_.order);
    if (makespan < best_.makespan) {
      best_.makespan = makespan;
      best_.assignment = current_;
    }
    return makespan;
  }

  void anneal(const Assignment& start, double begin, double end) {
    current_ = start;
    SimTime makespan = evaluate();
    if (devices_ == 1) return;  // there is no other assignment
    const auto scale = static_cast<double>(makespan.ticks());
    while (true) {
      const double now = progress();
      if (now >= end || now >= 1) return;
      const double share = std::clamp((now - begin) / (end - begin), 0.0, 1.0);
      const double temperature =
          scale * kFirstTemperature * std::pow(kLastTemperature / kFirstTemperature, share);
      undo_.clear();
      move();
      if (undo_.empty()) continue;
      const SimTime next = evaluate();
      const auto loss = static_cast<double>((next - makespan).ticks());
      if (loss <= 0 || random_.next_unit() < std::exp(-loss / temperature)) {
        makespan = next;
        continue;
      }
      for (std::size_t i = undo_.size(); i-- > 0;) current_[undo_[i].first] = undo_[i].second;
    }
  }

  void set(OperationId operation, DeviceId device) {
    if (current_[operation] == device) return;
    undo_.emplace_back(operation, current_[operation]);
    current_[operation] = device;
  }
  OperationId any_operation() {
    return OperationId(static_cast<std::int32_t>(random_.next_below(graph_.operation_count())));
  }
  DeviceId any_device() {
    return DeviceId(static_cast<std::int32_t>(random_.next_below(devices_)));
  }

  void move() {
    const double kind = random_.next_unit();
    if (kind < 0.45) {
      set(any_operation(), any_device());
    } else if (kind < 0.7) {
      swap_two();
    } else if (kind < 0.9 || groups_.empty()) {
      join_neighbour();
    } else {
      deal_out(groups_[random_.next_below(groups_.size())]);
    }
  }

  void swap_two() {
    // Within a group a swap keeps the load of every device, so it is tried more often than chance
    // would.
    OperationId a = any_operation();
    OperationId b = any_operation();
    if (!groups_.empty() && random_.next_below(2) == 0) {
      const std::vector<OperationId>& group = groups_[random_.next_below(groups_.size())];
      a = group[random_.next_below(group.size())];
      b = group[random_.next_below(group.size())];
    }
    const DeviceId device = current_[a];
    set(a, current_[b]);
    set(b, device);
  }

  void join_neighbour() {
    const OperationId operation = any_operation();
    const auto before = graph_.predecessors(operation);
    const auto behind = graph_.successors(operation);
    if (before.empty() && behind.empty()) return;
    const std::size_t choice = random_.next_below(before.size() + behind.size());
    const OperationId neighbour =
        choice < before.size() ? before[choice] : behind[choice - before.size()];
    set(operation, current_[neighbour]);
  }

  void deal_out(std::vector<OperationId>& group) {
    for (std::size_t i = group.size(); i > 1; --i) {
      std::swap(group[i - 1], group[random_.next_below(i)]);
    }
    const std::uint64_t first = random_.next_below(devices_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      set(group[i], DeviceId(static_cast<std::int32_t>((first + i) % devices_)));
    }
  }

  const Graph& graph_;
  const std::uint64_t devices_;
  Executor& executor_;
  const LocalSearchOptions options_;
  RandomStream random_;
  const std::chrono::steady_clock::time_point begin_;
  double clock_progress_ = 0;
  std::vector<std::vector<OperationId>>
      groups_;  // of one symmetry class and depth, two or more each
  Assignment current_;
  std::vector<std::pair<OperationId, DeviceId>> undo_;  // of the last move, in order
  BaselineResult best_;
};

}  // namespace

BaselineResult local_search(const CostTable& costs, Executor& executor,
                            const LocalSearchOptions& options) {
  DP_CHECK_GE(options.evaluations, 1);
  DP_CHECK_GE(options.restarts, 1);
  RandomStream random(derive_seed({options.seed, 0x57a27}));
  std::vector<Assignment> starts = {heft_schedule(costs).assignment()};
  if (options.restarts > 1) {
    starts.push_back(critical_path_schedule(costs, compute_levels(costs), random).assignment());
  }
  while (starts.size() < static_cast<std::size_t>(options.restarts)) {
    Assignment assignment(costs.graph().operation_count());
    for (DeviceId& device : assignment) {
      device = DeviceId(static_cast<std::int32_t>(
          random.next_below(static_cast<std::uint64_t>(costs.device_count()))));
    }
    starts.push_back(std::move(assignment));
  }
  return Annealer(costs, executor, options).run(starts);
}

}  // namespace doppler
