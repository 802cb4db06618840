#include "common/import_dot.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/dot_syntax.h"
#include "common/error.h"
#include "common/export_dot.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/full_graph.h"
#include "tests/support/public_data.h"
#include "tests/support/random_graph.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported import(const std::string& text) {
  return import_dot(text, "g.dot", {});
}

TEST(ImportDot, SizesAreFlopsAndBytes) {
  const Imported file = import(test::dot_sample());
  EXPECT_THAT(file.operation_ids, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(file.graph.cost_unit(), CostUnit::kPhysical);
  EXPECT_EQ(file.graph.operation(OperationId(0)).flops, 100.5);
  EXPECT_EQ(file.graph.operation(OperationId(0)).kind, "source");
  EXPECT_EQ(file.graph.operation(OperationId(0)).output_bytes, 1000);
  EXPECT_EQ(file.graph.operation(OperationId(2)).flops, 10);  // the default
  EXPECT_EQ(file.graph.operation(OperationId(3)).flops, 30);  // "3" + "0"
  ASSERT_EQ(file.graph.edge_count(), 6U);
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(0)), 1000);  // a -> b
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(2)), 50);    // a -> d
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(3)), 0);     // b -> e, negative
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(4)), 25);    // c -> e, the larger of 20.5 and 25
}

TEST(ImportDot, OfDuplicateEdgesTheLargerSizeCounts) {
  EXPECT_EQ(import("digraph { a -> b [size=9]; a -> b [size=7] }").graph.edge_bytes(EdgeId(0)), 9);
}

TEST(ImportDot, WarnsOfWhatIsOdd) {
  const Imported file = import(test::dot_sample());
  ASSERT_THAT(file.warnings, SizeIs(3));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("edges without a size: 1"));
  EXPECT_THAT(file.warnings[1].text, HasSubstr("edges with a negative size: 1"));
  EXPECT_THAT(describe(file.warnings[2], "g.dot"),
              HasSubstr("g.dot:12:5: warning: edge c -> e stands more than once"));
}

TEST(ImportDot, EveryDamageIsRefusedAtItsPlace) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "g.dot:1:1: file: is empty"},
      {"graph { a -- b }", "g.dot:1:1: DOT: the graph is undirected"},
      {"digraph { a -- b }", "g.dot:1:13: DOT: edges of a digraph are written ->"},
      {"digraph {\n a -> \n}", "g.dot:3:1: DOT: expected a node"},
      {"digraph {\n a [size=]\n}", "g.dot:2:10: DOT: expected a value behind '='"},
      {"digraph {\n a [=3]\n}", "g.dot:2:5: DOT: expected an attribute or ']'"},
      {"digraph {\n a [size=3\n", "expected an attribute or ']', found the end of the file"},
      {"digraph { a", "g.dot:1:12: DOT: expected '}', found the end of the file"},
      {"digraph { a } b", "g.dot:1:15: DOT: found 'b' behind the graph"},
      {"digraph { a [label=\"x] }", "g.dot:1:20: DOT: the string is never closed"},
      {"digraph { a [label=<x] }", "g.dot:1:20: DOT: the HTML string is never closed"},
      {"digraph { /* a }", "g.dot:1:11: DOT: the comment is never closed"},
      {"digraph { a & b }", "g.dot:1:13: DOT: found '&', which begins nothing"},
      {"digraph { a [size=\"x\"] }", "g.dot:1:19: node a: size: expected a number, found 'x'"},
      {"digraph { a [size=-1] }", "g.dot:1:19: node a: size: must not be negative"},
      {"digraph { a [size=1e400] }", "g.dot:1:19: DOT: '1e400' is neither a number nor a name"},
      {"digraph { a [size=\"1e400\"] }", "size: expected a number"},
      {"digraph {\n a -> b [size=\"1 MB\"] }", "g.dot:2:15: edge a -> b: size: expected a number"},
      {"digraph { a -> b [size=\"1e30\"] }", "size: is more bytes than 2^62"},
      {"digraph { a -> a }", "g.dot:1:13: edge a -> a: a node must not feed itself"},
      {"digraph { a -> b -> c -> a }", "g.dot: the graph has a cycle: a -> b -> c -> a"},
      {"digraph { }", "g.dot: holds no nodes"},
      {"digraph { subgraph { a }", "expected '}'"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(test::message_of<FormatError>([&] { import(bad.text); }), HasSubstr(bad.message))
        << bad.text;
  }
}

TEST(ImportDot, NestingIsLimited) {
  const std::string deep(100000, '{');
  EXPECT_THAT(test::message_of<FormatError>([&] { import("digraph " + deep); }),
              HasSubstr("nested more than 64 deep"));
}

