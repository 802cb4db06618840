#include "common/cost_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/time_rounding.h"

namespace doppler {
namespace {

std::string describe(const Graph& graph, OperationId id) {
  const std::string& name = graph.operation(id).name;
  return "graph " + graph.name() + ": operation " + std::to_string(id.value()) +
         (name.empty() ? "" : " (" + name + ")");
}

bool is_given(const Graph& graph, OperationId id) {
  return graph.operation(id).kind == "input" && graph.in_degree(id) == 0;
}

// Bytes that an operation reads and writes, [operations].
std::vector<double> touched_bytes(const Graph& graph) {
  std::vector<double> bytes(graph.operation_count(), 0);
  for (std::size_t o = 0; o < bytes.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    bytes[o] += static_cast<double>(graph.operation(id).output_bytes);
    for (EdgeId edge : graph.in_edges(id)) {
      bytes[o] += static_cast<double>(graph.edge_bytes(edge));
    }
  }
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) {
      bytes[consumer.index()] += static_cast<double>(input.bytes);
    }
  }
  return bytes;
}

SimTime compute_time(const Operation& operation, const Device& device, double bytes) {
  const MeasuredDuration* measured = find_duration(operation, device.kind);
  if (measured != nullptr) return round_seconds(measured->seconds);
  double seconds = operation.flops / device.rate(operation.kind);
  if (device.memory_bandwidth_bytes_per_second > 0) {
    seconds = std::max(seconds, bytes / device.memory_bandwidth_bytes_per_second);
  }
  return round_seconds(device.launch_overhead_seconds + seconds);
}

}  // namespace

CostTable::CostTable(const Graph& graph, int device_count)
    : graph_(&graph), device_count_(device_count) {}

CostTable CostTable::reference(const Graph& graph, int device_count) {
  if (device_count < 1 || device_count > kMaxDevices) {
    throw ConfigError("devices: " + std::to_string(device_count) + " is not in 1.." +
                      std::to_string(kMaxDevices));
  }
  if (graph.cost_unit() != CostUnit::kDurations) {
    throw ConfigError(
        "graph " + graph.name() +
        " states FLOPs and bytes; reference mode needs a graph that states durations");
  }
  CostTable table(graph, device_count);
  table.set_allowed();
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
    table.transfer_.emplace_back(0);
    table.transfer_.push_back(graph.operation(edge.source).transfer_time);
  }
  table.check_fits();
  table.derive();
  return table;
}

CostTable CostTable::physical(const Graph& graph, const Topology& topology) {
  if (graph.cost_unit() != CostUnit::kPhysical) {
    throw ConfigError("graph " + graph.name() +
                      " states durations; the physical mode needs a graph that states FLOPs and "
                      "bytes, so use --reference for this one");
  }
  CostTable table(graph, topology.device_count());
  table.set_allowed();
  table.set_physical_compute(topology);
  table.set_routes(topology);
  table.check_fits();
  table.derive();
  for (std::int32_t d = 0; d < table.device_count_; ++d) {
    table.memory_bytes_[DeviceId(d)] = topology.device(DeviceId(d)).memory_bytes.value_or(0);
  }
  return table;
}

void CostTable::set_allowed() {
  const auto devices = static_cast<std::size_t>(device_count_);
  const auto free_everywhere = [](const Operation& operation) {
    return !operation.pinned_device && operation.forbidden_devices.empty();
  };
  if (std::all_of(graph_->operations().begin(), graph_->operations().end(), free_everywhere)) {
    return;
  }
  allowed_.assign(graph_->operation_count() * devices, 1);
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    const Operation& operation = graph_->operation(id);
    const auto check = [&](DeviceId device, const char* field) {
      if (device.value() < 0 || device.value() >= device_count_) {
        throw ConfigError(describe(*graph_, id) + ": " + field + ": device " +
                          std::to_string(device.value()) + " does not exist; there are " +
                          std::to_string(device_count_) + ", counted from 0");
      }
    };
    const auto row = allowed_.begin() + static_cast<std::ptrdiff_t>(o * devices);
    if (operation.pinned_device) {
      check(*operation.pinned_device, "pinned_device");
      std::fill(row, row + device_count_, std::uint8_t{0});
      row[operation.pinned_device->value()] = 1;
    }
    for (DeviceId device : operation.forbidden_devices) {
      check(device, "forbidden_devices");
      row[device.value()] = 0;
    }
    if (std::find(row, row + device_count_, 1) == row + device_count_) {
      throw ConfigError(describe(*graph_, id) +
                        ": pinned_device and forbidden_devices leave it no device to run on");
    }
  }
}

void CostTable::set_physical_compute(const Topology& topology) {
  const std::vector<double> bytes = touched_bytes(*graph_);
  compute_.reserve(graph_->operation_count() * topology.devices().size());
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    const Operation& operation = graph_->operation(id);
    for (std::size_t d = 0; d < topology.devices().size(); ++d) {
      const DeviceId device(static_cast<std::int32_t>(d));
      const std::string& kind = topology.device(device).kind;
      const bool measured = find_duration(operation, kind) != nullptr;
      if (!measured && !operation.measured_durations.empty() && operation.flops == 0 &&
          allowed(id, device)) {
        throw ConfigError(describe(*graph_, id) + ": states measured durations, but none for '" +
                          kind + "' (device " + topology.device(device).name +
                          "), and no flops to go by; add one of them, or forbid the device");
      }
      compute_.push_back(is_given(*graph_, id)
                             ? SimTime(0)
                             : compute_time(operation, topology.device(device), bytes[o]));
    }
  }
}

