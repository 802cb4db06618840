#include "common/import_pipedream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/public_data.h"

namespace doppler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Imported import(const std::string& text, const ImportOptions& options = {}) {
  return import_pipedream(text, "p.txt", options);
}

std::string error_of(const std::string& text) {
  return test::message_of<FormatError>([&] { import(text); });
}

constexpr const char* kCosts =
    "forward_compute_time=1.0, backward_compute_time=2.0, activation_size=3, parameter_size=4";

TEST(ImportPipedream, LayersBecomeMeasuredOperations) {
  const Imported file = import(test::pipedream_sample());
  // Without the input; ids in the order of the file.
  EXPECT_THAT(file.operation_ids, ElementsAre("node3", "node2", "node4", "node5"));
  EXPECT_EQ(file.graph.name(), "p");
  EXPECT_EQ(file.graph.cost_unit(), CostUnit::kPhysical);
  EXPECT_EQ(file.graph.edge_count(), 4U);
  const Operation& conv = file.graph.operation(OperationId(1));
  EXPECT_EQ(conv.name, "node2");
  EXPECT_EQ(conv.kind, "Conv2d");
  // 300 + 60 + 40.5 bytes, rounded up.
  EXPECT_EQ(conv.output_bytes, 401);
  EXPECT_THAT(conv.measured_durations,
              ElementsAre(MeasuredDuration{.device_kind = "*", .seconds = 0.002}));
  EXPECT_THAT(file.graph.successors(OperationId(1)), ElementsAre(OperationId(0), OperationId(3)));
}

TEST(ImportPipedream, InputsAndParametersBecomeTensors) {
  const Imported file = import(test::pipedream_sample());
  ASSERT_THAT(file.graph.inputs(), SizeIs(3));
  EXPECT_EQ(file.graph.inputs()[0].name, "node2.parameters");
  EXPECT_EQ(file.graph.inputs()[0].bytes, 1200);
  EXPECT_THAT(file.graph.inputs()[0].consumers, ElementsAre(OperationId(1)));
  EXPECT_EQ(file.graph.inputs()[1].name, "node4.parameters");
  EXPECT_EQ(file.graph.inputs()[2].name, "node1");
  EXPECT_EQ(file.graph.inputs()[2].bytes, 100);
}

TEST(ImportPipedream, ASourceThatTakesTimeInEitherPassIsNoInput) {
  const Imported file = import(
      "a -- X() -- forward_compute_time=0, backward_compute_time=2, activation_size=3, "
      "parameter_size=0\n"
      "b -- X() -- forward_compute_time=1, backward_compute_time=2, activation_size=3, "
      "parameter_size=0\n"
      "\ta -- b\n");
  EXPECT_THAT(file.operation_ids, ElementsAre("a", "b"));
}

TEST(ImportPipedream, KeepsInputsOnDemand) {
  const Imported file = import(test::pipedream_sample(), {.keep_inputs = true});
  EXPECT_EQ(file.graph.operation_count(), 5U);
  EXPECT_EQ(file.graph.edge_count(), 5U);
}

TEST(ImportPipedream, WarnsOfWhatIsOdd) {
  const Imported file = import(test::pipedream_sample());
  ASSERT_THAT(file.warnings, SizeIs(3));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("1 sizes are lists (first: layer node2"));
  EXPECT_THAT(file.warnings[1].text, HasSubstr("left out; --training adds"));
  EXPECT_THAT(file.warnings[2].text, HasSubstr("take no time: 1 ('node5')"));
}

TEST(ImportPipedream, TrainingMirrorsTheGraph) {
  const Imported file =
      import(test::pipedream_sample(), {.device_kind = "v100", .pass = Pass::kTraining});
  // 4 forward, 4 backward. Edges: 4 forward, 4 mirrored, 4 from a layer to its own gradient.
  EXPECT_EQ(file.graph.operation_count(), 8U);
  EXPECT_EQ(file.graph.edge_count(), 12U);
  const auto at = std::find(file.operation_ids.begin(), file.operation_ids.end(), "node2.backward");
  ASSERT_NE(at, file.operation_ids.end());
  const OperationId id(static_cast<std::int32_t>(at - file.operation_ids.begin()));
  EXPECT_THAT(file.graph.operation(id).measured_durations,
              ElementsAre(MeasuredDuration{.device_kind = "v100", .seconds = 0.004}));
  EXPECT_EQ(file.graph.in_degree(id), 3U);  // node2, node3.backward, node5.backward
  EXPECT_EQ(file.graph.out_degree(id), 0U);
  ASSERT_FALSE(file.graph.inputs().empty());
  EXPECT_THAT(file.graph.inputs().back().consumers, SizeIs(2));  // parameters, both passes
}

