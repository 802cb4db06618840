// Small graphs whose answers can be worked out with a pencil. Costs are ticks of the reference
// mode.
#ifndef DOPPLER_TESTS_SUPPORT_TINY_GRAPHS_H_
#define DOPPLER_TESTS_SUPPORT_TINY_GRAPHS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"

namespace doppler::test {

struct TinyCost {
  std::int64_t compute;
  std::int64_t transfer;
  std::string kind = "work";
};

// Operation i costs costs[i]; edges in the given order.
inline Graph make_graph(const std::string& name, const std::vector<TinyCost>& costs,
                        const std::vector<std::pair<int, int>>& edges) {
  GraphBuilder builder(name, CostUnit::kDurations);
  for (const TinyCost& cost : costs) {
    Operation operation;
    operation.kind = cost.kind;
    operation.compute_time = SimTime(cost.compute);
    operation.transfer_time = SimTime(cost.transfer);
    builder.add_operation(std::move(operation));
  }
  for (const auto& [source, destination] : edges) {
    builder.add_edge(
        {.source = OperationId(source), .destination = OperationId(destination), .bytes = {}});
  }
  return builder.build();
}

inline Assignment make_assignment(const std::vector<int>& devices) {
  Assignment assignment;
  for (int device : devices) assignment.push_back(DeviceId(device));
  return assignment;
}

// 0 -> 1 -> 2, compute 2, 3, 4, transfers 10, 20, 30.
// One device: 2 + 3 + 4 = 9. Devices 0, 1, 0: 2 + 10 + 3 + 20 + 4 = 39.
inline Graph chain_graph() {
  return make_graph("chain", {{2, 10}, {3, 20}, {4, 30}}, {{0, 1}, {1, 2}});
}

// 0 -> {1, 2} -> 3, compute 1, 4, 4, 1, transfers 2 each.
// One device: 1 + 4 + 4 + 1 = 10. Operation 2 elsewhere: 1 + 2 + 4 + 2 + 1 = 10 as well (the
// transfers eat the gain).
inline Graph diamond_graph() {
  return make_graph("diamond", {{1, 2}, {4, 2}, {4, 2}, {1, 2}}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

// Four independent operations of 5 ticks behind operation 0 (1 tick, transfer 1), joined by
// operation 5 (1 tick). One device: 1 + 4 * 5 + 1 = 22. Two devices, two each: 1 + 1 + 5 + 5 + 1 +
// 1 = 14.
inline Graph fork_join_graph() {
  return make_graph("fork-join", {{1, 1}, {5, 1}, {5, 1}, {5, 1}, {5, 1}, {1, 1}},
                    {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 5}, {2, 5}, {3, 5}, {4, 5}});
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_TINY_GRAPHS_H_
