#include "common/import_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/text_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/format_samples.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/public_data.h"

namespace doppler {
namespace {

using test::kOnnxInt64;
using test::onnx_integer;
using test::onnx_integers;
using test::onnx_model;
using test::onnx_node;
using test::onnx_tensor;
using test::onnx_text;
using test::onnx_value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported import(const std::string& content, const ImportOptions& options = {}) {
  return import_onnx(content, "m.onnx", options);
}

std::string error_of(const std::string& content, const ImportOptions& options = {}) {
  return test::message_of<FormatError>([&] { import(content, options); });
}

TEST(ImportOnnx, CountsAConvolutionalNetwork) {
  const Imported file = import(test::onnx_sample());
  EXPECT_THAT(file.warnings, IsEmpty());
  // The two ConstantOfShape are weights, not operations.
  EXPECT_THAT(file.operation_ids,
              ElementsAre("conv1", "Relu_3", "MaxPool_4", "Flatten_5", "Gemm_6"));
  EXPECT_EQ(file.graph.edge_count(), 4U);
  const auto& operations = file.graph.operations();
  // 4 channels of 8 x 8, each a window of 1 x 3 x 3 multiply-adds and a bias.
  EXPECT_EQ(operations[0].flops, 4 * 64 * (2 * 9 + 1));
  EXPECT_EQ(operations[0].output_bytes, 4 * 64 * 4);
  EXPECT_THAT(operations[0].output_shape, ElementsAre(1, 4, 8, 8));
  EXPECT_EQ(operations[0].kind, "conv");
  EXPECT_EQ(operations[1].flops, 256);
  EXPECT_EQ(operations[2].flops, 64 * 4);  // 4 x 4 x 4 outputs of 2 x 2
  EXPECT_EQ(operations[3].flops, 0);
  EXPECT_EQ(operations[3].kind, "copy");
  EXPECT_EQ(operations[4].flops, 10 * (2 * 64 + 1));
}

TEST(ImportOnnx, WeightsAreInputTensorsOfTheirReaders) {
  const Imported file = import(test::onnx_sample());
  ASSERT_THAT(file.graph.inputs(), SizeIs(5));
  EXPECT_EQ(file.graph.inputs()[0].name, "image");
  EXPECT_EQ(file.graph.inputs()[0].bytes, 256);
  EXPECT_EQ(file.graph.inputs()[1].name, "w");
  EXPECT_EQ(file.graph.inputs()[1].bytes, 36 * 4);
  EXPECT_THAT(file.graph.inputs()[1].consumers, ElementsAre(OperationId(0)));
  EXPECT_EQ(file.graph.inputs()[3].name, "fc");
}

TEST(ImportOnnx, SymbolicDimensionsTakeTheirSizeFromTheOptions) {
  const Imported file = import(test::onnx_attention_sample(), {.dimensions = {{"batch", 3}}});
  EXPECT_THAT(file.warnings, IsEmpty());
  // Shape, Gather, Unsqueeze and Concat only compute the shape of the result.
  EXPECT_EQ(file.graph.operation_count(), 8U);
  EXPECT_EQ(file.graph.edge_count(), 7U);
  const auto& operations = file.graph.operations();
  EXPECT_EQ(operations[0].flops, 2.0 * 3 * 16 * 8 * 8);
  EXPECT_EQ(operations[4].flops, 2.0 * 3 * 16 * 16 * 8);
  EXPECT_EQ(operations[5].flops, 5.0 * 3 * 16 * 16);
  EXPECT_THAT(operations[7].output_shape, ElementsAre(3, 128));
}

TEST(ImportOnnx, ASymbolicDimensionWithoutSizeIsRefused) {
  EXPECT_THAT(error_of(test::onnx_attention_sample()),
              HasSubstr("m.onnx: input x: dimension 0 is symbolic; give it a size with --dimension "
                        "'batch=1'"));
  EXPECT_THAT(error_of(test::onnx_attention_sample(), {.dimensions = {{"batch", 1}, {"bach", 2}}}),
              HasSubstr("--dimension: no input has a dimension 'bach'; did you mean 'batch'?"));
}

TEST(ImportOnnx, UnknownOperatorsAreCostedByTheirBytesAndCounted) {
  const Imported file =
      import(onnx_model({.nodes = {onnx_node("Fancy", {"x"}, {"a"}, {}, "", "com.example"),
                                   onnx_node("Fancy", {"a"}, {"y"}, {}, "", "com.example")},
                         .initializers = {},
                         .inputs = {onnx_value("x", {"4", "5"})},
                         .outputs = {onnx_value("y", {"2"})},
                         .values = {onnx_value("a", {"4", "10"})}}));
  // Elements in and out: 20 + 40, 40 + 2.
  EXPECT_EQ(file.graph.operation(OperationId(0)).flops, 60);
  EXPECT_EQ(file.graph.operation(OperationId(1)).flops, 42);
  EXPECT_EQ(file.graph.operation(OperationId(0)).kind, "Fancy");
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_THAT(file.warnings[0].text, HasSubstr("2 operators are not known (2 Fancy)"));
}

TEST(ImportOnnx, OutputsOfUnknownShapeAreCounted) {
  const Imported file = import(
      onnx_model({.nodes = {onnx_node("NonZero", {"x"}, {"a"}), onnx_node("Relu", {"a"}, {"y"})},
                  .initializers = {},
                  .inputs = {onnx_value("x", {"4"})},
                  .outputs = {},
                  .values = {}}));
  ASSERT_THAT(file.warnings, SizeIs(2));
  EXPECT_THAT(file.warnings[1].text, HasSubstr("1 nodes have outputs of unknown shape (first: "
                                               "node 1 (Relu))"));
}

TEST(ImportOnnx, AnEdgeCarriesTheOutputsThatItsReaderReads) {
  const Imported file = import(onnx_model(
      {.nodes = {onnx_node("Split", {"x"}, {"a", "b", "c"}, {onnx_integer("axis", 0)}),
                 onnx_node("Add", {"a", "b"}, {"s"}), onnx_node("Mul", {"s", "c"}, {"y"})},
       .initializers = {},
       .inputs = {onnx_value("x", {"6"})},
       .outputs = {},
       .values = {}}));
  ASSERT_EQ(file.graph.edge_count(), 3U);
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(0)), 16);  // a and b
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(1)), 8);   // c
}

