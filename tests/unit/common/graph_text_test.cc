#include "common/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/symmetry.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/public_data.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// Three operations 0 -> 1 -> 2 and 0 -> 2 behind two inputs.
constexpr const char* kGood = "5\n0, 1, \n0, 0, 1, \n1, 2, 2, \n10,40,matmul\n20,80,add\n30,120\n";

std::string error_of(const std::string& text) {
  return test::message_of<FormatError>([&] { parse_graph_text(text, "g.txt"); });
}

TEST(GraphText, ReadsCountsEdgesAndCosts) {
  const GraphText file = parse_graph_text(kGood, "data/g.txt");
  EXPECT_THAT(file.warnings, IsEmpty());
  EXPECT_EQ(file.graph.name(), "g");
  EXPECT_EQ(file.graph.cost_unit(), CostUnit::kDurations);
  EXPECT_EQ(file.graph.operation_count(), 3U);
  EXPECT_EQ(file.graph.input_count(), 2U);
  EXPECT_EQ(file.graph.edge_count(), 3U);
  EXPECT_THAT(file.graph.successors(OperationId(0)),
              testing::ElementsAre(OperationId(1), OperationId(2)));
  const Operation& first = file.graph.operation(OperationId(0));
  EXPECT_EQ(first.compute_time, SimTime(10));
  EXPECT_EQ(first.transfer_time, SimTime(40));
  EXPECT_EQ(first.kind, "matmul");
  EXPECT_EQ(file.graph.operation(OperationId(2)).kind, "");
}

TEST(GraphText, UnderOneSourceEdgesKeepTheOrderOfTheFile) {
  const GraphText file = parse_graph_text("3\n\n1, 0, 0\n2, 2, 1\n1,1\n1,1\n1,1", "g.txt");
  const auto& edges = file.graph.edges();
  ASSERT_THAT(edges, SizeIs(3));
  EXPECT_EQ(edges[0].destination, OperationId(2));
  EXPECT_EQ(edges[1].destination, OperationId(1));
  EXPECT_EQ(edges[2].source, OperationId(1));
}

TEST(GraphText, LineEndsDoNotMatter) {
  const GraphText expected = parse_graph_text(kGood, "g.txt");
  std::string dos;
  for (const char* c = kGood; *c != 0; ++c)
    dos += *c == '\n' ? std::string("\r\n") : std::string(1, *c);
  std::string cut = kGood;
  cut.pop_back();
  for (const std::string& text : {dos, cut, std::string(kGood) + "\n \n\r\n"}) {
    const GraphText file = parse_graph_text(text, "g.txt");
    EXPECT_THAT(file.warnings, IsEmpty());
    EXPECT_EQ(file.graph.content_hash(), expected.graph.content_hash());
  }
}

TEST(GraphText, AGraphMayHaveNoInputsAndNoEdges) {
  const GraphText file = parse_graph_text("2\n\n\n\n1,2\n3,4\n", "g.txt");
  EXPECT_EQ(file.graph.operation_count(), 2U);
  EXPECT_EQ(file.graph.input_count(), 0U);
  EXPECT_EQ(file.graph.edge_count(), 0U);
}

TEST(GraphText, AnIrregularSeparatorIsReportedWithItsEdge) {
  // As in the published file: `2,1, 2` where `2, 2, 2` was meant.
  const GraphText file = parse_graph_text("4\n0\n0, 1, 0\n2,2, 1\n1,1\n1,1\n1,1\n", "g.txt");
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_EQ(file.warnings[0].line, 4U);
  EXPECT_EQ(file.warnings[0].column, 2U);
  EXPECT_THAT(file.warnings[0].text, HasSubstr("irregular separator ',' instead of ', '"));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("edge 1 -> 2"));
  EXPECT_THAT(describe(file.warnings[0], "g.txt"), StartsWith("g.txt:4:2: warning: "));
}

