// The rules of shape inference, by groups of operators, and what they have in common. Private to
// onnx_shapes.cc and the files of rules.
#ifndef DOPPLER_COMMON_ONNX_SHAPE_RULES_H_
#define DOPPLER_COMMON_ONNX_SHAPE_RULES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/onnx_tensor_info.h"

namespace doppler::onnx_rules {

using Outputs = std::vector<OnnxTensorInfo>;

// Sets what it can tell about the outputs, which are as many as the node names.
struct Rule {
  void (*apply)(const OnnxNodeView& node, Outputs& outputs);
  std::string_view operators;  // separated by blanks
};

std::span<const Rule> compute_rules();      // elementwise, windows, normalisations, reductions
std::span<const Rule> contraction_rules();  // matrix products, convolutions, recurrences
std::span<const Rule> layout_rules();       // what only moves data
std::span<const Rule> constant_rules();     // constants and shapes

// TensorProto.DataType
inline constexpr int kFloat = 1;
inline constexpr int kInt64 = 7;
inline constexpr int kBool = 9;

inline constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

std::string to_text(const OnnxShape& shape);  // "[1, 3, 224, 224]"

// Nothing happens where the node names no output `i`.
void set_shape(Outputs& outputs, std::size_t i, OnnxShape shape);
void set_type(Outputs& outputs, std::size_t i, int element_type);
// The element type of an input, for the first output.
void copy_type(const OnnxNodeView& node, Outputs& outputs, std::size_t input = 0);

// numpy's rule: shapes aligned at their ends, an extent of 1 stretches.
OnnxShape broadcast(const OnnxNodeView& node, const OnnxShape& a, const OnnxShape& b);

inline std::ptrdiff_t offset(std::size_t i) {
  return static_cast<std::ptrdiff_t>(i);
}

}  // namespace doppler::onnx_rules

#endif  // DOPPLER_COMMON_ONNX_SHAPE_RULES_H_
