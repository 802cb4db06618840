#include "sim/exhaustive.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/device_choices.h"
#include "sim/heft.h"
#include "sim/lower_bounds.h"

namespace doppler {
namespace {

// Whether swapping the two changes nothing in the table. Being swappable is transitive: (a c) is
// (a b)(b c)(a b).
bool can_be_swapped(const CostTable& costs, DeviceId a, DeviceId b) {
  const Graph& graph = costs.graph();
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId operation(static_cast<std::int32_t>(o));
    if (costs.allowed(operation, a) != costs.allowed(operation, b)) return false;
    if (costs.compute(operation, a) != costs.compute(operation, b)) return false;
  }
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    const EdgeId edge(static_cast<std::int32_t>(e));
    if (costs.transfer(edge, a, b) != costs.transfer(edge, b, a)) return false;
    for (std::int32_t d = 0; d < costs.device_count(); ++d) {
      const DeviceId other(d);
      if (other == a || other == b) continue;
      if (costs.transfer(edge, a, other) != costs.transfer(edge, b, other) ||
          costs.transfer(edge, other, a) != costs.transfer(edge, other, b)) {
        return false;
      }
    }
  }
  return true;
}

class Search {
 public:
  Search(const CostTable& costs, Executor& executor, const ExhaustiveOptions& options)
      : costs_(costs),
        executor_(executor),
        options_(options),
        choices_(costs),
        order_(costs.graph().topological_order()),
        tail_(heads_and_tails(costs).tail),
        device_class_(interchangeable_devices(costs)),
        assignment_(order_.size()),
        end_(order_.size()),
        used_(static_cast<std::size_t>(costs.device_count()), 0),
        load_(static_cast<std::size_t>(costs.device_count())) {
    for (OperationId operation : order_) {
      left_ticks_ += costs.least_compute(operation).ticks();
    }
  }

  std::optional<BaselineResult> run() {
    best_ = cost_of(executor_, heft_schedule(costs_).assignment(), order_);
    const bool complete = place(0, SimTime(0));
    best_.stopped_early = !complete && looked_at_ <= options_.limit;
    if (!complete && !best_.stopped_early) return std::nullopt;
    best_.optimal = complete;
    return std::move(best_);
  }

 private:
  // Everything from position `at` of the order on. `path` bounds what is placed with all that has
  // to follow it. False if the limit is reached or a stop is asked for.
  bool place(std::size_t at, SimTime path) {
    if (++looked_at_ > options_.limit || options_.stop.stop_requested()) return false;
    if (options_.cost_table_bounds && best_.feasible && bound(path) >= best_.makespan) return true;
    if (at == order_.size()) {
      evaluate();
      return true;
    }
    const OperationId operation = order_[at];
    for (DeviceId device : choices_.of(operation)) {
      if (options_.cost_table_tells_all && is_a_relabelling(device)) continue;
      const SimTime compute = costs_.compute(operation, device);
      const SimTime load_before = load_[device];
      assignment_[operation] = device;
      end_[operation] = inputs_ready(operation, device) + compute;
      load_[device] += compute;
      left_ticks_ -= costs_.least_compute(operation).ticks();
      ++used_[device];
      const bool complete = place(at + 1, std::max(path, end_[operation] + tail_[operation]));
      --used_[device];
      left_ticks_ += costs_.least_compute(operation).ticks();
      load_[device] = load_before;
      if (!complete) return false;
    }
    return true;
  }

  // An unused device when a smaller one that it can be swapped with is unused too.
  bool is_a_relabelling(DeviceId device) const {
    if (used_[device] != 0) return false;
    for (std::int32_t d = 0; d < device.value(); ++d) {
      if (used_[DeviceId(d)] == 0 && device_class_[DeviceId(d)] == device_class_[device]) {
        return true;
      }
    }
    return false;
  }

  SimTime inputs_ready(OperationId operation, DeviceId device) const {
    const auto predecessors = costs_.graph().predecessors(operation);
    const auto edges = costs_.graph().in_edges(operation);
    SimTime ready;
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      const OperationId from = predecessors[i];
      ready = std::max(ready, end_[from] + costs_.transfer(edges[i], assignment_[from], device));
    }
    return ready;
  }

  // No completion is faster: longest paths through what is placed, the load of each device, all
  // work shared evenly.
  SimTime bound(SimTime path) const {
    std::int64_t work = left_ticks_;
    SimTime most = path;
    for (SimTime load : load_) {
      most = std::max(most, load);
      work += load.ticks();
    }
    const std::int64_t devices = costs_.device_count();
    return std::max(most, SimTime(work / devices + (work % devices == 0 ? 0 : 1)));
  }

  void evaluate() {
    const SimTime makespan = executor_.run(assignment_, order_);
    ++best_.evaluations;
    if (!best_.improved_by(makespan, executor_.feasible())) return;
    best_.makespan = makespan;
    best_.feasible = executor_.feasible();
    best_.assignment = assignment_;
  }

  const CostTable& costs_;
  Executor& executor_;
  const ExhaustiveOptions& options_;
  const DeviceChoices choices_;
  const std::vector<OperationId>& order_;
  const IdVector<OperationId, SimTime> tail_;            // [operations]
  const IdVector<DeviceId, std::int32_t> device_class_;  // [devices]
  Assignment assignment_;                                // [operations], up to the current position
  IdVector<OperationId, SimTime> end_;                   // [operations], the same; at the earliest
  IdVector<DeviceId, std::int32_t> used_;                // [devices], operations on it
  IdVector<DeviceId, SimTime> load_;                     // [devices]
  std::int64_t left_ticks_ = 0;  // least compute times of what is not placed
  std::int64_t looked_at_ = 0;
  BaselineResult best_;
};

}  // namespace

std::optional<BaselineResult> exhaustive(const CostTable& costs, Executor& executor,
                                         const ExhaustiveOptions& options) {
  return Search(costs, executor, options).run();
}

IdVector<DeviceId, std::int32_t> interchangeable_devices(const CostTable& costs) {
  IdVector<DeviceId, std::int32_t> classes;
  std::vector<DeviceId> first_of_class;
  for (std::int32_t d = 0; d < costs.device_count(); ++d) {
    std::int32_t found = 0;
    while (found < static_cast<std::int32_t>(first_of_class.size()) &&
           !can_be_swapped(costs, first_of_class[static_cast<std::size_t>(found)], DeviceId(d))) {
      ++found;
    }
    if (found == static_cast<std::int32_t>(first_of_class.size())) {
      first_of_class.emplace_back(d);
    }
    classes.push_back(found);
  }
  return classes;
}

}  // namespace doppler
