#include "sim/trace.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/physical_simulator.h"
#include "tests/support/physical_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using Json = nlohmann::json;

std::vector<Json> events(const Json& trace, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

Json trace_of(const Graph& graph, const Topology& topology, const PhysicalOptions& options,
              const Assignment& assignment) {
  const CostTable costs = CostTable::physical(graph, topology);
  PhysicalSimulator simulator(costs, topology, options);
  return Json::parse(
      chrome_trace(graph, topology, assignment, simulator.run_recorded(assignment, {})));
}

TEST(Trace, HasARowForEachDeviceAndLink) {
  // o0 (1 s, 4 B) on d0 sends to o1 (2 s) on d1: boxes 0-1 s, 1-5 s, 5-7 s, in microseconds.
  GraphBuilder builder("g", CostUnit::kPhysical);
  Operation operation;
  operation.name = "say \"hi\"\n\\";
  operation.flops = 1;
  operation.output_bytes = 4;
  builder.add_operation(operation);
  operation.flops = 2;
  builder.add_operation(operation);
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  const Graph graph = builder.build();
  const Json trace =
      trace_of(graph, Topology(test::unit_mesh(2)), {}, test::make_assignment({0, 1}));
  std::vector<std::string> rows;
  for (const Json& event : events(trace, "M")) {
    if (event["name"] == "thread_name") rows.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(rows, testing::ElementsAre("d0", "d1", "d0->d1", "d1->d0"));
  const std::vector<Json> boxes = events(trace, "X");
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_EQ(boxes[0]["name"], "say \"hi\"\n\\ (0)");
  EXPECT_EQ(boxes[1]["ts"], 5e6);
  EXPECT_EQ(boxes[1]["dur"], 2e6);
  EXPECT_EQ(boxes[2]["ts"], 1e6);
  EXPECT_EQ(boxes[2]["dur"], 4e6);
  EXPECT_EQ(boxes[2]["args"]["bytes"], 4);
  // o0 to its transfer, the transfer to o1.
  EXPECT_EQ(events(trace, "s").size(), 2U);
  EXPECT_EQ(events(trace, "f").size(), 2U);
}

TEST(Trace, RowsHaveNoOverlapsAndArrowsLieInBoxes) {
  RandomStream random(3);
  const Topology topology(test::h100_node());
  for (Contention contention : {Contention::kNone, Contention::kSerial, Contention::kFair}) {
    const Graph graph = test::physical_version(test::random_graph(
        {.operation_count = 60, .least_cost = 1'000'000, .largest_cost = 100'000'000}, random));
    PhysicalOptions options;
    options.contention = contention;
    const Json trace = trace_of(graph, topology, options,
                                test::random_assignment(graph.operation_count(), 8, random));
    using Row = std::pair<int, int>;
    std::map<Row, std::vector<std::pair<double, double>>> boxes;
    for (const Json& box : events(trace, "X")) {
      boxes[{box["pid"], box["tid"]}].emplace_back(
          box["ts"], box["ts"].get<double>() + box["dur"].get<double>());
    }
    constexpr double kRounding = 1e-6;  // microseconds
    for (auto& [row, list] : boxes) {
      std::sort(list.begin(), list.end());
      for (std::size_t i = 1; i < list.size(); ++i) {
        EXPECT_LE(list[i - 1].second, list[i].first + kRounding);
      }
    }
    std::size_t arrows = 0;
    for (const char* phase : {"s", "f"}) {
      for (const Json& end : events(trace, phase)) {
        ++arrows;
        bool inside = false;
        for (const auto& [from, to] : boxes[{end["pid"], end["tid"]}]) {
          const double time = end["ts"];
          inside = inside || (from - kRounding <= time && time <= to + kRounding);
        }
        EXPECT_TRUE(inside) << end;
      }
    }
    EXPECT_GE(arrows, 2 * graph.edge_count());
  }
}

}  // namespace
}  // namespace doppler