void CostTable::set_routes(const Topology& topology) {
  // By latency and bandwidth, in the order in which they are met.
  std::map<std::pair<SimTime, double>, std::uint16_t> class_of;
  std::vector<const Route*> example = {nullptr};
  for (std::int32_t from = 0; from < device_count_; ++from) {
    for (std::int32_t to = 0; to < device_count_; ++to) {
      if (from == to) {
        route_class_.push_back(0);
        continue;
      }
      const Route& route = topology.route(DeviceId(from), DeviceId(to));
      const auto [at, is_new] =
          class_of.emplace(std::pair(route.latency, route.bandwidth_bytes_per_second),
                           static_cast<std::uint16_t>(example.size()));
      if (is_new) example.push_back(&route);
      if (example.size() > std::numeric_limits<std::uint16_t>::max()) {
        throw ConfigError("topology " + topology.name() +
                          ": its routes have more than 65534 different latencies and bandwidths");
      }
      route_class_.push_back(at->second);
    }
  }
  route_class_count_ = example.size();
  transfer_.reserve(graph_->edge_count() * route_class_count_);
  for (std::size_t e = 0; e < graph_->edge_count(); ++e) {
    const std::int64_t bytes = graph_->edge_bytes(EdgeId(static_cast<std::int32_t>(e)));
    transfer_.emplace_back(0);
    for (std::size_t c = 1; c < route_class_count_; ++c) {
      transfer_.push_back(example[c]->transfer_time(bytes));
    }
  }
}

// A makespan is at most all work and all transfers one after the other, each at its slowest.
void CostTable::check_fits() const {
  std::int64_t total = 0;
  const auto add_largest = [&](const std::vector<SimTime>& times, std::size_t row,
                               std::size_t width) {
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(row * width);
    const std::int64_t largest =
        std::max_element(first, first + static_cast<std::ptrdiff_t>(width))->ticks();
    if (largest > kLargestTicks - 1 - total) {
      throw ConfigError("graph " + graph_->name() +
                        ": the sum of all compute and transfer times exceeds 2^62 ticks" +
                        (graph_->cost_unit() == CostUnit::kDurations
                             ? "; use a coarser unit"
                             : " (53 days); check FLOPs, bytes and rates"));
    }
    total += largest;
  };
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    add_largest(compute_, o, static_cast<std::size_t>(device_count_));
  }
  for (std::size_t e = 0; e < graph_->edge_count(); ++e) {
    add_largest(transfer_, e, route_class_count_);
  }
}

void CostTable::derive() {
  const auto devices = static_cast<std::size_t>(device_count_);
  mean_compute_.assign(graph_->operation_count(), SimTime(0));
  least_compute_.assign(graph_->operation_count(), SimTime(0));
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    __int128 sum = 0;
    std::int64_t count = 0;
    SimTime least = SimTime::max();
    for (std::size_t d = 0; d < devices; ++d) {
      if (!allowed(id, DeviceId(static_cast<std::int32_t>(d)))) continue;
      ++count;
      sum += compute_[o * devices + d].ticks();
      least = std::min(least, compute_[o * devices + d]);
    }
    mean_compute_[id] = SimTime(static_cast<std::int64_t>(sum / count));
    least_compute_[id] = least;
  }

  std::vector<std::int64_t> pairs_per_class(route_class_count_, 0);
  for (std::uint16_t route : route_class_) ++pairs_per_class[route];
  std::int64_t pair_count = 0;
  for (std::size_t c = 1; c < route_class_count_; ++c) pair_count += pairs_per_class[c];
  memory_bytes_.assign(devices, 0);
  route_counts_.assign(devices * route_class_count_, 0);
  for (std::size_t pair = 0; pair < route_class_.size(); ++pair) {
    ++route_counts_[pair / devices * route_class_count_ + route_class_[pair]];
  }
  largest_out_edge_.assign(graph_->operation_count(), EdgeId());
  for (std::size_t e = 0; e < graph_->edge_count(); ++e) {
    const EdgeId id(static_cast<std::int32_t>(e));
    EdgeId& largest = largest_out_edge_[graph_->edge(id).source];
    if (largest.value() < 0 || graph_->edge_bytes(id) > graph_->edge_bytes(largest)) largest = id;
  }
  mean_transfer_.assign(graph_->edge_count(), SimTime(0));
  least_transfer_.assign(graph_->edge_count(), SimTime(0));
  if (pair_count == 0) return;
  for (std::size_t e = 0; e < graph_->edge_count(); ++e) {
    __int128 sum = 0;
    SimTime least = SimTime::max();
    for (std::size_t c = 1; c < route_class_count_; ++c) {
      const SimTime transfer = transfer_[e * route_class_count_ + c];
      sum += static_cast<__int128>(transfer.ticks()) * pairs_per_class[c];
      if (pairs_per_class[c] > 0) least = std::min(least, transfer);
    }
    const EdgeId id(static_cast<std::int32_t>(e));
    mean_transfer_[id] = SimTime(static_cast<std::int64_t>(sum / pair_count));
    least_transfer_[id] = least;
  }
}

}  // namespace doppler
