#include "common/sharding.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/expect_error.h"

namespace doppler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// C[i,k] = A[i,j] B[j,k] with i = 8, j = 6, k = 4, four bytes an element.
Model product() {
  Model model;
  model.name = "product";
  model.extents = {{"i", 8}, {"j", 6}, {"k", 4}};
  model.add_input("a[i,j]");
  model.add_input("b[j,k]");
  model.add("c[i,k] = matmul a[i,j] b[j,k]");
  return model;
}

const Operation& named(const Graph& graph, const std::string& name) {
  for (const Operation& operation : graph.operations()) {
    if (operation.name == name) return operation;
  }
  ADD_FAILURE() << "no operation " << name;
  return graph.operations().front();
}

OperationId id_of(const Graph& graph, const std::string& name) {
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    if (graph.operations()[o].name == name) return OperationId(static_cast<int>(o));
  }
  ADD_FAILURE() << "no operation " << name;
  return {};
}

// i in 2, j in 3, k in 1: 6 shards of 4 x 2 x 4 = 32 multiply-adds, that is 64 FLOPs; each gives a
// partial sum of 4 x 4 elements = 64 bytes. 2 reduces add 3 partial sums: 2 x 16 = 32 FLOPs.
TEST(Sharding, CutsAContractionIntoPartialSumsAndAddsThemUp) {
  Model model = product();
  model.operations[0].partition = {{"i", 2}, {"j", 3}};
  const Graph graph = shard(model, {});
  ASSERT_EQ(graph.operation_count(), 8U);
  ASSERT_EQ(graph.edge_count(), 6U);
  const Operation& part = named(graph, "c[1,0,2]");
  EXPECT_EQ(part.flops, 64);
  EXPECT_EQ(part.output_bytes, 64);
  EXPECT_EQ(part.kind, "matmul");
  EXPECT_THAT(part.block_coordinates, ElementsAre(1, 0, 2));
  const Operation& sum = named(graph, "c.reduce[1,0]");
  EXPECT_EQ(sum.flops, 32);
  EXPECT_EQ(sum.role, Role::kReduce);
  EXPECT_EQ(sum.group, part.group);
  EXPECT_THAT(
      graph.predecessors(id_of(graph, "c.reduce[1,0]")),
      ElementsAre(id_of(graph, "c[1,0,0]"), id_of(graph, "c[1,0,1]"), id_of(graph, "c[1,0,2]")));
}

// Shards that read the same part of an input share it: a is read in 2 x 3 parts of 4 x 2, b in 3
// parts of 2 x 4.
TEST(Sharding, InputsAreTheirPartsAndShared) {
  Model model = product();
  model.operations[0].partition = {{"i", 2}, {"j", 3}};
  const Graph graph = shard(model, {});
  ASSERT_EQ(graph.inputs().size(), 9U);
  std::map<std::string, InputTensor> inputs;
  for (const InputTensor& input : graph.inputs()) inputs[input.name] = input;
  EXPECT_EQ(inputs.at("a[4:8,2:4]").bytes, 4 * 2 * 4);
  EXPECT_EQ(inputs.at("b[2:4,0:4]").consumers.size(), 2U);
}

// c is made in 2 blocks of 4 rows and read in 3 of 2, 3 and 3 rows ([0,2), [2,5), [5,8)): the
// middle one needs 2 rows of the first block and 1 of the second, of 4 elements of 4 bytes.
TEST(Sharding, ReadsTheOverlapOfUnequalBlocks) {
  Model model = product();
  model.operations[0].partition = {{"i", 2}};
  model.add("d[i,k] = relu c[i,k]").partition = {{"i", 3}};
  const Graph graph = shard(model, {});
  const OperationId middle = id_of(graph, "d[1,0]");
  ASSERT_EQ(graph.in_degree(middle), 2U);
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t i = 0; i < 2; ++i) {
    bytes[graph.operation(graph.predecessors(middle)[i]).name] =
        graph.edge_bytes(graph.in_edges(middle)[i]);
  }
  EXPECT_EQ(bytes.at("c[0,0,0]"), 2 * 4 * 4);
  EXPECT_EQ(bytes.at("c[1,0,0]"), 1 * 4 * 4);
  EXPECT_EQ(graph.in_degree(id_of(graph, "d[0,0]")), 1U);
}

