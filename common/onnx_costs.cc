#include "common/onnx_costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "common/text_lines.h"

namespace doppler {
namespace {

// What one FLOP is counted for.
enum class Measure {
  kOutputElements,  // times the factor
  kInputElements,   // times the factor
  kWindow,          // a pooling: output elements times window elements
  kInputsJoined,    // output elements times (inputs - 1): Sum, Max, ...
  kMatmul,          // 2 x output elements x inner extent
  kGemm,            // the same, and one FLOP an output element for the third input
  kConv,            // 2 x output elements x (channels of a group x window), and the bias
  kConvTranspose,   // the same over the input elements
  kEinsum,          // all indices; twice where one of them is summed
  kRecurrent,       // the matrix products of all gates and steps
  kLrn,             // output elements x (2 x size + 3)
};

struct Cost {
  Measure measure;
  double factor;
  std::string_view kind;
  std::string_view operators;  // separated by blanks
};

constexpr auto kCosts = std::to_array<Cost>({
    {Measure::kMatmul, 2, "matmul", "MatMul"},
    {Measure::kGemm, 2, "matmul", "Gemm"},
    {Measure::kEinsum, 2, "matmul", "Einsum"},
    {Measure::kConv, 2, "conv", "Conv"},
    {Measure::kConvTranspose, 2, "conv", "ConvTranspose"},
    {Measure::kRecurrent, 2, "recurrent", "GRU LSTM RNN"},
    {Measure::kOutputElements, 1, "add", "Add Sub"},
    {Measure::kInputsJoined, 1, "add", "Sum"},
    {Measure::kInputsJoined, 1, "elementwise", "Max Mean Min"},
    {Measure::kOutputElements, 1, "elementwise",
     "Abs Acos Acosh And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
     "Ceil Celu Clip Cos Cosh CumSum Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
     "HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Mish Mod Mul Neg Not Or "
     "PRelu Pow Reciprocal Relu Resize Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
     "Sqrt Tan Tanh ThresholdedRelu Upsample Where Xor"},
    {Measure::kOutputElements, 5, "softmax", "Hardmax LogSoftmax Softmax"},
    {Measure::kOutputElements, 2, "normalization", "BatchNormalization"},
    {Measure::kOutputElements, 8, "normalization",
     "GroupNormalization InstanceNormalization LayerNormalization LpNormalization "
     "MeanVarianceNormalization RMSNormalization"},
    {Measure::kLrn, 1, "normalization", "LRN"},
    {Measure::kWindow, 1, "pool", "AveragePool LpPool MaxPool"},
    {Measure::kInputElements, 1, "pool", "GlobalAveragePool GlobalLpPool GlobalMaxPool"},
    {Measure::kInputElements, 1, "reduce",
     "ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
     "ReduceProd ReduceSum ReduceSumSquare TopK"},
    {Measure::kOutputElements, 0, "copy",
     "Cast Concat Constant ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten Gather "
     "GatherElements GatherND Identity OneHot Pad Range Reshape ReverseSequence Scatter "
     "ScatterElements ScatterND Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose Trilu "
     "Unsqueeze"},
});

const std::map<std::string, const Cost*, std::less<>>& costs() {
  static const std::map<std::string, const Cost*, std::less<>> by_operator = [] {
    std::map<std::string, const Cost*, std::less<>> result;
    for (const Cost& cost : kCosts) {
      for (const std::string_view name : split_words(cost.operators)) result.emplace(name, &cost);
    }
    return result;
  }();
  return by_operator;
}

double elements_from(const OnnxShape& shape, std::size_t first) {
  return onnx_element_count(OnnxShape(
      shape.begin() + static_cast<std::ptrdiff_t>(std::min(first, shape.size())), shape.end()));
}

double einsum_flops(const OnnxNodeView& node) {
  const std::string equation = node.text("equation", "");
  const std::size_t arrow = equation.find("->");
  const std::string result = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
  std::map<char, double> extents;
  std::size_t input = 0;
  std::size_t axis = 0;
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') {
      ++input;
      axis = 0;
    } else if (c != ' ') {
      const OnnxShape* shape = node.shape(input);
      if (shape == nullptr || axis >= shape->size()) continue;
      double& extent = extents.emplace(c, 1.0).first->second;
      extent = std::max(extent, static_cast<double>((*shape)[axis++]));
    }
  }
  double flops = 1;
  bool sums = false;
  for (const auto& [index, extent] : extents) {
    flops *= extent;
    sums = sums || result.find(index) == std::string::npos;
  }
  return sums && input > 0 ? 2 * flops : flops;
}