TEST(GraphText, IrregularSeparatorsAreReportedOnEveryList) {
  const GraphText file = parse_graph_text("5\n0,1\n0 , 0, 1\n1,\t2, 2\n1,1\n1,1\n1,1\n", "g.txt");
  ASSERT_THAT(file.warnings, SizeIs(3));
  EXPECT_THAT(describe(file.warnings[0], "g"), HasSubstr("g:2:2: warning: input ids"));
  EXPECT_THAT(describe(file.warnings[1], "g"), HasSubstr("g:3:2: warning: edge sources"));
  EXPECT_THAT(describe(file.warnings[2], "g"), HasSubstr("g:4:2: warning: edge destinations"));
  EXPECT_THAT(file.warnings[2].text, HasSubstr("',\\x09'"));
}

TEST(GraphText, AListWithoutAnyRegularSeparatorIsReportedOnce) {
  const GraphText file =
      parse_graph_text("5\n\n0,0,0,0\n1,2,3,4\n1,1\n1,1\n1,1\n1,1\n1,1", "g.txt");
  ASSERT_THAT(file.warnings, SizeIs(2));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("edge 0 -> 2"));
}

TEST(GraphText, ParallelEdgesAreMergedWithAWarning) {
  const GraphText file = parse_graph_text("2\n\n0, 0\n1, 1\n1,1\n1,1\n", "g.txt");
  EXPECT_EQ(file.graph.edge_count(), 1U);
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_EQ(file.warnings[0].column, 4U);
  EXPECT_THAT(file.warnings[0].text, HasSubstr("parallel edge 0 -> 1, first in column 1"));
}

