#include "gpuexec/operation_work.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/workloads.h"

namespace doppler {
namespace {

// One operation that reads input tensors of these lengths, in floats.
OperationWork work_of(const std::string& kind, std::int64_t output, double flops,
                      const std::vector<std::int64_t>& inputs,
                      std::vector<std::int64_t> shape = {}) {
  GraphBuilder builder("one", CostUnit::kPhysical);
  Operation operation;
  operation.kind = kind;
  operation.flops = flops;
  operation.output_bytes = 4 * output;
  operation.output_shape = std::move(shape);
  builder.add_operation(operation);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    builder.add_input(
        {.name = "i" + std::to_string(i), .bytes = 4 * inputs[i], .consumers = {OperationId(0)}});
  }
  return operation_works(builder.build())[0];
}

// [2, 3] x [3, 5]: 2 * 2 * 3 * 5 = 60 FLOPs, 6 and 15 elements in, 10 out.
TEST(OperationWork, FindsTheShapesOfAProduct) {
  const OperationWork work = work_of("matmul", 10, 60, {6, 15});
  EXPECT_EQ(work.kind, WorkKind::kProduct);
  EXPECT_EQ(work.batch, 1);
  EXPECT_EQ(work.rows, 2);
  EXPECT_EQ(work.columns, 5);
  EXPECT_EQ(work.inner, 3);
  EXPECT_EQ(work.left_reads, 1U);
  EXPECT_EQ(work.scratch_elements, 0);
}

// Four of them: 240 FLOPs, 24 and 60 elements in, 40 out. (As one: inner = 240 / 80 = 3, rows 8,
// columns 20, but 8 * 20 is not 40.)
TEST(OperationWork, FindsTheShapesOfAStackOfProducts) {
  const OperationWork work = work_of("matmul", 40, 240, {24, 60});
  EXPECT_EQ(work.kind, WorkKind::kProduct);
  EXPECT_EQ(work.batch, 4);
  EXPECT_EQ(work.rows, 2);
  EXPECT_EQ(work.columns, 5);
}

// The right operand of [2, 3] x [3, 5] in two pieces, of 9 and 6.
TEST(OperationWork, JoinsOperandsThatComeInPieces) {
  const OperationWork work = work_of("matmul", 10, 60, {6, 9, 6});
  EXPECT_EQ(work.kind, WorkKind::kProduct);
  EXPECT_EQ(work.left_reads, 1U);
  EXPECT_EQ(work.scratch_elements, 15);
}

// [4, 6] x [6, 10] of two-byte elements: 480 FLOPs; 12, 30 and 20 floats stand for 24, 60 and 40.
TEST(OperationWork, ExpandsElementsOfTwoBytes) {
  const OperationWork work = work_of("matmul", 20, 480, {12, 30});
  EXPECT_EQ(work.kind, WorkKind::kProduct);
  EXPECT_EQ(work.expansion, 2);
  EXPECT_EQ(work.rows, 4);
  EXPECT_EQ(work.inner, 6);
  EXPECT_EQ(work.columns, 10);
  EXPECT_EQ(work.scratch_elements, 24 + 60 + 40);
}

TEST(OperationWork, IsSyntheticWhereNothingFits) {
  EXPECT_EQ(work_of("matmul", 10, 61, {6, 15}).kind, WorkKind::kSynthetic);
  const OperationWork unknown = work_of("warp", 10, 60, {6});
  EXPECT_EQ(unknown.kind, WorkKind::kSynthetic);
  EXPECT_DOUBLE_EQ(unknown.flops_per_element, 6);
  EXPECT_EQ(work_of("add", 10, 1e6, {10, 10}).kind, WorkKind::kSynthetic)
      << "no addition does so much";
}

// Eight elements: one operand of 8, one of 3 + 5, one of 2 that is repeated, one of 16 that is two.
TEST(OperationWork, CutsReadsIntoOperands) {
  const OperationWork work = work_of("add", 8, 32, {8, 3, 5, 2, 16});
  ASSERT_EQ(work.kind, WorkKind::kCombine);
  ASSERT_EQ(work.pieces.size(), 6U);
  EXPECT_TRUE(work.pieces[0].first);
  EXPECT_EQ(work.pieces[2].target, 3);
  EXPECT_EQ(work.pieces[2].length, 5);
  EXPECT_EQ(work.pieces[3].period, 2);
  EXPECT_EQ(work.pieces[5].source, 8);
  EXPECT_FALSE(work.pieces[5].first);
}

TEST(OperationWork, TakesTheLastAxisForSoftmax) {
  EXPECT_EQ(work_of("softmax", 12, 60, {12}, {3, 4}).axis, 4);
  EXPECT_EQ(work_of("softmax", 12, 60, {12}).kind, WorkKind::kSynthetic) << "no shape is stated";
}

TEST(OperationWork, KnowsAllOfTheGeneratedNetworks) {
  for (const char* name : {"chain-mm", "ffnn", "llama-block", "mlp-training"}) {
    WorkloadOptions options;
    options.devices = 2;
    const Graph graph = generate_workload(name, options);
    const std::vector<OperationWork> works = operation_works(graph);
    for (std::size_t o = 0; o < works.size(); ++o) {
      const Operation& operation = graph.operations()[o];
      EXPECT_NE(works[o].kind, WorkKind::kSynthetic) << name << ": " << operation.name;
      if (operation.kind != "matmul") continue;
      const OperationWork& work = works[o];
      EXPECT_DOUBLE_EQ(2.0 * static_cast<double>(work.batch * work.rows * work.columns) *
                           static_cast<double>(work.inner),
                       operation.flops)
          << operation.name;
    }
  }
}

}  // namespace
}  // namespace doppler
