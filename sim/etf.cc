#include "sim/etf.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "common/levels.h"
#include "sim/device_choices.h"

namespace doppler {

namespace {

// The ready operations of one device, so that the next one is found without a look at all. Those
// whose inputs are there already start when the device is free, the most urgent first; of the
// others the one starts first whose inputs come first. Operations that went to another device are
// passed over when they come up.
class ReadyOnDevice {
 public:
  // Inputs ready (or the device free, whichever is later), bottom level (the largest first),
  // operation: the smallest wins.
  using Entry = std::tuple<SimTime, SimTime, OperationId>;

  void add(SimTime start, SimTime level, OperationId operation) {
    waiting_.emplace(start, SimTime(0) - level, operation);
  }

  // The first to start, with its start; nothing is removed.
  const Entry* first(SimTime free, const std::vector<char>& placed) {
    while (!waiting_.empty() && std::get<0>(waiting_.top()) <= free) {
      const auto& [start, level, operation] = waiting_.top();
      startable_.emplace(SimTime(0), level, operation);
      waiting_.pop();
    }
    drop_placed(startable_, placed);
    drop_placed(waiting_, placed);
    if (!startable_.empty()) {
      first_ = startable_.top();
      std::get<0>(first_) = free;
      return &first_;
    }
    return waiting_.empty() ? nullptr : &waiting_.top();
  }

 private:
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  static void drop_placed(Heap& heap, const std::vector<char>& placed) {
    while (!heap.empty() && placed[std::get<2>(heap.top()).index()] != 0) heap.pop();
  }

  Heap waiting_;    // for their inputs, beyond the time at which the device is free
  Heap startable_;  // their start is set to 0, so that it does not order them
  Entry first_;
};

}  // namespace

PartialSchedule etf_schedule(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const Levels levels = compute_levels(costs);
  const DeviceChoices choices(costs);
  PartialSchedule schedule(costs);
  std::vector<std::size_t> missing_inputs;
  std::vector<char> placed(graph.operation_count(), 0);
  std::vector<ReadyOnDevice> ready(static_cast<std::size_t>(costs.device_count()));
  std::vector<SimTime> free(ready.size());
  const auto add = [&](OperationId operation) {
    for (DeviceId device : choices.of(operation)) {
      ready[device.index()].add(schedule.inputs_ready(operation, device),
                                levels.bottom_level[operation], operation);
    }
  };
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    missing_inputs.push_back(graph.in_degree(id));
    if (missing_inputs.back() == 0) add(id);
  }
  for (std::size_t step = 0; step < graph.operation_count(); ++step) {
    // Start, bottom level (the largest first), operation, device: the smallest tuple wins.
    using Candidate = std::tuple<SimTime, SimTime, OperationId, DeviceId>;
    Candidate best(SimTime::max(), SimTime(0), OperationId(), DeviceId());
    for (std::size_t d = 0; d < ready.size(); ++d) {
      const ReadyOnDevice::Entry* const first = ready[d].first(free[d], placed);
      if (first == nullptr) continue;
      const auto& [start, level, operation] = *first;
      best = std::min(best,
                      Candidate(start, level, operation, DeviceId(static_cast<std::int32_t>(d))));
    }
    const auto& [start, level, operation, device] = best;
    schedule.place(operation, device, start);
    placed[operation.index()] = 1;
    free[device.index()] = std::max(free[device.index()], schedule.end(operation));
    for (OperationId successor : graph.successors(operation)) {
      if (--missing_inputs[successor.index()] == 0) add(successor);
    }
  }
  return schedule;
}

BaselineResult etf(const CostTable& costs, Executor& executor) {
  const PartialSchedule schedule = etf_schedule(costs);
  return cost_of(executor, schedule.assignment(), schedule.order());
}

}  // namespace doppler
