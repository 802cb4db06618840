#include "common/cost_table.h"

#include <algorithm>
#include <limits>

#include "common/error.h"

namespace doppler {
namespace {

// Devices beyond this make no sense here and would overflow the table of pairs.
constexpr int kMaxDeviceCount = 4096;

void check_fits(const Graph& graph) {
  // A makespan is at most all work and all transfers one after the other; half the range leaves
  // room for sums.
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t total = 0;
  const auto add = [&](SimTime time) {
    if (time.ticks() > kLimit - total) {
      throw ConfigError(
          "graph " + graph.name() +
          ": the sum of all compute and transfer times exceeds 2^62 ticks; use a coarser unit");
    }
    total += time.ticks();
  };
  for (const Operation& operation : graph.operations()) add(operation.compute_time);
  for (const Edge& edge : graph.edges()) add(graph.operation(edge.source).transfer_time);
}

}  // namespace

CostTable CostTable::reference(const Graph& graph, int device_count) {
  if (device_count < 1 || device_count > kMaxDeviceCount) {
    throw ConfigError("devices: " + std::to_string(device_count) + " is not in 1.." +
                      std::to_string(kMaxDeviceCount));
  }
  if (graph.cost_unit() != CostUnit::kDurations) {
    throw ConfigError(
        "graph " + graph.name() +
        " states FLOPs and bytes; reference mode needs a graph that states durations");
  }
  check_fits(graph);

  CostTable table;
  table.graph_ = &graph;
  table.device_count_ = device_count;
  const auto devices = static_cast<std::size_t>(device_count);
  table.route_class_count_ = 2;
  table.route_class_.assign(devices * devices, 1);
  for (std::size_t d = 0; d < devices; ++d) table.route_class_[d * devices + d] = 0;
  table.compute_.reserve(graph.operation_count() * devices);
  for (const Operation& operation : graph.operations()) {
    table.compute_.insert(table.compute_.end(), devices, operation.compute_time);
  }
  table.transfer_.reserve(graph.edge_count() * 2);
  for (const Edge& edge : graph.edges()) {
    table.transfer_.push_back(SimTime(0));
    table.transfer_.push_back(graph.operation(edge.source).transfer_time);
  }
  table.derive();
  return table;
}

void CostTable::derive() {
  const auto devices = static_cast<std::size_t>(device_count_);
  mean_compute_.assign(graph_->operation_count(), SimTime(0));
  least_compute_.assign(graph_->operation_count(), SimTime(0));
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    __int128 sum = 0;
    SimTime least = SimTime::max();
    for (std::size_t d = 0; d < devices; ++d) {
      sum += compute_[o * devices + d].ticks();
      least = std::min(least, compute_[o * devices + d]);
    }
    mean_compute_[id] = SimTime(static_cast<std::int64_t>(sum / device_count_));
    least_compute_[id] = least;
  }

  std::vector<std::int64_t> pairs_per_class(route_class_count_, 0);
  for (std::uint16_t route : route_class_) ++pairs_per_class[route];
  std::int64_t pair_count = 0;
  for (std::size_t c = 1; c < route_class_count_; ++c) pair_count += pairs_per_class[c];
  mean_transfer_.assign(graph_->edge_count(), SimTime(0));
  if (pair_count == 0) return;
  for (std::size_t e = 0; e < graph_->edge_count(); ++e) {
    __int128 sum = 0;
    for (std::size_t c = 1; c < route_class_count_; ++c) {
      sum +=
          static_cast<__int128>(transfer_[e * route_class_count_ + c].ticks()) * pairs_per_class[c];
    }
    mean_transfer_[EdgeId(static_cast<std::int32_t>(e))] =
        SimTime(static_cast<std::int64_t>(sum / pair_count));
  }
}

}  // namespace doppler