// Whatever the cut, the work is the same: 8 x 6 x 4 x 2 FLOPs of products.
TEST(Sharding, EveryPartitionDoesTheSameWork) {
  for (std::int32_t i : {1, 2, 3}) {
    for (std::int32_t j : {1, 2, 5}) {
      for (std::int32_t k : {1, 4}) {
        Model model = product();
        model.operations[0].partition = {{"i", i}, {"j", j}, {"k", k}};
        double flops = 0;
        const Graph graph = shard(model, {});
        for (const Operation& operation : graph.operations()) {
          if (operation.role == Role::kShard) flops += operation.flops;
        }
        EXPECT_EQ(flops, 384);
      }
    }
  }
}

// a has 192 bytes, b 96, c 128. In four: i alone reads b three times too often (288), k alone a
// (576), j alone adds three partial sums (384); i and k read a and b once too often (192 + 96 =
// 288), j and k read a once too often and add a sum (192 + 128 = 320), i and j read b once too
// often and add a sum (96 + 128 = 224).
TEST(Sharding, ChoosesThePartitionThatCommunicatesLeast) {
  const Graph graph = shard(product(), {.parts = 4});
  ASSERT_EQ(graph.operation_count(), 6U);
  EXPECT_THAT(graph.operations()[3].block_coordinates, ElementsAre(1, 0, 1));
  EXPECT_EQ(graph.operations()[4].kind, "reduce");
}

// Row sums of a block-row tensor need no communication when they are cut alike.
TEST(Sharding, FollowsItsProducersBlocks) {
  Model model = product();
  model.operations[0].partition = {{"i", 4}};
  model.add("r[i] = sum c[i,k]");
  const Graph graph = shard(model, {.parts = 4});
  ASSERT_EQ(graph.operation_count(), 8U);
  for (int o = 4; o < 8; ++o) EXPECT_EQ(graph.in_degree(OperationId(o)), 1U);
}

TEST(Sharding, PaperConventionCountsMultiplyAddsAndFourTimesThat) {
  Model model = product();
  model.operations[0].partition = {{"i", 2}};
  const Graph graph = shard(model, {.costs = CostConvention::kPaper, .always_reduce = true});
  ASSERT_EQ(graph.operation_count(),
            4U);  // a reduce behind each shard, as the paper's engine has it
  EXPECT_EQ(graph.operations()[0].compute_time, SimTime(4 * 6 * 4));
  EXPECT_EQ(graph.operations()[0].transfer_time, SimTime(4 * 4 * 6 * 4));
  EXPECT_EQ(graph.operations()[2].compute_time, SimTime(4 * 4));
}

TEST(Model, SaysWhatIsWrongWithAStatement) {
  EXPECT_THAT(test::message_of<FormatError>([] { parse_statement("c[i] matmul a[i]"); }),
              HasSubstr("position 6: expected '='"));
  EXPECT_THAT(test::message_of<FormatError>([] { parse_statement("c[i,] = f a[i]"); }),
              HasSubstr("the name of an index"));
  EXPECT_THAT(test::message_of<FormatError>([] { parse_statement("c[i] = f"); }),
              HasSubstr("at least one input"));
}

TEST(Model, ChecksNamesExtentsAndPartitions) {
  const auto complaint = [](auto change) {
    Model model = product();
    change(model);
    return test::message_of<FormatError>([&] { check_model(model); });
  };
  EXPECT_THAT(complaint([](Model& m) { m.add("d[i] = sum x[i,k]"); }), HasSubstr("tensor x"));
  EXPECT_THAT(complaint([](Model& m) { m.add("c[i] = sum c[i,k]"); }), HasSubstr("defined twice"));
  EXPECT_THAT(complaint([](Model& m) { m.add("d[j] = sum c[i,k]"); }), HasSubstr("output index j"));
  EXPECT_THAT(complaint([](Model& m) { m.add("d[i] = sum c[i,j]"); }), HasSubstr("other extents"));
  EXPECT_THAT(complaint([](Model& m) { m.add("d[i] = sum c[i,z]"); }), HasSubstr("index z"));
  EXPECT_THAT(complaint([](Model& m) {
                m.operations[0].partition = {{"i", 9}};
              }),
              HasSubstr("cannot be cut into 9"));
  EXPECT_THAT(complaint([](Model& m) {
                m.operations[0].partition = {{"q", 2}};
              }),
              HasSubstr("index q"));
}

}  // namespace
}  // namespace doppler
