#include "common/import_dnn_partitioning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/public_data.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported import(const std::string& text, const ImportOptions& options = {}) {
  return import_dnn_partitioning(text, "d.json", options);
}

// The sample with `from` replaced once.
std::string damaged(const std::string& from, const std::string& to) {
  std::string text = test::dnn_partitioning_sample();
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ImportDnnPartitioning, NodesBecomeOperationsMeasuredOnTwoKinds) {
  const Imported file = import(test::dnn_partitioning_sample());
  EXPECT_THAT(file.operation_ids, ElementsAre("11", "12", "13", "14"));
  EXPECT_EQ(file.graph.edge_count(), 4U);
  const Operation& first = file.graph.operation(OperationId(0));
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.output_bytes, 100);
  EXPECT_THAT(first.measured_durations,
              ElementsAre(MeasuredDuration{.device_kind = "cpu", .seconds = 0.02},
                          MeasuredDuration{.device_kind = "fpga", .seconds = 0.002}));
  EXPECT_THAT(first.forbidden_devices, IsEmpty());
  // Not on an accelerator: devices 0 and 1 are those.
  const Operation& right = file.graph.operation(OperationId(2));
  EXPECT_THAT(right.measured_durations, SizeIs(1));
  EXPECT_THAT(right.forbidden_devices, ElementsAre(DeviceId(0), DeviceId(1)));
  EXPECT_EQ(file.graph.operation(OperationId(3)).kind, "backward");
}

TEST(ImportDnnPartitioning, MemoryBecomesInputTensorsAndHints) {
  const Imported file = import(test::dnn_partitioning_sample());
  EXPECT_THAT(file.devices,
              ElementsAre(DeviceHint{.kind = "fpga", .count = 2, .memory_bytes = 1000},
                          DeviceHint{.kind = "cpu", .count = 1, .memory_bytes = {}}));
  // 300 bytes, of which 100 are its output; "last" has no reader, so all of its 8 stay; the
  // weight.
  ASSERT_THAT(file.graph.inputs(), SizeIs(3));
  EXPECT_EQ(file.graph.inputs()[0].name, "first.parameters");
  EXPECT_EQ(file.graph.inputs()[0].bytes, 200);
  EXPECT_EQ(file.graph.inputs()[1].name, "last.parameters");
  EXPECT_EQ(file.graph.inputs()[1].bytes, 8);
  EXPECT_EQ(file.graph.inputs()[2].bytes, 64);
}

TEST(ImportDnnPartitioning, WarnsOfWhatAGraphCannotHold) {
  const Imported file = import(test::dnn_partitioning_sample());
  ASSERT_THAT(file.warnings, SizeIs(4));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("limits the memory of an accelerator to 1000"));
  EXPECT_THAT(file.warnings[1].text, HasSubstr("1 colour classes hold several nodes"));
  EXPECT_THAT(file.warnings[2].text, HasSubstr("devices 0..1 are forbidden"));
  // 64 bytes in 0.064 ms.
  EXPECT_THAT(file.warnings[3].text, HasSubstr("they mean 1e+06 bytes per second"));
}

TEST(ImportDnnPartitioning, CostsBecomeBytesWhereThereAreNoSizes) {
  std::string text = test::dnn_partitioning_sample();
  for (const char* size :
       {", \"size\": 64.0}", ", \"size\": 100.0}", ", \"size\": 100.0}", ", \"size\": 50.0}"}) {
    const std::size_t edges = text.find("\"edges\"");
    const std::size_t at = text.find(size, edges);
    text.replace(at, std::string(size).size(), "}");
  }
  EXPECT_THAT(test::message_of<FormatError>([&] { import(text); }),
              HasSubstr("d.json: /edges/0: states the time of a transfer but no 'size'; give "
                        "--bytes-per-second"));
  const Imported file = import(text, {.bytes_per_second = 2e6});
  EXPECT_EQ(file.graph.operation(OperationId(0)).output_bytes, 200);  // 0.1 ms
}

