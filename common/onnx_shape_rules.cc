#include "common/onnx_shape_rules.h"

#include <utility>

namespace doppler::onnx_rules {

std::string to_text(const OnnxShape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

void set_shape(Outputs& outputs, std::size_t i, OnnxShape shape) {
  if (i < outputs.size()) outputs[i].shape = std::move(shape);
}

void set_type(Outputs& outputs, std::size_t i, int element_type) {
  if (i < outputs.size()) outputs[i].element_type = element_type;
}

void copy_type(const OnnxNodeView& node, Outputs& outputs, std::size_t input) {
  const OnnxTensorInfo* info = node.input(input);
  if (info != nullptr) set_type(outputs, 0, info->element_type);
}

OnnxShape broadcast(const OnnxNodeView& node, const OnnxShape& a, const OnnxShape& b) {
  const OnnxShape& longer = a.size() >= b.size() ? a : b;
  const OnnxShape& shorter = a.size() >= b.size() ? b : a;
  OnnxShape result = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[shift + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      node.fail("shapes " + to_text(a) + " and " + to_text(b) + " cannot be broadcast together");
    }
  }
  return result;
}

}  // namespace doppler::onnx_rules
