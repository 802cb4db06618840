// CostTable: what each operation costs on each device and each edge between each pair of devices,
// in ticks. It is the one place where costs become time; the episode, the baselines and the levels
// read nothing else.
//
// Physical costs. An operation takes on a device, in seconds,
//   its measured duration for the kind of the device, else for any kind (kAnyDeviceKind), where the
//   graph states one (it holds all that the operation takes there); else
//   launch overhead + max(FLOPs / rate(kind), bytes / memory bandwidth), the bytes being those of
//   its inputs (edges and input tensors) and of its output.
// An operation of kind "input" without predecessors is there from the start: it takes no time. An
// edge takes latency + bytes / bandwidth of the route, alone; what transfers do to each other is
// the simulator's. Each of these becomes ticks by time_rounding.h.
//
// Pairs of devices with equal routes (in latency and bandwidth) share a *route class*, so that the
// table stays small and a look-up is two loads. Immutable; any number of threads may read it. The
// graph must outlive it.
#ifndef DOPPLER_COMMON_COST_TABLE_H_
#define DOPPLER_COMMON_COST_TABLE_H_

#include <cstdint>
#include <vector>

#include "common/graph.h"
#include "common/ids.h"
#include "common/sim_time.h"
#include "common/topology.h"

namespace doppler {

class CostTable {
 public:
  // Reference mode (the paper's published simulator): every device alike; an edge between different
  // devices takes its producer's transfer time. Throws ConfigError unless the graph states
  // durations, device_count >= 1, pinned and forbidden devices exist and leave each operation a
  // device, and the sum of all compute and transfer times fits in a SimTime.
  static CostTable reference(const Graph& graph, int device_count);

  // Throws ConfigError, naming the operation, unless: the graph states FLOPs and bytes; pinned and
  // forbidden devices exist and leave each operation a device; an operation with measured durations
  // has one for every kind of device that it may run on, or FLOPs to go by; and the sum of all
  // longest compute and transfer times fits in a SimTime. The topology is not needed afterwards.
  static CostTable physical(const Graph& graph, const Topology& topology);

  const Graph& graph() const { return *graph_; }
  int device_count() const { return device_count_; }

  // Whether the graph lets `operation` run on `device` (pinned and forbidden devices). Everything
  // that places operations must ask; what a forbidden place costs has no meaning.
  bool allowed(OperationId operation, DeviceId device) const {
    return allowed_.empty() ||
           allowed_[operation.index() * static_cast<std::size_t>(device_count_) + device.index()] !=
               0;
  }
  // Whether allowed() is true everywhere.
  bool all_allowed() const { return allowed_.empty(); }

  SimTime compute(OperationId operation, DeviceId device) const {
    return compute_[operation.index() * static_cast<std::size_t>(device_count_) + device.index()];
  }
  // 0 when from == to.
  SimTime transfer(EdgeId edge, DeviceId from, DeviceId to) const {
    const std::uint16_t route =
        route_class_[from.index() * static_cast<std::size_t>(device_count_) + to.index()];
    return transfer_[edge.index() * route_class_count_ + route];
  }
  // Over the devices that are allowed, and over pairs of different devices (0 with a single
  // device).
  SimTime mean_compute(OperationId operation) const { return mean_compute_[operation]; }
  SimTime mean_transfer(EdgeId edge) const { return mean_transfer_[edge]; }
  // Smallest over the devices that are allowed, and over pairs of different devices (0 with a
  // single device): what a lower bound may count.
  SimTime least_compute(OperationId operation) const { return least_compute_[operation]; }
  SimTime least_transfer(EdgeId edge) const { return least_transfer_[edge]; }
  // Mean over the other devices of what the operation's output takes to get there from `device`,
  // for its largest edge; 0 without one.
  SimTime mean_reach(OperationId operation, DeviceId device) const {
    const EdgeId edge = largest_out_edge_[operation];
    if (edge.value() < 0 || device_count_ == 1) return SimTime(0);
    double sum = 0;
    const std::size_t classes = route_class_count_;
    const std::int32_t* counts = route_counts_.data() + device.index() * classes;
    const SimTime* times = transfer_.data() + edge.index() * classes;
    for (std::size_t c = 1; c < classes; ++c) {
      sum += counts[c] * static_cast<double>(times[c].ticks());
    }
    return SimTime(static_cast<std::int64_t>(sum / (device_count_ - 1)));
  }
  // The capacity of a device; 0: not known or without limit.
  std::int64_t memory_bytes(DeviceId device) const { return memory_bytes_[device]; }

 private:
  CostTable(const Graph& graph, int device_count);
  void set_allowed();
  void set_physical_compute(const Topology& topology);
  void set_routes(const Topology& topology);
  void check_fits() const;
  void derive();  // means and minima, from the tables

  const Graph* graph_;
  int device_count_;
  std::size_t route_class_count_ = 0;       // class 0: the same device, always 0 ticks
  std::vector<std::uint16_t> route_class_;  // [devices, devices]
  std::vector<std::uint8_t> allowed_;       // [operations, devices]; empty: all
  std::vector<SimTime> compute_;            // [operations, devices]
  std::vector<SimTime> transfer_;           // [edges, route classes]
  IdVector<OperationId, SimTime> mean_compute_;
  IdVector<OperationId, SimTime> least_compute_;
  IdVector<EdgeId, SimTime> mean_transfer_;
  IdVector<EdgeId, SimTime> least_transfer_;
  std::vector<std::int32_t> route_counts_;  // [devices, route classes], how many other devices
  IdVector<OperationId, EdgeId> largest_out_edge_;
  IdVector<DeviceId, std::int64_t> memory_bytes_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_COST_TABLE_H_
