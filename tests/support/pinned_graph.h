// Graphs of durations whose operations may not run everywhere.
#ifndef DOPPLER_TESTS_SUPPORT_PINNED_GRAPH_H_
#define DOPPLER_TESTS_SUPPORT_PINNED_GRAPH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/graph.h"
#include "common/random.h"

namespace doppler::test {

// `graph` with each operation as `change` leaves it.
inline Graph change_operations(const Graph& graph,
                               const std::function<void(OperationId, Operation&)>& change) {
  GraphBuilder builder(graph.name(), graph.cost_unit());
  for (std::size_t i = 0; i < graph.operation_count(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    Operation operation = graph.operation(id);
    change(id, operation);
    builder.add_operation(std::move(operation));
  }
  for (const Edge& edge : graph.edges()) builder.add_edge(edge);
  return builder.build();
}

inline Graph pin(const Graph& graph, int operation, int device) {
  return change_operations(graph, [&](OperationId id, Operation& changed) {
    if (id.value() == operation) changed.pinned_device = DeviceId(device);
  });
}

// About a third of the operations may not run on one device, every tenth is pinned.
inline Graph constrain_at_random(const Graph& graph, int device_count, RandomStream& random) {
  return change_operations(graph, [&](OperationId, Operation& changed) {
    const DeviceId device(
        static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(device_count))));
    const std::uint64_t draw = random.next_below(10);
    if (draw == 0) {
      changed.pinned_device = device;
    } else if (draw < 4 && device_count > 1) {
      changed.forbidden_devices = {device};
    }
  });
}

inline bool is_allowed(const CostTable& costs, const Assignment& assignment) {
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    if (!costs.allowed(id, assignment[id])) return false;
  }
  return true;
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_PINNED_GRAPH_H_