// W [directions, gates x hidden, inputs], R [directions, gates x hidden, hidden], steps and batch
// from X: two multiply-adds an entry of W and R.
double recurrent_flops(const OnnxShape& x, const OnnxShape& w, const OnnxShape& r) {
  return 2 * static_cast<double>(x[0]) * static_cast<double>(x[1]) *
         (onnx_element_count(w) + onnx_element_count(r));
}

std::optional<double> contraction_flops(const OnnxNodeView& node, Measure measure,
                                        const OnnxShape& output) {
  const OnnxShape* a = node.shape(0);
  const OnnxShape* b = node.shape(1);
  const double elements = onnx_element_count(output);
  if (measure == Measure::kEinsum) return einsum_flops(node);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const bool has_third = node.input(2) != nullptr;
  switch (measure) {
    case Measure::kMatmul:
      return a->empty() ? std::nullopt
                        : std::optional(2 * elements * static_cast<double>(a->back()));
    case Measure::kGemm: {
      if (a->size() != 2) return std::nullopt;
      const std::int64_t inner = (*a)[node.integer("transA", 0) != 0 ? 0 : 1];
      return elements * (2 * static_cast<double>(inner) + (has_third ? 1 : 0));
    }
    case Measure::kConv:
      return elements * (2 * elements_from(*b, 1) + (has_third ? 1 : 0));
    case Measure::kConvTranspose:
      return 2 * onnx_element_count(*a) * elements_from(*b, 1) + (has_third ? elements : 0);
    case Measure::kRecurrent: {
      const OnnxShape* r = node.shape(2);
      if (r == nullptr || a->size() < 2) return std::nullopt;
      return recurrent_flops(*a, *b, *r);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> count_onnx_flops(const OnnxNodeView& node,
                                       const std::vector<OnnxTensorInfo>& outputs) {
  const auto at = costs().find(node.node().operator_type);
  if (at == costs().end() || !node.node().domain.empty()) return std::nullopt;
  const Cost& cost = *at->second;
  if (cost.factor == 0) return 0;
  if (outputs.empty() || !outputs[0].shape) return std::nullopt;
  const OnnxShape& output = *outputs[0].shape;
  const double elements = onnx_element_count(output);
  switch (cost.measure) {
    case Measure::kOutputElements:
      return cost.factor * elements;
    case Measure::kInputElements: {
      const OnnxShape* input = node.shape(0);
      if (input == nullptr) return std::nullopt;
      return cost.factor * onnx_element_count(*input);
    }
    case Measure::kWindow:
      return elements * onnx_element_count(node.list("kernel_shape"));
    case Measure::kInputsJoined:
      return elements * static_cast<double>(std::max<std::size_t>(node.input_count(), 1) - 1);
    case Measure::kLrn:
      return elements * (2 * static_cast<double>(node.integer("size", 1)) + 3);
    default:
      return contraction_flops(node, cost.measure, output);
  }
}

std::string onnx_operation_kind(const std::string& operator_type) {
  const auto at = costs().find(operator_type);
  return at == costs().end() ? operator_type : std::string(at->second->kind);
}

std::optional<std::size_t> first_onnx_parameter(const std::string& operator_type) {
  static const std::set<std::string, std::less<>> from_second = {
      "Clip",  "CumSum", "Dropout", "Expand", "OneHot", "Pad",       "Reshape",  "Resize",
      "Slice", "Split",  "Squeeze", "Tile",   "TopK",   "Unsqueeze", "Upsample", "Trilu"};
  if (from_second.contains(operator_type) || operator_type.starts_with("Reduce")) return 1;
  if (operator_type == "Range" || operator_type == "ConstantOfShape") return 0;
  return std::nullopt;
}

}  // namespace doppler
