#include "common/graph_format.h"

#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/export_dot.h"
#include "common/graph_durations.h"
#include "common/graph_json.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(GraphFormat, IsToldByTheContent) {
  EXPECT_EQ(detect_format(test::pipedream_sample(), "f"), GraphFormat::kPipedream);
  EXPECT_EQ(detect_format(test::dnn_partitioning_sample(), "f"), GraphFormat::kDnnPartitioning);
  EXPECT_EQ(detect_format(test::stg_sample(), "f"), GraphFormat::kStg);
  EXPECT_EQ(detect_format(test::dot_sample(), "f"), GraphFormat::kDot);
  EXPECT_EQ(detect_format("// c\n# d\nDiGraph x {}", "f"), GraphFormat::kDot);
  EXPECT_EQ(detect_format(test::wfcommons_sample(), "f"), GraphFormat::kWfcommons);
  EXPECT_EQ(detect_format(test::onnx_sample(), "f"), GraphFormat::kOnnx);
  EXPECT_EQ(detect_format(format_graph_text(test::chain_graph()), "f"), GraphFormat::kText);
  EXPECT_EQ(detect_format(format_graph_json(test::chain_graph()), "f"), GraphFormat::kNative);
  EXPECT_EQ(detect_format("2\n\n\n\n1,2\n3,4\n", "f"), GraphFormat::kText);
}

TEST(GraphFormat, WhatLooksLikeNoneIsRefused) {
  EXPECT_THAT(test::message_of<FormatError>([] { detect_format("<xml/>", "f.xml"); }),
              HasSubstr("f.xml:1:1: format: the content looks like no graph format; known are"));
  EXPECT_THAT(test::message_of<FormatError>([] { detect_format("\n", "f"); }),
              HasSubstr("f:1:1: file: is empty"));
  EXPECT_THAT(test::message_of<FormatError>([] { detect_format(test::dnn_split_sample(), "f"); }),
              HasSubstr("is the split of a graph"));
}

TEST(GraphFormat, BytesThatAreNeitherTextNorAMessageAreNone) {
  const auto problem = [](std::string_view content) {
    return test::message_of<FormatError>([&] { detect_format(content, "f"); });
  };
  using namespace std::string_view_literals;
  // UTF-16 with a byte order mark and without, Latin-1, and bytes whose first field is cut off.
  EXPECT_THAT(problem("\xff\xfe"
                      "2\0\n\0"sv),
              HasSubstr("f:1:1: format: the content looks like no graph format: byte '\\xff' is no "
                        "text (UTF-8); known are text, onnx"));
  EXPECT_THAT(problem("2\0\n\0"sv), HasSubstr("f:1:2: format: the content looks like no graph"));
  EXPECT_THAT(problem("digraph {\n\xe9 }"), HasSubstr("f:2:1: format: the content looks like no"));
  EXPECT_THAT(problem("\x12\x7f\xff"), HasSubstr("looks like no graph format"));
  // A message whatever its first field.
  EXPECT_EQ(detect_format("\x12\x01\xff", "f"), GraphFormat::kOnnx);
}

TEST(GraphFormat, AByteOrderMarkIsToldAsWhatItIs) {
  const std::string marked = "\xef\xbb\xbf" + format_graph_text(test::chain_graph());
  for (const auto format :
       {std::optional<GraphFormat>(), std::optional(GraphFormat::kText),
        std::optional(GraphFormat::kStg), std::optional(GraphFormat::kNative)}) {
    EXPECT_THAT(test::message_of<FormatError>([&] { parse_any_graph(marked, "f", format, {}); }),
                HasSubstr("f:1:1: file: begins with a byte order mark; save it without"));
  }
}

TEST(GraphFormat, CanBeForced) {
  EXPECT_THAT(test::message_of<FormatError>(
                  [] { parse_any_graph(test::stg_sample(), "f", GraphFormat::kText, {}); }),
              HasSubstr("number of nodes"));
  EXPECT_EQ(parse_graph_format("stg"), GraphFormat::kStg);
  EXPECT_THAT(test::message_of<ConfigError>([] { parse_graph_format("sgt"); }),
              HasSubstr("format 'sgt' is not known; did you mean 'stg'?"));
  for (const std::string& name : graph_format_names()) {
    EXPECT_EQ(graph_format_name(parse_graph_format(name)), name);
  }
}

// a (2 ms, 300 bytes to b, 100 to c) -> b, c.
Graph measured_graph() {
  GraphBuilder builder("m", CostUnit::kPhysical);
  Operation a;
  a.measured_durations = {{.device_kind = "v100", .seconds = 2e-3}};
  a.output_bytes = 300;
  builder.add_operation(a);
  Operation b;
  b.flops = 1e6;
  builder.add_operation(b);
  builder.add_operation({});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(1), .bytes = {}});
  builder.add_edge({.source = OperationId(0), .destination = OperationId(2), .bytes = 100});
  return builder.build();
}

TEST(GraphDurations, TurnsFlopsBytesAndMeasuredTimesIntoPicoseconds) {
  const GraphInDurations turned = turn_into_durations(
      measured_graph(), {.device_kind = "v100", .flops_per_second = 1e12, .bytes_per_second = 1e9});
  const auto& operations = turned.graph.operations();
  EXPECT_EQ(turned.graph.cost_unit(), CostUnit::kDurations);
  EXPECT_EQ(operations[0].compute_time, SimTime(2'000'000'000));
  EXPECT_EQ(operations[0].transfer_time, SimTime(300'000));  // the larger of 300 and 100 bytes
  EXPECT_EQ(operations[1].compute_time, SimTime(1'000'000));
  EXPECT_EQ(operations[2].compute_time, SimTime(0));
  ASSERT_THAT(turned.warnings, SizeIs(1));
  EXPECT_THAT(turned.warnings[0].text, HasSubstr("different sizes to different readers: 1"));
}

TEST(GraphDurations, NamesTheRateThatIsMissing) {
  const auto error_of = [](const DurationRates& rates) {
    return test::message_of<ConfigError>([&] { turn_into_durations(measured_graph(), rates); });
  };
  EXPECT_THAT(error_of({}), HasSubstr("was measured on v100; choose one with --device-kind"));
  EXPECT_THAT(error_of({.device_kind = "v100", .flops_per_second = 1, .bytes_per_second = {}}),
              HasSubstr("operation 0 sends bytes; give --bytes-per-second"));
  EXPECT_THAT(error_of({.device_kind = "v100", .flops_per_second = {}, .bytes_per_second = 1}),
              HasSubstr("operation 1 states FLOPs; give --flops-per-second"));
  EXPECT_THAT(error_of({.device_kind = "v100", .flops_per_second = 1e-9, .bytes_per_second = 1}),
              HasSubstr("takes longer than 2^62 picoseconds"));
}

}  // namespace
}  // namespace doppler
