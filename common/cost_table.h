// CostTable: what each operation costs on each device and each edge between each pair of devices,
// in ticks. It is the one place where costs become time; the episode, the baselines and the levels
// read nothing else.
//
// Pairs of devices with equal links share a *route class*, so that the table stays small and a
// look-up is two loads. Immutable; any number of threads may read it. The graph must outlive it.
#ifndef DOPPLER_COMMON_COST_TABLE_H_
#define DOPPLER_COMMON_COST_TABLE_H_

#include <cstdint>
#include <vector>

#include "common/graph.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

class CostTable {
 public:
  // Reference mode (the paper's published simulator): every device alike; an edge between different
  // devices takes its producer's transfer time. Throws ConfigError unless the graph states
  // durations, device_count >= 1, and the sum of all compute and transfer times fits in a SimTime.
  static CostTable reference(const Graph& graph, int device_count);

  const Graph& graph() const { return *graph_; }
  int device_count() const { return device_count_; }

  SimTime compute(OperationId operation, DeviceId device) const {
    return compute_[operation.index() * static_cast<std::size_t>(device_count_) + device.index()];
  }
  // 0 when from == to.
  SimTime transfer(EdgeId edge, DeviceId from, DeviceId to) const {
    const std::uint16_t route =
        route_class_[from.index() * static_cast<std::size_t>(device_count_) + to.index()];
    return transfer_[edge.index() * route_class_count_ + route];
  }
  // Over devices, and over pairs of different devices (0 with a single device).
  SimTime mean_compute(OperationId operation) const { return mean_compute_[operation]; }
  SimTime mean_transfer(EdgeId edge) const { return mean_transfer_[edge]; }
  // Smallest over devices: what a lower bound may count.
  SimTime least_compute(OperationId operation) const { return least_compute_[operation]; }

 private:
  CostTable() = default;
  void derive();  // means and minima, from the tables

  const Graph* graph_ = nullptr;
  int device_count_ = 0;
  std::size_t route_class_count_ = 0;       // class 0: the same device, always 0 ticks
  std::vector<std::uint16_t> route_class_;  // [devices, devices]
  std::vector<SimTime> compute_;            // [operations, devices]
  std::vector<SimTime> transfer_;           // [edges, route classes]
  IdVector<OperationId, SimTime> mean_compute_;
  IdVector<OperationId, SimTime> least_compute_;
  IdVector<EdgeId, SimTime> mean_transfer_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_COST_TABLE_H_