TEST(ImportOnnx, ATensorThatIsReadTwiceMovesOnce) {
  const Imported file =
      import(onnx_model({.nodes = {onnx_node("Split", {"x"}, {"a", "b"}, {onnx_integer("axis", 0)}),
                                   onnx_node("Mul", {"a", "a"}, {"y"})},
                         .inputs = {onnx_value("x", {"6"})}}));
  ASSERT_EQ(file.graph.edge_count(), 1U);
  EXPECT_EQ(file.graph.edge_bytes(EdgeId(0)), 12);
}

TEST(ImportOnnx, NodesMayStandInAnyOrder) {
  const Imported file =
      import(onnx_model({.nodes = {onnx_node("Relu", {"a"}, {"y"}), onnx_node("Neg", {"x"}, {"a"})},
                         .initializers = {},
                         .inputs = {onnx_value("x", {"4"})},
                         .outputs = {},
                         .values = {}}));
  EXPECT_THAT(file.operation_ids, ElementsAre("Relu_0", "Neg_1"));
  EXPECT_EQ(file.graph.edges()[0].source, OperationId(1));
}

struct ShapeCase {
  std::string type;
  std::vector<std::string> x;
  std::vector<std::string> constants;  // initializers c0, c1, ...
  std::vector<std::string> attributes;
  std::vector<std::int64_t> shape;
  double flops;
};