TEST(GraphText, EveryDamageIsRefusedAtItsPlace) {
  struct Case {
    const char* text;
    const char* place;
    const char* what;
  };
  const Case cases[] = {
      {"", "g.txt:1:1: file: ", "is empty"},
      {"\n\n", "g.txt:1:1: file: ", "is empty"},
      {"x\n", "g.txt:1:1: number of nodes: ", "expected an integer, found 'x'"},
      {"-3\n", "g.txt:1:1: number of nodes: ", "must not be negative"},
      {"+3\n", "g.txt:1:1: number of nodes: ", "found '+3'"},
      {"0\n", "g.txt:1:1: number of nodes: ", "is 0"},
      {"3.0\n", "g.txt:1:1: number of nodes: ", "plain digits, but stands as '3.0'"},
      {"1e3\n", "g.txt:1:1: number of nodes: ", "plain digits"},
      {"0x10\n", "g.txt:1:1: number of nodes: ", "plain digits"},
      {"03\n", "g.txt:1:1: number of nodes: ", "leading zero"},
      {"3 \n", "g.txt:1:2: number of nodes: ", "end of the line"},
      {" 3\n", "g.txt:1:1: number of nodes: ", "expected an integer"},
      {"\xef\xbb\xbf"
       "3\n",
       "g.txt:1:1: file: ", "begins with a byte order mark; save it without"},
      {"99999999999999999999\n", "g.txt:1:1: number of nodes: ", "too large"},
      {"4294967297\n", "g.txt:1:1: number of nodes: ", "too large"},
      {"3\n", "g.txt:2:1: input ids: ", "is missing; the file ends after line 1"},
      {"3\n0, 0\n0\n1\n1,1\n", "g.txt:2:4: input ids: ", "stands twice, first in column 1"},
      {"3\n0, 3\n0\n1\n1,1\n", "g.txt:2:4: input ids: ", "out of range"},
      {"3\n0, -1\n0\n1\n1,1\n", "g.txt:2:4: input ids: ", "negative"},
      {"3\n0 1\n0\n1\n1,1\n", "g.txt:2:2: input ids: ", "expected ', '"},
      {"3\n0, , 1\n0\n1\n1,1\n", "g.txt:2:4: input ids: ", "expected an integer"},
      {"2\n0, 1\n\n\n1,1\n", "g.txt:2:1: input ids: ", "no operation remains"},
      {"2\n\n0\n", "g.txt:4:1: edge destinations: ", "is missing"},
      {"2\n\n0, 0\n1\n1,1\n1,1\n", "g.txt:4:1: edge destinations: ", "1 for 2 sources"},
      {"2\n\n2\n1\n1,1\n1,1\n", "g.txt:3:1: edge sources: ", "2 is out of range"},
      {"3\n0\n0\n2\n1,1\n1,1\n", "g.txt:4:1: edge destinations: ", "2 operations"},
      {"2\n\n0\n0\n1,1\n1,1\n", "g.txt:4:1: edge destinations: ", "edge 0 -> 0 feeds itself"},
      {"2\n\n0x\n1\n1,1\n1,1\n", "g.txt:3:1: edge sources: ", "plain digits"},
      {"2\n\n0;1\n1\n1,1\n1,1\n", "g.txt:3:2: edge sources: ", "expected ', '"},
      {"2\n\n0\n1\n1,1\n", "g.txt:6:1: costs: ", "make 2 cost lines, but the file ends after 1"},
      {"2\n\n0\n1\n1,1\n1,1\n9,9\n", "g.txt:7:1: costs: ", "more follows: '9,9'"},
      {"2\n\n0\n1\n1,1\n\n1,1\n", "g.txt:6:1: operation 1: costs: ", "blank"},
      {"1\n\n\n\n1\n", "g.txt:5:2: operation 0: compute: ", "expected ','"},
      {"1\n\n\n\n1,\n", "g.txt:5:3: operation 0: transfer: ", "missing at the end"},
      {"1\n\n\n\n-1,1\n", "g.txt:5:1: operation 0: compute: ", "must not be negative"},
      {"1\n\n\n\n1,-1\n", "g.txt:5:3: operation 0: transfer: ", "must not be negative"},
      {"1\n\n\n\n1, 1\n", "g.txt:5:3: operation 0: transfer: ", "expected an integer"},
      {"1\n\n\n\n1.5,1\n", "g.txt:5:1: operation 0: compute: ", "plain digits"},
      {"1\n\n\n\nnan,1\n", "g.txt:5:1: operation 0: compute: ", "expected an integer"},
      {"1\n\n\n\n9223372036854775808,1\n", "g.txt:5:1: operation 0: compute: ", "too large"},
      {"1\n\n\n\n1,1,\n", "g.txt:5:5: operation 0: type: ", "is empty"},
      {"1\n\n\n\n1,1,a,b\n", "g.txt:5:6: operation 0: type: ", "found ',b'"},
      {"1\n\n\n\n1,1,a b\n", "g.txt:5:6: operation 0: type: ", "one word"},
      {"1\n\n\n\n1,1;\n", "g.txt:5:4: operation 0: transfer: ", "found ';'"},
      {"1\n\n\n\n1\r,1\n", "g.txt:5:2: operation 0: compute: ", "'\\x0d,1'"},
  };
  for (const Case& damaged : cases) {
    const std::string message = error_of(damaged.text);
    EXPECT_THAT(message, StartsWith(damaged.place)) << damaged.text;
    EXPECT_THAT(message, HasSubstr(damaged.what)) << damaged.text;
    EXPECT_THAT(message, testing::Not(HasSubstr("\n"))) << "a message is one line";
  }
}

TEST(GraphText, ANulByteIsRefused) {
  EXPECT_THAT(error_of(std::string("1\n\n\n\n1,1\0\n", 10)), HasSubstr("\\x00"));
}

TEST(GraphText, ACycleIsPrinted) {
  const std::string message = error_of("3\n\n0, 1, 2\n1, 2, 1\n1,1\n1,1\n1,1\n");
  EXPECT_THAT(message, StartsWith("g.txt:3:1: edges: "));
  EXPECT_THAT(message, HasSubstr("1 -> 2 -> 1"));
}

