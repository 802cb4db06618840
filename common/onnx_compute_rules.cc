#include <algorithm>
#include <array>
#include <utility>

#include "common/onnx_shape_rules.h"
#include "common/onnx_windows.h"

namespace doppler::onnx_rules {
namespace {

// --- elementwise

void same(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  if (const OnnxShape* shape = node.shape(0)) set_shape(outputs, 0, *shape);
}

void same_as_bool(const OnnxNodeView& node, Outputs& outputs) {
  same(node, outputs);
  set_type(outputs, 0, kBool);
}

void dropout(const OnnxNodeView& node, Outputs& outputs) {
  same(node, outputs);
  if (const OnnxShape* shape = node.shape(0)) set_shape(outputs, 1, *shape);
  set_type(outputs, 1, kBool);
}

void cast(const OnnxNodeView& node, Outputs& outputs) {
  same(node, outputs);
  set_type(outputs, 0,
           static_cast<int>(std::clamp<std::int64_t>(node.integer("to", kFloat), 0, 255)));
}

void elementwise(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  if (node.has("broadcast")) return same(node, outputs);  // operator sets before 7
  OnnxShape shape;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const OnnxShape* next = node.shape(i);
    if (next == nullptr) return;
    shape = i == 0 ? *next : broadcast(node, shape, *next);
  }
  set_shape(outputs, 0, std::move(shape));
}

void comparison(const OnnxNodeView& node, Outputs& outputs) {
  elementwise(node, outputs);
  set_type(outputs, 0, kBool);
}

void where(const OnnxNodeView& node, Outputs& outputs) {
  elementwise(node, outputs);
  copy_type(node, outputs, 1);
}

// --- windows and normalisations

void pool(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  set_type(outputs, 1, kInt64);  // indices
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const std::vector<std::int64_t> kernel = node.list("kernel_shape");
  if (input->size() < 3 || kernel.size() != input->size() - 2) {
    node.fail("kernel_shape " + to_text(kernel) + " does not fit the input " + to_text(*input));
  }
  OnnxShape result(input->begin(), input->begin() + 2);
  const std::vector<std::int64_t> spatial(input->begin() + 2, input->end());
  for (std::int64_t extent : slide_window(node, spatial, kernel)) result.push_back(extent);
  set_shape(outputs, 1, result);
  set_shape(outputs, 0, std::move(result));
}

void global_pool(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  OnnxShape result = *input;
  for (std::size_t i = 2; i < result.size(); ++i) result[i] = 1;
  set_shape(outputs, 0, std::move(result));
}

void batch_normalization(const OnnxNodeView& node, Outputs& outputs) {
  same(node, outputs);
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (const OnnxShape* scale = node.shape(1)) set_shape(outputs, i, *scale);
    copy_type(node, outputs);
  }
}

void layer_normalization(const OnnxNodeView& node, Outputs& outputs) {
  same(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr || input->empty()) return;
  OnnxShape statistics = *input;
  const std::size_t axis = node.axis(node.integer("axis", -1), input->size());
  std::fill(statistics.begin() + offset(axis), statistics.end(), 1);
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    set_shape(outputs, i, statistics);
    set_type(outputs, i, kFloat);
  }
}

// --- reductions

OnnxShape reduced(const OnnxNodeView& node, const OnnxShape& input,
                  const std::vector<std::int64_t>& axes, bool keep) {
  std::vector<bool> drop(input.size(), axes.empty());
  for (std::int64_t axis : axes) drop[node.axis(axis, input.size())] = true;
  OnnxShape result;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (!drop[i]) {
      result.push_back(input[i]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  return result;
}

void reduce(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const bool axes_are_computed = !node.has("axes") && node.input(1) != nullptr;
  const auto axes = node.list("axes", 1);
  if (axes_are_computed && !axes) return;
  const bool keep = node.integer("keepdims", 1) != 0;
  if ((!axes || axes->empty()) && node.integer("noop_with_empty_axes", 0) != 0) {
    set_shape(outputs, 0, *input);
    return;
  }
  set_shape(outputs, 0, reduced(node, *input, axes.value_or(std::vector<std::int64_t>()), keep));
}

void arg_reduce(const OnnxNodeView& node, Outputs& outputs) {
  set_type(outputs, 0, kInt64);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  set_shape(outputs, 0,
            reduced(node, *input, {node.integer("axis", 0)}, node.integer("keepdims", 1) != 0));
}

void top_k(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  set_type(outputs, 1, kInt64);
  const OnnxShape* input = node.shape(0);
  auto count = node.integers(1);
  if (node.has("k")) count = {{node.integer("k", 1)}};  // operator sets before 10
  if (input == nullptr || !count || count->size() != 1 || (*count)[0] < 0) return;
  OnnxShape result = *input;
  result[node.axis(node.integer("axis", -1), input->size())] = (*count)[0];
  set_shape(outputs, 0, result);
  set_shape(outputs, 1, std::move(result));
}

constexpr auto kRules = std::to_array<Rule>({
    {.apply = same,
     .operators =
         "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumSum Elu Erf "
         "Exp EyeLike Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity "
         "InstanceNormalization LRN LeakyRelu Log LogSoftmax LpNormalization "
         "MeanVarianceNormalization Mish Neg Not Reciprocal Relu ReverseSequence Round Scatter "
         "ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign "
         "Sqrt "
         "Tan Tanh ThresholdedRelu Trilu"},
    {.apply = same_as_bool, .operators = "IsInf IsNaN"},
    {.apply = dropout, .operators = "Dropout"},
    {.apply = cast, .operators = "Cast"},
    {.apply = elementwise,
     .operators =
         "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Or PRelu "
         "Pow Sub Sum Xor"},
    {.apply = comparison, .operators = "Equal Greater GreaterOrEqual Less LessOrEqual"},
    {.apply = where, .operators = "Where"},
    {.apply = pool, .operators = "AveragePool LpPool MaxPool"},
    {.apply = global_pool, .operators = "GlobalAveragePool GlobalLpPool GlobalMaxPool"},
    {.apply = batch_normalization, .operators = "BatchNormalization"},
    {.apply = layer_normalization, .operators = "LayerNormalization RMSNormalization"},
    {.apply = reduce,
     .operators = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
                  "ReduceProd ReduceSum ReduceSumSquare"},
    {.apply = arg_reduce, .operators = "ArgMax ArgMin"},
    {.apply = top_k, .operators = "TopK"},
});

}  // namespace

std::span<const Rule> compute_rules() {
  return kRules;
}

}  // namespace doppler::onnx_rules