TEST(OnnxShapes, FollowTheOperators) {
  const auto list = [](const std::string& name, const std::vector<std::int64_t>& values) {
    return onnx_tensor(name, {static_cast<std::int64_t>(values.size())}, kOnnxInt64, values);
  };
  const ShapeCase cases[] = {
      {"Conv",
       {"2", "6", "9", "9"},
       {onnx_tensor("c0", {8, 3, 3, 3})},
       {onnx_integer("group", 2), onnx_integers("strides", {2, 2}),
        onnx_integers("dilations", {2, 2})},
       {2, 8, 3, 3},
       2.0 * 8 * 9 * 2 * 27},
      {"Conv",
       {"1", "1", "7"},
       {onnx_tensor("c0", {1, 1, 3})},
       {onnx_text("auto_pad", "SAME_UPPER"), onnx_integers("strides", {2})},
       {1, 1, 4},
       24},
      {"ConvTranspose",
       {"1", "2", "4", "4"},
       {onnx_tensor("c0", {2, 3, 2, 2})},
       {onnx_integers("strides", {2, 2})},
       {1, 3, 8, 8},
       2.0 * 32 * 12},
      {"MaxPool",
       {"1", "1", "6", "6"},
       {},
       {onnx_integers("kernel_shape", {3, 3}), onnx_integers("strides", {2, 2}),
        onnx_integer("ceil_mode", 1)},
       {1, 1, 3, 3},
       81},
      {"AveragePool",
       {"1", "1", "6", "6"},
       {},
       {onnx_integers("kernel_shape", {3, 3}), onnx_integers("strides", {2, 2})},
       {1, 1, 2, 2},
       36},
      {"GlobalAveragePool", {"2", "3", "5", "5"}, {}, {}, {2, 3, 1, 1}, 150},
      {"MatMul", {"5", "2", "3"}, {onnx_tensor("c0", {3, 4})}, {}, {5, 2, 4}, 2.0 * 40 * 3},
      {"MatMul", {"3"}, {onnx_tensor("c0", {3})}, {}, {}, 6},
      {"Gemm",
       {"3", "2"},
       {onnx_tensor("c0", {4, 3}), onnx_tensor("c1", {4})},
       {onnx_integer("transA", 1), onnx_integer("transB", 1)},
       {2, 4},
       8 * 7},
      {"Einsum",
       {"2", "3"},
       {onnx_tensor("c0", {3, 4})},
       {onnx_text("equation", "ij,jk->ki")},
       {4, 2},
       48},
      {"Add", {"2", "1", "4"}, {onnx_tensor("c0", {3, 1})}, {}, {2, 3, 4}, 24},
      {"Where", {"2", "1"}, {onnx_tensor("c0", {3}), onnx_tensor("c1", {})}, {}, {2, 3}, 6},
      {"Sum", {"4"}, {onnx_tensor("c0", {4}), onnx_tensor("c1", {4})}, {}, {4}, 8},
      {"Softmax", {"2", "5"}, {}, {}, {2, 5}, 50},
      {"LRN", {"1", "3", "2", "2"}, {}, {onnx_integer("size", 5)}, {1, 3, 2, 2}, 12 * 13},
      {"BatchNormalization",
       {"1", "3", "2"},
       {onnx_tensor("c0", {3}), onnx_tensor("c1", {3}), onnx_tensor("c2", {3}),
        onnx_tensor("c3", {3})},
       {},
       {1, 3, 2},
       12},
      {"LayerNormalization", {"2", "4"}, {onnx_tensor("c0", {4})}, {}, {2, 4}, 64},
      {"ReduceSum", {"2", "3", "4"}, {list("c0", {1})}, {onnx_integer("keepdims", 0)}, {2, 4}, 24},
      {"ReduceMean", {"2", "3", "4"}, {}, {onnx_integers("axes", {-1, 0})}, {1, 3, 1}, 24},
      {"ReduceMax", {"2", "3"}, {}, {}, {1, 1}, 6},
      {"ArgMax", {"2", "3"}, {}, {onnx_integer("axis", 1), onnx_integer("keepdims", 0)}, {2}, 6},
      {"Concat", {"2", "3"}, {onnx_tensor("c0", {2, 5})}, {onnx_integer("axis", -1)}, {2, 8}, 0},
      {"Reshape", {"2", "3", "4"}, {list("c0", {0, -1})}, {}, {2, 12}, 0},
      {"Flatten", {"2", "3", "4"}, {}, {onnx_integer("axis", 2)}, {6, 4}, 0},
      {"Transpose", {"2", "3", "4"}, {}, {}, {4, 3, 2}, 0},
      {"Squeeze", {"1", "3", "1"}, {}, {}, {3}, 0},
      {"Unsqueeze", {"3"}, {}, {onnx_integers("axes", {0, 2})}, {1, 3, 1}, 0},
      {"Slice",
       {"10", "4"},
       {list("c0", {-9}), list("c1", {1000}), list("c2", {0}), list("c3", {2})},
       {},
       {5, 4},
       0},
      {"Slice",
       {"10"},
       {list("c0", {-1}), list("c1", {INT64_MIN}), list("c2", {0}), list("c3", {-3})},
       {},
       {4},
       0},
      {"Pad", {"2", "3"}, {list("c0", {0, 1, 0, 2})}, {}, {2, 6}, 0},
      {"Gather", {"7", "8"}, {onnx_tensor("c0", {2, 3}, kOnnxInt64)}, {}, {2, 3, 8}, 0},
      {"GatherND", {"7", "8", "9"}, {onnx_tensor("c0", {4, 2}, kOnnxInt64)}, {}, {4, 9}, 0},
      {"Expand", {"3", "1"}, {list("c0", {2, 1, 6})}, {}, {2, 3, 6}, 0},
      {"Tile", {"3", "2"}, {list("c0", {2, 5})}, {}, {6, 10}, 0},
      {"TopK", {"3", "9"}, {list("c0", {4})}, {}, {3, 4}, 27},
      {"OneHot",
       {"3"},
       {onnx_tensor("c0", {1}, kOnnxInt64, {7}), onnx_tensor("c1", {2})},
       {},
       {3, 7},
       0},
      {"DepthToSpace", {"1", "8", "2", "3"}, {}, {onnx_integer("blocksize", 2)}, {1, 2, 4, 6}, 0},
      {"Erf", {"3"}, {}, {}, {3}, 3},
      {"Clip", {"3"}, {onnx_tensor("c0", {})}, {}, {3}, 3},
      {"Dropout", {"3"}, {}, {}, {3}, 0},
      {"Cast", {"3"}, {}, {onnx_integer("to", 10)}, {3}, 0},
      {"LSTM",
       {"5", "2", "3"},
       {onnx_tensor("c0", {1, 16, 3}), onnx_tensor("c1", {1, 16, 4})},
       {},
       {5, 1, 2, 4},
       2.0 * 10 * (48 + 64)},
  };
  for (const ShapeCase& c : cases) {
    std::vector<std::string> inputs = {"x"};
    for (std::size_t i = 0; i < c.constants.size(); ++i) inputs.push_back("c" + std::to_string(i));
    const Imported file =
        import(onnx_model({.nodes = {onnx_node(c.type, inputs, {"y"}, c.attributes)},
                           .initializers = c.constants,
                           .inputs = {onnx_value("x", c.x)},
                           .outputs = {},
                           .values = {}}));
    EXPECT_THAT(file.warnings, IsEmpty()) << c.type;
    ASSERT_EQ(file.graph.operation_count(), 1U) << c.type;
    const Operation& operation = file.graph.operations().front();
    EXPECT_EQ(operation.output_shape, c.shape) << c.type;
    EXPECT_EQ(operation.flops, c.flops) << c.type;
  }
}

