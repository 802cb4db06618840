// A graph that uses every field that a Graph has, with names that need quoting.
#ifndef DOPPLER_TESTS_SUPPORT_FULL_GRAPH_H_
#define DOPPLER_TESTS_SUPPORT_FULL_GRAPH_H_

#include "common/graph.h"

namespace doppler::test {

inline Graph full_graph(CostUnit unit) {
  GraphBuilder builder("a \"graph\" \\ with\nall", unit);
  Operation first;
  first.name = "q\"uo\\te\nd \\\"";
  first.kind = "mat mul";
  first.flops = 0.1 + 0.2;
  first.output_bytes = 123456789012345;
  first.compute_time = SimTime(unit == CostUnit::kDurations ? 7 : 0);
  first.transfer_time = SimTime(unit == CostUnit::kDurations ? 9 : 0);
  first.output_shape = {3, 0, 5};
  first.measured_durations = {{.device_kind = "an h100: 100%", .seconds = 1.0 / 3},
                              {.device_kind = "*", .seconds = 5e-324}};
  first.group = GroupId(4);
  first.role = Role::kReduce;
  first.block_coordinates = {1, 0, 2};
  first.pinned_device = DeviceId(3);
  first.forbidden_devices = {DeviceId(0), DeviceId(2)};
  builder.add_operation(first);
  builder.add_operation({});
  builder.add_operation({});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = {}});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = 0});
  builder.add_input({.name = "w\\", .bytes = 17, .consumers = {OperationId(2), OperationId(0)}});
  builder.add_input({.name = "unused", .bytes = 0, .consumers = {}});
  builder.set_input_count(5);
  return builder.build();
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_FULL_GRAPH_H_