TEST(GraphText, EveryTruncationIsRefusedOrAWholeGraph) {
  // Cut anywhere, the text either fails with a message or still states every line (the last number
  // merely shorter).
  const std::string text = kGood;
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      const GraphText file = parse_graph_text(text.substr(0, length), "g.txt");
      EXPECT_EQ(file.graph.operation_count(), 3U) << length;
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), StartsWith("g.txt:")) << length;
    }
  }
}

TEST(GraphText, WritesWhatItReads) {
  EXPECT_EQ(format_graph_text(parse_graph_text(kGood, "g.txt").graph), kGood);
}

TEST(GraphText, RefusesToWriteWhatItCannotCarry) {
  const Graph graph = test::make_graph("g", {{1, 1, "two words"}}, {});
  EXPECT_THAT(test::message_of<ConfigError>([&] { format_graph_text(graph); }),
              HasSubstr("operation 0: kind 'two words'"));
  GraphBuilder builder("physical", CostUnit::kPhysical);
  builder.add_operation({});
  const Graph physical = builder.build();
  EXPECT_THROW(format_graph_text(physical), ConfigError);
}

TEST(GraphText, AMissingFileAndAFolderAreBadInput) {
  const test::TempDir folder;
  EXPECT_THAT(test::message_of<ConfigError>([&] { load_graph_text(folder.file("absent.txt")); }),
              HasSubstr("absent.txt: no such file"));
  EXPECT_THAT(test::message_of<ConfigError>([&] { load_graph_text(folder.path().string()); }),
              HasSubstr("is a folder"));
}

struct PublishedFile {
  const char* name;
  std::size_t operations;
  std::size_t edges;
  std::size_t inputs;
  std::size_t classes;
};

class PublishedGraph : public testing::TestWithParam<PublishedFile> {};

TEST_P(PublishedGraph, HasTheKnownCountsAndClasses) {
  const PublishedFile& expected = GetParam();
  DP_SKIP_WITHOUT_PUBLIC_DATA(expected.name);
  const std::string path = test::public_data_path(expected.name);
  const GraphText file = load_graph_text(path);
  EXPECT_THAT(file.warnings, IsEmpty());
  EXPECT_EQ(file.graph.operation_count(), expected.operations);
  EXPECT_EQ(file.graph.edge_count(), expected.edges);
  EXPECT_EQ(file.graph.input_count(), expected.inputs);
  EXPECT_EQ(symmetry_classes(file.graph).class_size.size(), expected.classes);

  // Written again, all but the ids of the inputs (which carry no meaning) is the same byte for
  // byte.
  const auto without_inputs = [](const std::string& text) {
    const std::size_t first = text.find('\n');
    return text.substr(0, first) + text.substr(text.find('\n', first + 1));
  };
  EXPECT_EQ(without_inputs(format_graph_text(file.graph)), without_inputs(read_text_file(path)));
}

INSTANTIATE_TEST_SUITE_P(
    Paper, PublishedGraph,
    testing::Values(PublishedFile{"doppler/gdp_chain_mm_112nodes.txt", 76, 80, 36, 7},
                    PublishedFile{"doppler/gdp_ffnn_192nodes.txt", 180, 208, 12, 12},
                    PublishedFile{"doppler/gdp_transformer_block_215nodes.txt", 182, 234, 33, 60},
                    PublishedFile{"doppler/gdp_full_transformer_layer_261nodes.txt", 229, 284, 32,
                                  138}));

TEST(PublishedCorruptGraph, IsReportedAtTheDamage) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("doppler/chain_mm_112nodes.txt");
  const GraphText file = load_graph_text(test::public_data_path("doppler/chain_mm_112nodes.txt"));
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_EQ(file.warnings[0].line, 4U);
  EXPECT_EQ(file.warnings[0].column, 3U);
  EXPECT_THAT(file.warnings[0].text, HasSubstr("edge 1 -> 6"));
}

}  // namespace
}  // namespace doppler
