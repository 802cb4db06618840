// Random graphs and assignments for property tests, a function of the seed alone.
#ifndef DOPPLER_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define DOPPLER_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"
#include "common/random.h"

namespace doppler::test {

struct RandomGraphOptions {
  std::int32_t operation_count = 20;
  double edges_per_operation = 1.5;  // on average, fewer where pairs repeat
  std::int32_t reach =
      1000;  // an edge goes at most so many ids ahead: small is deep, large is wide
  std::int64_t least_cost = 0;  // of compute and transfer, uniform over the whole numbers
  std::int64_t largest_cost = 100;
};

// Operation ids are a random relabelling of a topological order, so that ids and depth are
// unrelated.
inline Graph random_graph(const RandomGraphOptions& options, RandomStream& random) {
  const std::int32_t n = options.operation_count;
  const auto cost = [&] {
    return SimTime(options.least_cost +
                   static_cast<std::int64_t>(random.next_below(
                       static_cast<std::uint64_t>(options.largest_cost - options.least_cost + 1))));
  };
  GraphBuilder builder("random", CostUnit::kDurations);
  for (std::int32_t i = 0; i < n; ++i) {
    Operation operation;
    operation.kind = random.next_below(2) == 0 ? "matmul" : "add";
    operation.compute_time = cost();
    operation.transfer_time = cost();
    builder.add_operation(std::move(operation));
  }
  std::vector<std::int32_t> label(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) label[static_cast<std::size_t>(i)] = i;
  for (std::size_t i = label.size(); i > 1; --i) {
    std::swap(label[i - 1], label[random.next_below(i)]);
  }
  const auto edge_count = static_cast<std::int32_t>(options.edges_per_operation * n);
  for (std::int32_t e = 0; e < edge_count && n > 1; ++e) {
    const auto from =
        static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(n - 1)));
    const std::int32_t reach = std::min(options.reach, n - 1 - from);
    const std::int32_t to =
        from + 1 + static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(reach)));
    builder.add_edge({.source = OperationId(label[static_cast<std::size_t>(from)]),
                      .destination = OperationId(label[static_cast<std::size_t>(to)]),
                      .bytes = {}});
  }
  return builder.build();
}

inline Assignment random_assignment(std::size_t operation_count, int device_count,
                                    RandomStream& random) {
  Assignment assignment(operation_count);
  for (DeviceId& device : assignment) {
    device = DeviceId(
        static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(device_count))));
  }
  return assignment;
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_RANDOM_GRAPH_H_
