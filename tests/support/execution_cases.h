// Graphs, machines and backends for tests of real execution, small enough for hundreds of runs.
#ifndef DOPPLER_TESTS_SUPPORT_EXECUTION_CASES_H_
#define DOPPLER_TESTS_SUPPORT_EXECUTION_CASES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/graph.h"
#include "common/random.h"
#include "common/topology.h"
#include "common/workloads.h"
#include "tests/support/physical_graphs.h"

namespace doppler::test {

// Devices that take `microseconds` for 1e6 FLOPs, joined pairwise by links that take as long for
// 1e6 bytes and a microsecond of latency; one copy engine a direction; perhaps a group that all
// links share.
inline Topology small_machine(int devices, double microseconds, bool shared = false) {
  TopologyParts parts = unit_mesh(devices, 1e6 / (microseconds * 1e-6), 1e-6);
  for (Device& device : parts.devices) {
    device.flops_per_second = 1e6 / (microseconds * 1e-6);
    device.copy_engines_out = 1;
    device.copy_engines_in = 1;
  }
  if (shared) {
    parts.groups.push_back(
        {.name = "bus", .capacity_bytes_per_second = 1.5e6 / (microseconds * 1e-6)});
    for (Link& link : parts.links) link.groups.emplace_back(0);
  }
  return Topology(parts);
}

// A feed-forward network of small blocks, with kernels of all sorts.
inline Graph small_network(const std::string& name = "ffnn") {
  WorkloadOptions options;
  options.devices = 2;
  if (name == "ffnn") {
    options.sizes = {{"batch", 32}, {"inputs", 16}, {"hidden", 64}, {"outputs", 16}};
  } else if (name == "llama-block") {
    options.sizes = {
        {"batch", 1}, {"sequence", 16}, {"width", 32}, {"heads", 2}, {"feed_forward", 48}};
  } else {
    options.sizes = {{"size", 64}};
  }
  return generate_workload(name, options);
}

inline std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// What every record of a run must obey, whatever took how long; the first rule that is broken, or
// "".
inline std::string find_disorder(const Graph& graph, const Assignment& assignment,
                                 const Execution& execution) {
  const auto text = [](const char* rule, std::int32_t which) {
    return std::string(rule) + ": " + std::to_string(which);
  };
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> busy(
      execution.device_busy.size());
  SimTime last;
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    if (execution.end[id] < execution.start[id]) return text("ends before it starts", id.value());
    last = std::max(last, execution.end[id]);
    const bool given = graph.in_degree(id) == 0 && graph.operation(id).kind == "input";
    if (!given) {
      busy[assignment[id].index()].emplace_back(execution.start[id].ticks(),
                                                execution.end[id].ticks());
    }
    for (OperationId predecessor : graph.predecessors(id)) {
      if (assignment[predecessor] == assignment[id]) {
        if (execution.start[id] < execution.end[predecessor]) {
          return text("starts before its input is computed", id.value());
        }
        continue;
      }
      int found = 0;
      for (const TransferRecord& transfer : execution.transfers) {
        if (transfer.producer != predecessor || transfer.to != assignment[id]) continue;
        ++found;
        if (execution.start[id] < transfer.end) {
          return text("starts before its input has arrived", id.value());
        }
        if (transfer.start < execution.end[predecessor]) {
          return text("is sent before it is computed", predecessor.value());
        }
      }
      if (found != 1) return text("is not sent exactly once", predecessor.value());
    }
  }
  if (execution.makespan != last) return "the makespan is not the last end";
  for (auto& intervals : busy) {
    std::sort(intervals.begin(), intervals.end());
    for (std::size_t i = 1; i < intervals.size(); ++i) {
      if (intervals[i].first < intervals[i - 1].second) return "a device runs two at once";
    }
  }
  return "";
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_EXECUTION_CASES_H_