TEST(ImportDot, DamageInAnExportedGraphIsRefused) {
  const auto error_of = [](const std::string& statements) {
    return test::message_of<FormatError>(
        [&] { import("digraph g { doppler_graph=1; " + statements + " }"); });
  };
  EXPECT_THAT(error_of("cost_unit=apples; n0;"), HasSubstr("expected physical or durations"));
  EXPECT_THAT(error_of("n0 [output_bytes=-1];"),
              HasSubstr("output_bytes: expected an integer in 0.."));
  EXPECT_THAT(error_of("n0 [flops=\"-1\"];"), HasSubstr("flops: must not be negative"));
  EXPECT_THAT(error_of("n0 [role=boss];"), HasSubstr("role: expected shard or reduce"));
  EXPECT_THAT(error_of("n0 [measured_seconds=\"v100\"];"), HasSubstr("measured_seconds: expected"));
  EXPECT_THAT(error_of("n0; i0 [input=true]; n0 -> i0;"), HasSubstr("consumes nothing"));
}

// What Boost's reader makes of a text: nodes with their attribute "size", and edges.
struct BoostNode {
  std::string id;
  std::string size;
};
using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, BoostNode,
                                         boost::property<boost::edge_name_t, std::string>>;

void expect_as_boost(const std::string& text) {
  BoostGraph expected;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("node_id", boost::get(&BoostNode::id, expected));
  properties.property("size", boost::get(&BoostNode::size, expected));
  properties.property("size", boost::get(boost::edge_name, expected));
  ASSERT_TRUE(boost::read_graphviz(text, expected, properties));

  const ImportReport report("g.dot");
  const DotGraph found = parse_dot(text, report);
  const auto size_of = [](const DotAttributes& attributes) {
    const auto at = attributes.find("size");
    return at == attributes.end() ? std::string() : at->second.value;
  };
  std::map<std::string, std::string> nodes;
  for (const DotNode& node : found.nodes) nodes[node.id] = size_of(node.attributes);
  std::map<std::string, std::string> expected_nodes;
  for (const auto v : boost::make_iterator_range(boost::vertices(expected))) {
    expected_nodes[expected[v].id] = expected[v].size;
  }
  EXPECT_EQ(nodes, expected_nodes) << text;
  std::multiset<std::string> edges;
  for (const DotEdge& edge : found.edges) {
    edges.insert(found.nodes[edge.source].id + ">" + found.nodes[edge.destination].id + ">" +
                 size_of(edge.attributes));
  }
  std::multiset<std::string> expected_edges;
  for (const auto e : boost::make_iterator_range(boost::edges(expected))) {
    expected_edges.insert(expected[boost::source(e, expected)].id + ">" +
                          expected[boost::target(e, expected)].id + ">" +
                          boost::get(boost::edge_name, expected, e));
  }
  EXPECT_EQ(edges, expected_edges) << text;
}

TEST(DotSyntax, ReadsWhatBoostReads) {
  for (const std::string& text :
       {std::string("digraph { a -> b -> c; }"),
        std::string("digraph g { a [size=1]; b [size=\"2\"]; a -> b [size=3] }"),
        std::string("digraph { node [size=4]; a; node [size=5]; b; a -> b; }"),
        std::string("digraph { edge [size=4]; a -> b; edge [size=5]; b -> c [size=6]; }"),
        std::string("digraph { subgraph {a b} -> subgraph {c d} [size=7]; }"),
        std::string("digraph { subgraph s { a; b [size=1] } c -> subgraph s; }"),
        std::string("digraph { a -> b [size=1] [size=2, color=red; style=bold] }"),
        std::string("digraph { \"a b\" -> \"c\\\"d\"; -1.5 -> .5; _x1 -> 7 }"),
        std::string("digraph { a:p -> b:q:n; }"),
        std::string("/* c */ digraph { // d\n a -> b }")}) {
    expect_as_boost(text);
  }
}

void expect_round_trip(const Graph& graph) {
  const Imported again = import(format_dot(graph));
  EXPECT_THAT(again.warnings, IsEmpty());
  EXPECT_EQ(again.graph.name(), graph.name());
  EXPECT_EQ(again.graph.operations(), graph.operations());
  EXPECT_EQ(again.graph.edges(), graph.edges());
  EXPECT_EQ(again.graph.inputs(), graph.inputs());
  EXPECT_EQ(again.graph.content_hash(), graph.content_hash());
}

TEST(ExportDot, SurvivesTheWayThroughDotExactly) {
  expect_round_trip(test::full_graph(CostUnit::kPhysical));
  expect_round_trip(test::full_graph(CostUnit::kDurations));
  RandomStream random(7);
  for (int i = 0; i < 20; ++i)
    expect_round_trip(test::random_graph({.operation_count = 40}, random));
}

TEST(ExportDot, IsReadByBoostAsWell) {
  // Boost keeps \\ and \n as they are, like our own reader; the nodes must be the same.
  expect_as_boost(format_dot(test::full_graph(CostUnit::kPhysical)));
}

TEST(PublicDot, HasTheCountsOfItsText) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("dot/dag.dot");
  const Imported file = import(read_text_file(test::public_data_path("dot/dag.dot")));
  // end, 0..9 and root, which only an edge names.
  EXPECT_EQ(file.graph.operation_count(), 12U);
  EXPECT_EQ(file.graph.edge_count(), 11U);
  EXPECT_THAT(test::message_of<FormatError>(
                  [] { import(read_text_file(test::public_data_path("dot/dag_with_cycle.dot"))); }),
              HasSubstr("has a cycle: 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 1"));
}

}  // namespace
}  // namespace doppler
