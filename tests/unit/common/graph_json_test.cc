#include "common/graph_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/export_dot.h"
#include "common/import_dot.h"
#include "common/workloads.h"
#include "tests/support/expect_error.h"
#include "tests/support/full_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported import(const std::string& text) {
  return import_graph_json(text, "g.json");
}

void expect_equal(const Graph& again, const Graph& graph) {
  EXPECT_EQ(again.name(), graph.name());
  EXPECT_EQ(again.cost_unit(), graph.cost_unit());
  EXPECT_EQ(again.operations(), graph.operations());
  EXPECT_EQ(again.edges(), graph.edges());
  EXPECT_EQ(again.inputs(), graph.inputs());
  EXPECT_EQ(again.input_count(), graph.input_count());
  EXPECT_EQ(again.content_hash(), graph.content_hash());
}

void expect_round_trips(const Graph& graph) {
  const std::string text = format_graph_json(graph);
  const Imported again = import(text);
  EXPECT_THAT(again.warnings, IsEmpty());
  expect_equal(again.graph, graph);
  EXPECT_EQ(format_graph_json(again.graph), text);
  // native -> DOT -> native
  const Graph through_dot = import_dot(format_dot(again.graph), "g.dot", {}).graph;
  expect_equal(through_dot, graph);
  EXPECT_EQ(format_graph_json(through_dot), text);
}

TEST(GraphJson, KeepsEverythingExactly) {
  expect_round_trips(test::full_graph(CostUnit::kPhysical));
  expect_round_trips(test::full_graph(CostUnit::kDurations));
  RandomStream random(11);
  for (int i = 0; i < 20; ++i) {
    expect_round_trips(test::random_graph({.operation_count = 40}, random));
  }
  for (const CostConvention costs : {CostConvention::kPaper, CostConvention::kPhysical}) {
    WorkloadOptions options;
    options.devices = 4;
    options.costs = costs;
    expect_round_trips(generate_workload("llama-layer", options));
  }
}

// Written by hand: what each key means does not hang on our own writer.
constexpr const char* kByHand = R"({"format": "doppler-graph", "format_version": 1,
  "name": "pair", "cost_unit": "physical",
  "operations": [
    {"name": "x", "kind": "matmul", "flops": 2e9, "output_bytes": 4096, "output_shape": [32, 32],
     "measured_durations": [{"device_kind": "v100", "seconds": 0.25}], "group_id": 7,
     "block_coordinates": [0, 1], "pinned_device": 2},
    {"kind": "reduce", "role": "reduce", "forbidden_devices": [0, 3]}],
  "edges": [{"source": 0, "destination": 1, "bytes": 100}],
  "inputs": [{"name": "w", "bytes": 64, "consumers": [0]}]})";

TEST(GraphJson, ReadsAFileWrittenByHand) {
  const Graph graph = import(kByHand).graph;
  ASSERT_EQ(graph.operation_count(), 2U);
  const Operation& x = graph.operation(OperationId(0));
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.kind, "matmul");
  EXPECT_EQ(x.flops, 2e9);
  EXPECT_EQ(x.output_bytes, 4096);
  EXPECT_EQ(x.output_shape, (std::vector<std::int64_t>{32, 32}));
  ASSERT_THAT(x.measured_durations, SizeIs(1));
  EXPECT_EQ(x.measured_durations[0].seconds, 0.25);
  EXPECT_EQ(x.group, GroupId(7));
  EXPECT_EQ(x.role, Role::kShard);
  EXPECT_EQ(x.block_coordinates, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(x.pinned_device, DeviceId(2));
  const Operation& sum = graph.operation(OperationId(1));
  EXPECT_EQ(sum.role, Role::kReduce);
  EXPECT_EQ(sum.forbidden_devices, (std::vector<DeviceId>{DeviceId(0), DeviceId(3)}));
  EXPECT_EQ(graph.edge_bytes(EdgeId(0)), 100);
  ASSERT_THAT(graph.inputs(), SizeIs(1));
  EXPECT_EQ(graph.inputs()[0].bytes, 64);
}

