// Physical graphs and topologies for tests and benchmarks.
#ifndef DOPPLER_TESTS_SUPPORT_PHYSICAL_GRAPHS_H_
#define DOPPLER_TESTS_SUPPORT_PHYSICAL_GRAPHS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/graph.h"
#include "common/topology.h"

namespace doppler::test {

inline constexpr std::int64_t kSecond = 1'000'000'000'000;  // in ticks

// Durations and bytes that need no rounding: a device computes 1 FLOP in a second, and a link
// carries 1 byte in a second, unless a test says otherwise.
struct UnitOperation {
  double seconds = 0;
  std::int64_t bytes = 0;
  std::string kind = "work";
};

inline Graph make_unit_graph(const std::vector<UnitOperation>& operations,
                             const std::vector<std::pair<int, int>>& edges) {
  GraphBuilder builder("unit", CostUnit::kPhysical);
  for (const UnitOperation& unit : operations) {
    Operation operation;
    operation.kind = unit.kind;
    operation.flops = unit.seconds;
    operation.output_bytes = unit.bytes;
    builder.add_operation(std::move(operation));
  }
  for (const auto& [source, destination] : edges) {
    builder.add_edge(
        {.source = OperationId(source), .destination = OperationId(destination), .bytes = {}});
  }
  return builder.build();
}

// Devices d0, d1, ... of 1 FLOP/s without memory limits; then switches s0, s1, ...; no links.
inline TopologyParts unit_devices(int device_count, int switch_count = 0) {
  TopologyParts parts;
  parts.name = "unit";
  parts.route_reference_bytes = 8;
  for (int i = 0; i < device_count; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.kind = "unit";
    device.flops_per_second = 1;
    parts.devices.push_back(device);
  }
  for (int i = 0; i < switch_count; ++i) parts.switches.push_back("s" + std::to_string(i));
  return parts;
}

inline void add_link(TopologyParts& parts, int from, int to, double bandwidth = 1,
                     double latency = 0, const std::vector<int>& groups = {}) {
  Link link = {.from = NodeId(from),
               .to = NodeId(to),
               .latency_seconds = latency,
               .bandwidth_bytes_per_second = bandwidth,
               .groups = {}};
  for (int group : groups) link.groups.emplace_back(group);
  parts.links.push_back(std::move(link));
}

// All pairs joined by links of their own.
inline TopologyParts unit_mesh(int device_count, double bandwidth = 1, double latency = 0) {
  TopologyParts parts = unit_devices(device_count);
  for (int from = 0; from < device_count; ++from) {
    for (int to = 0; to < device_count; ++to) {
      if (from != to) add_link(parts, from, to, bandwidth, latency);
    }
  }
  return parts;
}

// Eight H100 on one NVSwitch, as in configs/topologies/h100x8-nvswitch.yaml.
inline TopologyParts h100_node() {
  TopologyParts parts = unit_devices(8, 1);
  parts.name = "h100x8";
  for (Device& device : parts.devices) {
    device.kind = "h100";
    device.memory_bytes = 85'899'345'920;
    device.flops_per_second = 67e12;
    device.memory_bandwidth_bytes_per_second = 3.35e12;
    device.launch_overhead_seconds = 5e-6;
    device.copy_engines_out = device.copy_engines_in = 2;
    device.forwards = false;
  }
  for (int d = 0; d < 8; ++d) {
    add_link(parts, d, 8, 450e9, 1e-6);
    add_link(parts, 8, d, 450e9, 1e-6);
  }
  return parts;
}

// A graph of the paper with physical costs. Its files count multiply-adds, so FLOPs are twice the
// compute ticks. An operation of up to 2^27 of them works element by element and writes as many
// floats; a larger one multiplies blocks with 4096 as the inner extent.
inline Graph physical_version(const Graph& graph) {
  constexpr std::int64_t kLargestElementwise = std::int64_t{1} << 27;
  GraphBuilder builder(graph.name(), CostUnit::kPhysical);
  for (Operation operation : graph.operations()) {
    const std::int64_t multiply_adds = operation.compute_time.ticks();
    const bool multiplies = multiply_adds > kLargestElementwise;
    operation.flops = 2 * static_cast<double>(multiply_adds);
    operation.output_bytes = 4 * (multiplies ? multiply_adds / 4096 : multiply_adds);
    operation.kind = multiplies ? "matmul" : operation.kind;
    operation.compute_time = operation.transfer_time = SimTime(0);
    builder.add_operation(std::move(operation));
  }
  for (const Edge& edge : graph.edges()) builder.add_edge(edge);
  for (const InputTensor& input : graph.inputs()) builder.add_input(input);
  builder.set_input_count(graph.input_count());
  return builder.build();
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_PHYSICAL_GRAPHS_H_
