// Random topologies, physical graphs and assignments for property tests, a function of the seed
// alone.
#ifndef DOPPLER_TESTS_SUPPORT_RANDOM_PHYSICAL_H_
#define DOPPLER_TESTS_SUPPORT_RANDOM_PHYSICAL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/cost_table.h"
#include "common/graph.h"
#include "common/random.h"
#include "common/topology.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"

namespace doppler::test {

inline std::uint64_t below(RandomStream& random, int count) {
  return random.next_below(static_cast<std::uint64_t>(count));
}
inline int pick(RandomStream& random, int least, int largest) {
  return least + static_cast<int>(below(random, largest - least + 1));
}

// Exact numbers give whole seconds, so that ties abound and halves are exact; others need rounding.
struct Numbers {
  bool exact;
  double bandwidth(RandomStream& random) const {
    return exact ? static_cast<double>(1 << below(random, 3)) : 0.5 + 3 * random.next_unit();
  }
  double latency(RandomStream& random) const {
    if (below(random, 2) == 0) return 0;
    return exact ? pick(random, 1, 3) : 2 * random.next_unit();
  }
  double rate(RandomStream& random) const {
    return exact ? static_cast<double>(1 << below(random, 2)) : 0.5 + random.next_unit();
  }
};

inline void add_both_ways(TopologyParts& parts, int a, int b, const Numbers& numbers,
                          RandomStream& random) {
  std::vector<int> groups;
  for (std::size_t g = 0; g < parts.groups.size(); ++g) {
    if (below(random, 3) == 0) groups.push_back(static_cast<int>(g));
  }
  add_link(parts, a, b, numbers.bandwidth(random), numbers.latency(random), groups);
  if (below(random, 2) == 0) groups.clear();
  add_link(parts, b, a, numbers.bandwidth(random), numbers.latency(random), groups);
}

// A random tree over devices and switches, so that every pair has a path, and some more links.
inline TopologyParts random_topology(const Numbers& numbers, RandomStream& random) {
  const int devices = pick(random, 1, 5);
  const int switches = pick(random, 0, 2);
  TopologyParts parts = unit_devices(devices, switches);
  for (Device& device : parts.devices) {
    device.flops_per_second = numbers.rate(random);
    if (below(random, 3) == 0) device.copy_engines_out = pick(random, 1, 2);
    if (below(random, 3) == 0) device.copy_engines_in = pick(random, 1, 2);
    if (below(random, 3) == 0) device.launch_overhead_seconds = numbers.latency(random);
    if (below(random, 4) == 0) device.memory_bandwidth_bytes_per_second = numbers.bandwidth(random);
  }
  for (int g = pick(random, 0, 2); g > 0; --g) {
    parts.groups.push_back(
        {.name = "g" + std::to_string(g), .capacity_bytes_per_second = numbers.bandwidth(random)});
  }
  const int nodes = devices + switches;
  for (int node = 1; node < nodes; ++node) {
    add_both_ways(parts, node, pick(random, 0, node - 1), numbers, random);
  }
  for (int extra = pick(random, 0, 4); extra > 0; --extra) {
    const int a = pick(random, 0, nodes - 1);
    const int b = pick(random, 0, nodes - 1);
    if (a != b) add_both_ways(parts, a, b, numbers, random);
  }
  return parts;
}

inline Graph random_physical_graph(RandomStream& random, int device_count, bool constrained,
                                   int most_operations = 14) {
  GraphBuilder builder("random", CostUnit::kPhysical);
  const int n = pick(random, 1, most_operations);
  const int largest = pick(random, 1, 8);
  for (int i = 0; i < n; ++i) {
    Operation operation;
    operation.kind = "work";
    operation.flops = pick(random, 0, largest);
    operation.output_bytes = pick(random, 0, largest);
    if (constrained && below(random, 6) == 0) {
      operation.kind = "input";
      operation.pinned_device = DeviceId(pick(random, 0, device_count - 1));
    }
    builder.add_operation(operation);
  }
  for (int e = pick(random, 0, 2 * n); e > 0 && n > 1; --e) {
    const int from = pick(random, 0, n - 2);
    Edge edge = {.source = OperationId(from),
                 .destination = OperationId(pick(random, from + 1, n - 1)),
                 .bytes = {}};
    if (below(random, 4) == 0) edge.bytes = pick(random, 0, largest);
    builder.add_edge(edge);
  }
  for (int i = pick(random, 0, 3); i > 0; --i) {
    InputTensor input;
    input.bytes = pick(random, 0, largest);
    for (int c = pick(random, 0, 3); c > 0; --c) {
      input.consumers.emplace_back(pick(random, 0, n - 1));
    }
    builder.add_input(input);
  }
  return builder.build();
}

inline Assignment allowed_assignment(const CostTable& costs, RandomStream& random) {
  Assignment assignment =
      random_assignment(costs.graph().operation_count(), costs.device_count(), random);
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const Operation& operation = costs.graph().operations()[i];
    if (operation.pinned_device) {
      assignment[OperationId(static_cast<int>(i))] = *operation.pinned_device;
    }
  }
  return assignment;
}

inline std::vector<OperationId> random_order(std::size_t count, RandomStream& random) {
  std::vector<OperationId> order;
  for (std::size_t i = 0; i < count; ++i) order.emplace_back(static_cast<int>(i));
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.next_below(i)]);
  return order;
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_RANDOM_PHYSICAL_H_