TEST(GraphJson, KeepsADuplicateEdgeOnceWithAWarning) {
  std::string text = format_graph_json(test::chain_graph());
  const std::string edge = R"({"source":1,"destination":2})";
  text.replace(text.find(edge), edge.size(), edge + ", " + edge);
  const Imported file = import(text);
  EXPECT_EQ(file.graph.edge_count(), 2U);
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("/edges/2: this edge stands more than once"));
}

TEST(GraphJson, EveryDamageIsRefusedAtItsPlace) {
  struct Case {
    const char* what;
    const char* with;
    const char* message;
  };
  const Case cases[] = {
      {"\"flops\"", "\"flop\"",
       "g.json: /operations/0: key 'flop' is not known; did you mean 'flops'?"},
      {"2e9", "-1", "/operations/0/flops: must not be negative"},
      {"2e9", "\"2e9\"", "/operations/0/flops: expected a number"},
      {"4096", "4e30", "/operations/0/output_bytes:"},
      {"\"reduce\", \"role\": \"reduce\"", "\"reduce\", \"role\": \"redcue\"",
       "/operations/1/role: expected 'shard' or 'reduce', found 'redcue'"},
      {"\"kind\": \"reduce\"", "\"compute_ticks\": 5",
       "/operations/1/compute_ticks: a graph of cost_unit 'physical' states no ticks"},
      {"\"destination\": 1", "\"destination\": 2",
       "/edges/0/destination: must lie in 0..1, but is 2"},
      {"\"destination\": 1", "\"destination\": 0", "edge 0 -> 0: an operation cannot feed itself"},
      {"\"consumers\": [0]", "\"consumers\": [-1]", "/inputs/0/consumers/0: must lie in 0..1"},
      {"\"physical\"", "\"ticks\"", "/cost_unit: expected 'physical' or 'durations'"},
      {"\"format_version\": 1", "\"format_version\": 2",
       "/format_version: this program reads version 1, the file is of 2"},
      {"\"doppler-graph\"", "\"doppler\"", "/format: expected 'doppler-graph'"},
      {"\"name\": \"pair\"", "\"name\": \"pair\", \"name\": \"pear\"", "stands twice"},
      {"\"pinned_device\": 2", "\"pinned_device\": 2.5", "expected an integer"},
      {"\"inputs\"", "\"input\"", "g.json: /: key 'input' is not known; did you mean 'inputs'?"},
      {"0.25}]", "0.25}", "g.json:"},
      {"2e9", "1e400",
       "g.json:4:46: JSON: number '1e400' is out of range; the largest is about 1.8e308"},
  };
  for (const Case& damage : cases) {
    std::string text = kByHand;
    const std::size_t at = text.find(damage.what);
    ASSERT_NE(at, std::string::npos) << damage.what;
    text.replace(at, std::string(damage.what).size(), damage.with);
    EXPECT_THAT(test::message_of<FormatError>([&] { import(text); }), HasSubstr(damage.message));
  }
}

TEST(GraphJson, PrintsOneCycle) {
  std::string text = format_graph_json(test::chain_graph());
  const std::string edge = R"({"source":1,"destination":2})";
  text.replace(text.find(edge), edge.size(), edge + R"(, {"source":2,"destination":0})");
  EXPECT_THAT(test::message_of<FormatError>([&] { import(text); }), HasSubstr("has a cycle: "));
}

TEST(GraphJson, WritesAnOperationALine) {
  EXPECT_EQ(format_graph_json(test::make_graph("two", {{2, 10}, {3, 0}}, {{0, 1}})),
            R"({
  "format": "doppler-graph",
  "format_version": 1,
  "name": "two",
  "cost_unit": "durations",
  "operations": [
    {"name":"","kind":"work","compute_ticks":2,"transfer_ticks":10},
    {"name":"","kind":"work","compute_ticks":3}
  ],
  "edges": [
    {"source":0,"destination":1}
  ]
}
)");
}

}  // namespace
}  // namespace doppler