TEST(OnnxShapes, ResizeReadsScalesAndSizes) {
  const auto sizes = onnx_tensor("sizes", {3}, kOnnxInt64, {1, 2, 7});
  const Imported file =
      import(onnx_model({.nodes = {onnx_node("Resize", {"x", "", "", "sizes"}, {"y"})},
                         .initializers = {sizes},
                         .inputs = {onnx_value("x", {"1", "2", "3"})},
                         .outputs = {},
                         .values = {}}));
  EXPECT_THAT(file.graph.operations()[0].output_shape, ElementsAre(1, 2, 7));
}

TEST(ImportOnnx, ElementTypesCount) {
  const Imported file =
      import(onnx_model({.nodes = {onnx_node("Cast", {"x"}, {"h"}, {onnx_integer("to", 10)}),
                                   onnx_node("Relu", {"h"}, {"y"})},
                         .initializers = {},
                         .inputs = {onnx_value("x", {"100"})},
                         .outputs = {},
                         .values = {}}));
  EXPECT_EQ(file.graph.operation(OperationId(1)).output_bytes, 200);
}

TEST(ImportOnnx, DamageIsRefusedWithThePlace) {
  const auto one = [](const std::string& node,
                      const std::string& input = onnx_value("x", {"2", "3"}),
                      const std::vector<std::string>& tensors = {}) {
    return onnx_model(
        {.nodes = {node}, .initializers = tensors, .inputs = {input}, .outputs = {}, .values = {}});
  };
  const std::string good = test::onnx_sample();
  struct Case {
    std::string content;
    const char* message;
  };
  const Case cases[] = {
      {"", "m.onnx: is empty; this is no ONNX model"},
      {"\x08\x07", "m.onnx: graph: is missing; this is no ONNX model"},
      {good.substr(0, good.size() / 2), "m.onnx: byte 2: field 7 has"},
      {"\x0f", "m.onnx: byte 0: wire type 7 is not known"},
      {std::string(11, '\xff'), "m.onnx: byte 0: a number is longer than 10 bytes"},
      {"\x08", "the file ends within a number"},
      {onnx_model({}), "m.onnx: graph: has no nodes"},
      {one(onnx_node("Relu", {"nothing"}, {"y"})),
       "m.onnx: node 0 (Relu): its input 'nothing' is neither an input of the model"},
      {one(onnx_node("MatMul", {"x", "x"}, {"y"}, {}, "mm")),
       "m.onnx: node mm (MatMul): shapes [2, 3] and [2, 3] cannot be multiplied; 3 columns meet 2 "
       "rows"},
      {one(onnx_node("Conv", {"x", "w"}, {"y"}), onnx_value("x", {"1", "5", "9"}),
           {onnx_tensor("w", {4, 3, 3})}),
       "the input has 5 channels"},
      {one(onnx_node("MaxPool", {"x"}, {"y"}, {onnx_integers("kernel_shape", {5})}),
           onnx_value("x", {"1", "1", "3"})),
       "its window of 5 is larger than its padded input of 3"},
      {one(onnx_node("Add", {"x", "w"}, {"y"}), onnx_value("x", {"2"}), {onnx_tensor("w", {3})}),
       "shapes [2] and [3] cannot be broadcast together"},
      {one(onnx_node("Concat", {"x", "w"}, {"y"}, {onnx_integer("axis", 0)}),
           onnx_value("x", {"2", "3"}), {onnx_tensor("w", {2, 4})}),
       "shapes [2, 3] and [2, 4] cannot be joined along axis 0"},
      {one(onnx_node("Softmax", {"x"}, {"x"})), "input: 'x' is the output of a node as well"},
      {one(onnx_node("Relu", {"y"}, {"y"})), "has a cycle: node 0 (Relu) -> node 0 (Relu)"},
      {one(onnx_node("Transpose", {"x"}, {"y"}, {onnx_integers("perm", {0, 7})})),
       "axis 7 does not exist; the tensor has 2 dimensions"},
      {one(onnx_node("Relu", {"x"}, {"y"}), onnx_value("x", {"9000000000000000"})),
       "which is out of range"},
      {onnx_model({.nodes = {onnx_node("Relu", {"x"}, {"y"}), onnx_node("Neg", {"x"}, {"y"})},
                   .initializers = {},
                   .inputs = {onnx_value("x", {"1"})},
                   .outputs = {},
                   .values = {}}),
       "node 1 (Neg): its output 'y' has another producer: node 0 (Relu)"},
  };
  for (const Case& bad : cases) {
    EXPECT_THAT(error_of(bad.content), HasSubstr(bad.message));
  }
}