TEST(ImportDnnPartitioning, EveryDamageNamesItsPath) {
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {"{", "d.json:1:2: JSON: syntax error"},
      {"[]", "d.json: /: expected an object, found an array"},
      {damaged("\"maxCPUs\": 1, ", ""), "d.json: /: 'maxCPUs' is missing"},
      {damaged("\"maxCPUs\": 1", "\"maxCPUs\": -1"), "/maxCPUs: must lie in 0..4096"},
      {damaged("\"maxCPUs\": 1", "\"maxCPUs\": 1, \"maxCPUs\": 1"), "key 'maxCPUs' stands twice"},
      {damaged("\"maxCPUs\": 1", "\"maxCPU\": 1"), "'maxCPUs' is missing; is 'maxCPU' meant?"},
      {damaged("\"id\": 12", "\"id\": \"12\""), "/nodes/2/id: expected an integer, found '\"12\"'"},
      {damaged("\"id\": 12", "\"id\": 11"), "/nodes/2/id: 11 is the id of another node"},
      {damaged("\"cpuLatency\": 20.0", "\"cpuLatency\": -1"),
       "/nodes/1/cpuLatency: must not be negative"},
      {damaged("\"cpuLatency\": 20.0", "\"cpuLatency\": NaN"), "d.json:4:"},
      {damaged("\"cpuLatency\": 20.0", "\"cpuLatency\": 1e999"),
       "JSON: number '1e999' is out of range"},
      {damaged("\"supportedOnFpga\": 1", "\"supportedOnFpga\": 2"),
       "/nodes/1/supportedOnFpga: expected true or false (or 1 or 0), found '2'"},
      {damaged("\"size\": 300.0", "\"size\": 1e30"), "/nodes/1/size: '1e+30' is too large"},
      {damaged("\"destId\": 12", "\"destId\": 99"), "/edges/1/destId: no node has the id 99"},
      {damaged("\"destId\": 12", "\"destId\": 11"), "/edges/1: leads from a node to itself"},
      {damaged("\"sourceId\": 11, \"destId\": 12", "\"sourceId\": 14, \"destId\": 12"),
       "has a cycle: left -> last -> left"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(test::message_of<FormatError>([&] { import(bad.text); }), HasSubstr(bad.message));
  }
}

TEST(ImportDnnSplit, BecomesAnAssignment) {
  const Imported graph = import(test::dnn_partitioning_sample());
  const ImportedSplit split = import_dnn_split(test::dnn_split_sample(), "s.json", graph);
  EXPECT_EQ(split.assignment, test::make_assignment({0, 1, 2, 1}));
  EXPECT_EQ(split.accelerator_count, 2);
  EXPECT_EQ(split.cpu_count, 1);
  ASSERT_THAT(split.warnings, SizeIs(1));
  EXPECT_THAT(split.warnings[0].text, HasSubstr("1 nodes of the split are no operations"));
}

TEST(ImportDnnSplit, MustCoverTheGraphOnce) {
  const Imported graph = import(test::dnn_partitioning_sample());
  const auto error_of = [&](const std::string& text) {
    return test::message_of<FormatError>([&] { import_dnn_split(text, "s.json", graph); });
  };
  EXPECT_THAT(error_of(R"({"cpus": [], "fpgas": [{"nodes": [11, 12, 13]}]})"),
              HasSubstr("no device holds node 14"));
  EXPECT_THAT(error_of(R"({"cpus": [{"nodes": [11]}], "fpgas": [{"nodes": [11]}]})"),
              HasSubstr("/cpus/0/nodes/0: node 11 is on another device as well"));
}

struct PublicFile {
  const char* name;
  std::size_t nodes;
  std::size_t edges;
  std::size_t operations;
};

class PublicDnnPartitioning : public testing::TestWithParam<PublicFile> {};

TEST_P(PublicDnnPartitioning, HasTheCountsOfItsText) {
  const PublicFile& expected = GetParam();
  DP_SKIP_WITHOUT_PUBLIC_DATA(expected.name);
  const std::string text = read_text_file(test::public_data_path(expected.name));
  const Imported file = import(text);
  EXPECT_EQ(file.graph.operation_count(), expected.operations);
  const Imported whole = import(text, {.keep_inputs = true});
  EXPECT_EQ(whole.graph.operation_count(), expected.nodes);
  EXPECT_EQ(whole.graph.edge_count(), expected.edges);
}

// bert24: nodes 1, 2 and 4 are free sources; bert_l-3: 62 weights and biases.
INSTANTIATE_TEST_SUITE_P(
    Inference, PublicDnnPartitioning,
    testing::Values(PublicFile{"dnn-partitioning/bert24_inference.json", 32, 55, 29},
                    PublicFile{"dnn-partitioning/bert_l-3_inference.json", 235, 250, 173},
                    PublicFile{"dnn-partitioning/resnet50_inference.json", 177, 193, 177}));

TEST(PublicDnnSplit, PlacesBertAsTheExpertsDid) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("dnn-partitioning/bert24_inference_expert.json");
  const Imported graph =
      import(read_text_file(test::public_data_path("dnn-partitioning/bert24_inference.json")));
  const ImportedSplit split = import_dnn_split(
      read_text_file(test::public_data_path("dnn-partitioning/bert24_inference_expert.json")),
      "s.json", graph);
  EXPECT_EQ(split.accelerator_count, 6);
  ASSERT_EQ(split.assignment.size(), 29U);
  EXPECT_EQ(split.assignment[OperationId(0)], DeviceId(0));   // node 3
  EXPECT_EQ(split.assignment[OperationId(28)], DeviceId(5));  // node 32
}

}  // namespace
}  // namespace doppler
