#include "sim/partial_schedule.h"

#include <algorithm>

namespace doppler {

PartialSchedule::PartialSchedule(const CostTable& costs)
    : costs_(&costs),
      assignment_(costs.graph().operation_count()),
      end_(costs.graph().operation_count()),
      busy_(static_cast<std::size_t>(costs.device_count())) {
  order_.reserve(costs.graph().operation_count());
}

SimTime PartialSchedule::inputs_ready(OperationId operation, DeviceId device) const {
  const Graph& graph = costs_->graph();
  const auto predecessors = graph.predecessors(operation);
  const auto edges = graph.in_edges(operation);
  SimTime ready;
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    const OperationId from = predecessors[i];
    ready = std::max(ready, end_[from] + costs_->transfer(edges[i], assignment_[from], device));
  }
  return ready;
}

SimTime PartialSchedule::earliest_start(OperationId operation, DeviceId device) const {
  const std::vector<Interval>& busy = busy_[device.index()];
  const SimTime free = busy.empty() ? SimTime(0) : busy.back().second;
  return std::max(free, inputs_ready(operation, device));
}

SimTime PartialSchedule::earliest_inserted_start(OperationId operation, DeviceId device) const {
  const SimTime length = costs_->compute(operation, device);
  SimTime start = inputs_ready(operation, device);
  // Intervals do not overlap, so that their ends rise too: those that end before the inputs are
  // there leave no gap.
  const std::vector<Interval>& busy = busy_[device.index()];
  auto next = std::partition_point(
      busy.begin(), busy.end(), [&](const Interval& interval) { return interval.second <= start; });
  for (; next != busy.end() && start + length > next->first; ++next) {
    start = std::max(start, next->second);
  }
  return start;
}

void PartialSchedule::place(OperationId operation, DeviceId device, SimTime start) {
  const SimTime end = start + costs_->compute(operation, device);
  assignment_[operation] = device;
  end_[operation] = end;
  makespan_ = std::max(makespan_, end);
  order_.push_back(operation);
  std::vector<Interval>& busy = busy_[device.index()];
  const Interval interval(start, end);
  busy.insert(std::upper_bound(busy.begin(), busy.end(), interval), interval);
}

}  // namespace doppler