TEST(ImportOnnx, EveryTruncationIsRefusedOrAGraph) {
  const std::string good = test::onnx_sample();
  for (std::size_t length = 0; length < good.size(); ++length) {
    try {
      import(good.substr(0, length));
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("m.onnx: ")) << length;
    }
  }
}

TEST(PublicOnnx, HasTheCountsOfItsNodes) {
  DP_SKIP_WITHOUT_PUBLIC_DATA("onnx/light_squeezenet.onnx");
  // 105 nodes, 39 of them ConstantOfShape; 40 nodes, 16 of them ConstantOfShape.
  const Imported squeezenet =
      import(read_text_file(test::public_data_path("onnx/light_squeezenet.onnx")));
  EXPECT_THAT(squeezenet.warnings, IsEmpty());
  EXPECT_EQ(squeezenet.graph.operation_count(), 66U);
  EXPECT_EQ(squeezenet.graph.edge_count(), 73U);
  EXPECT_EQ(squeezenet.graph.input_count(), 53U);  // 52 weights and the image
  const Imported alexnet =
      import(read_text_file(test::public_data_path("onnx/light_bvlc_alexnet.onnx")));
  EXPECT_EQ(alexnet.graph.operation_count(), 24U);
  EXPECT_EQ(alexnet.graph.edge_count(), 23U);
  EXPECT_EQ(alexnet.graph.input_count(), 17U);
}

}  // namespace
}  // namespace doppler