TEST(ImportPipedream, DuplicateEdgesAreMergedWithAWarning) {
  const Imported file = import(test::pipedream_sample() + "\tnode2 -- node3\n");
  EXPECT_EQ(file.graph.edge_count(), 4U);
  EXPECT_THAT(describe(file.warnings.back(), "p.txt"),
              HasSubstr("p.txt:11:1: warning: edge node2 -> node3 stands more than once"));
}

TEST(ImportPipedream, EveryDamageIsRefusedAtItsPlace) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string good = std::string("a -- X() -- ") + kCosts + "\n";
  const Case cases[] = {
      {"", "p.txt:1:1: file: is empty"},
      {"a\n", "p.txt:1:1: layer: expected 'id -- description"},
      {"\ta -- b\n", "p.txt:1:1: layers: there are none"},
      {good + "b -- X()\n", "p.txt:2:1: layer: expected"},
      {good + good, "p.txt:2:1: layer a: stands twice"},
      {good + "\ta -- b\n", "p.txt:2:7: edge destination: no layer is called 'b'"},
      {good + "\ta b\n", "p.txt:2:1: edge: expected 'source -- destination'"},
      {good + "\ta -- a\n", "p.txt:2:7: edge destination: 'a' feeds itself"},
      {"a -- X() -- forward_compute_time=x, backward_compute_time=2, activation_size=3, "
       "parameter_size=4\n",
       "p.txt:1:13: layer a: forward_compute_time: expected a number or a list '[1.0; 2.0]', "
       "found 'x'"},
      {"a -- X() -- forward_compute_time=-1, backward_compute_time=2, activation_size=3, "
       "parameter_size=4\n",
       "forward_compute_time: must not be negative"},
      {"a -- X() -- forward_compute_time=1, backward_compute_time=2, activation_size=[1; ], "
       "parameter_size=4\n",
       "activation_size: expected a number"},
      {"a -- X() -- forward_compute_time=1, backward_compute_time=2, activation_sise=3, "
       "parameter_size=4\n",
       "is not known; did you mean 'activation_size'?"},
      {"a -- X() -- forward_compute_time=1, forward_compute_time=2\n", "stands twice"},
      {"a -- X() -- forward_compute_time=1\n", "backward_compute_time is missing"},
      {"a -- X() -- forward_compute_time=1, backward_compute_time=2, activation_size=1e300, "
       "parameter_size=4\n",
       "activation_size: is more bytes than 2^62"},
      {good + "b -- X() -- " + kCosts + "\n\ta -- b\n\tb -- a\n", "has a cycle: a -> b -> a"},
      {good + "\xff", "p.txt:2:1: file: byte '\\xff' is no text"},
  };
  for (const Case& damaged : cases) {
    EXPECT_THAT(error_of(damaged.text), HasSubstr(damaged.message)) << damaged.text;
  }
}

struct PublicFile {
  const char* name;
  std::size_t operations;
  std::size_t inputs;  // without parameters
  std::size_t edges;
  std::size_t edges_of_inputs;
};

class PublicPipedream : public testing::TestWithParam<PublicFile> {};

TEST_P(PublicPipedream, HasTheCountsOfItsText) {
  const PublicFile& expected = GetParam();
  DP_SKIP_WITHOUT_PUBLIC_DATA(expected.name);
  const std::string text = read_text_file(test::public_data_path(expected.name));
  const Imported file = import(text);
  EXPECT_EQ(file.graph.operation_count(), expected.operations);
  EXPECT_EQ(file.graph.edge_count(), expected.edges);
  // The text itself: lines that begin with "node", and lines that begin with a tab.
  std::size_t layers = text.starts_with("node") ? 1 : 0;
  std::size_t edges = 0;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
    if (text.compare(at + 1, 4, "node") == 0) ++layers;
    if (text.compare(at + 1, 1, "\t") == 0) ++edges;
  }
  EXPECT_EQ(layers, expected.operations + expected.inputs);
  EXPECT_EQ(edges, expected.edges + expected.edges_of_inputs);
  const Imported whole = import(text, {.keep_inputs = true});
  EXPECT_EQ(whole.graph.operation_count(), layers);
  EXPECT_EQ(whole.graph.edge_count(), edges);
}

INSTANTIATE_TEST_SUITE_P(Profiles, PublicPipedream,
                         testing::Values(PublicFile{"pipedream/alexnet.graph.txt", 23, 0, 23, 0},
                                         PublicFile{"pipedream/vgg16.graph.txt", 41, 0, 41, 0},
                                         PublicFile{"pipedream/resnet50.graph.txt", 177, 0, 193, 0},
                                         PublicFile{"pipedream/gnmt.graph.txt", 44, 4, 50, 8}));

}  // namespace
}  // namespace doppler
