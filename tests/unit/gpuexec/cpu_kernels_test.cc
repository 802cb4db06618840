#include "gpuexec/cpu_kernels.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/cpu_gemm.h"
#include "gpuexec/reference_results.h"

namespace doppler {
namespace {

std::vector<float> values(std::uint64_t seed, std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  fill_tensor(seed, result.data(), count);
  return result;
}

// [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50].
TEST(Product, OfTwoByTwo) {
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {5, 6, 7, 8};
  std::vector<float> c(4);
  multiply_matrices(2, 2, 2, 1, a.data(), b.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{19, 22, 43, 50}));
  multiply_matrices_blocked(2, 2, 2, 0.5F, a.data(), b.data(), c.data());
  EXPECT_EQ(c, (std::vector<float>{9.5F, 11, 21.5F, 25}));
}

// Sizes that are no multiples of any block, against plain loops in double precision.
TEST(Product, OfOddSizesEqualsPlainLoops) {
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {7, 5, 3}, {33, 530, 300}, {64, 17, 513}}) {
    const std::vector<float> a = values(1, std::int64_t{m} * k);
    const std::vector<float> b = values(2, std::int64_t{k} * n);
    std::vector<float> expected;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) *
                 static_cast<double>(b[static_cast<std::size_t>(l * n + j)]);
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
    std::vector<float> c(expected.size());
    multiply_matrices(m, n, k, 1, a.data(), b.data(), c.data());
    EXPECT_LT(relative_error(expected, c), 1e-5) << m << " " << n << " " << k;
    multiply_matrices_blocked(m, n, k, 1, a.data(), b.data(), c.data());
    EXPECT_LT(relative_error(expected, c), 1e-5) << m << " " << n << " " << k;
  }
}

// Two operations, each kernel in turn as the first: the result against the reference's plain loops.
TEST(Kernels, EqualTheReference) {
  struct Case {
    const char* kind;
    std::vector<std::int64_t> inputs;  // in floats
    std::int64_t output;
    double flops;
    std::vector<std::int64_t> shape = {};
  };
  const std::vector<Case> cases = {
      {"matmul", {24, 60}, 40, 240},
      {"matmul", {6, 9, 6}, 10, 60},
      {"add", {9000, 9000, 4000, 5000}, 9000, 9000},
      {"add", {9000, 3}, 9000, 9000},
      {"sum", {36000}, 9000, 27000},
      {"multiply", {5000, 5000}, 5000, 5000},
      {"subtract", {5000, 5000}, 5000, 5000},
      {"relu", {5000}, 5000, 5000},
      {"gelu", {5000}, 5000, 40000},
      {"silu", {5000}, 5000, 20000},
      {"tanh", {5000}, 5000, 5000},
      {"exp", {5000}, 5000, 5000},
      {"sigmoid", {5000}, 5000, 5000},
      {"square", {5000}, 5000, 5000},
      {"divide", {5000, 5000}, 5000, 5000},
      {"max", {5000, 5000}, 5000, 5000},
      {"rsqrt", {5000}, 5000, 5000},
      {"softmax", {120}, 120, 600, {6, 20}},
      {"rmsnorm", {120}, 120, 600, {3, 40}},
      {"gather", {10, 70}, 50, 0},
      {"concat", {10, 20}, 75, 0},
      {"mystery", {50, 300}, 100, 2000},
      {"mystery", {}, 10, 30},
      {"matmul", {50}, 100, 1234},
      {"matmul", {12, 30}, 20, 480},
  };
  for (const Case& c : cases) {
    GraphBuilder builder("one", CostUnit::kPhysical);
    Operation operation;
    operation.kind = c.kind;
    operation.flops = c.flops;
    operation.output_bytes = 4 * c.output;
    operation.output_shape = c.shape;
    builder.add_operation(operation);
    for (std::int64_t input : c.inputs) {
      builder.add_input({.name = "i", .bytes = 4 * input, .consumers = {OperationId(0)}});
    }
    const Graph graph = builder.build();
    const OperationWork work = operation_works(graph)[0];
    std::vector<std::vector<float>> inputs;
    std::vector<const float*> reads;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      inputs.push_back(values(input_tensor(static_cast<std::int32_t>(i)), c.inputs[i]));
    }
    for (const auto& input : inputs) reads.push_back(input.data());
    std::vector<float> scratch(static_cast<std::size_t>(work.scratch_elements));
    std::vector<float> output(static_cast<std::size_t>(c.output) + 5, 99.0F);
    run_work(work, reads, output.data(), c.output + 3, scratch.data());
    EXPECT_EQ(output[static_cast<std::size_t>(c.output) + 2], 0.0F)
        << "the rest of the buffer is 0";
    EXPECT_EQ(output[static_cast<std::size_t>(c.output) + 3], 99.0F) << "and nothing behind it";
    output.resize(static_cast<std::size_t>(c.output));
    EXPECT_LT(relative_error(reference_results(graph)[0], output), 2e-5)
        << c.kind << " of " << c.inputs.size() << " inputs";
  }
}

TEST(RelativeError, IsInfiniteForNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(relative_error({1, 2}, {1, 2}), 0);
  EXPECT_DOUBLE_EQ(relative_error({1, -4}, {1, -5}), 0.25);
  EXPECT_GT(relative_error({1, 2}, {1, nan}), 1e300);
  EXPECT_GT(relative_error({1, 2}, {1}), 1e300);
}

}  // namespace
}  // namespace doppler
