#include "common/onnx_shapes.h"

#include <map>
#include <span>

#include "common/onnx_shape_rules.h"
#include "common/text_lines.h"

namespace doppler {
namespace {

using Rules = std::map<std::string, const onnx_rules::Rule*, std::less<>>;  // by operator

const Rules& rules() {
  static const Rules by_operator = [] {
    Rules result;
    for (const std::span<const onnx_rules::Rule> group :
         {onnx_rules::compute_rules(), onnx_rules::contraction_rules(), onnx_rules::layout_rules(),
          onnx_rules::constant_rules()}) {
      for (const onnx_rules::Rule& rule : group) {
        for (const std::string_view name : split_words(rule.operators)) {
          result.emplace(name, &rule);
        }
      }
    }
    return result;
  }();
  return by_operator;
}

}  // namespace

bool knows_onnx_operator(const std::string& operator_type) {
  return rules().contains(operator_type);
}

std::vector<OnnxTensorInfo> infer_onnx_shapes(const OnnxNodeView& node) {
  std::vector<OnnxTensorInfo> outputs(node.node().outputs.size());
  const auto rule = rules().find(node.node().operator_type);
  if (rule != rules().end() && node.node().domain.empty()) rule->second->apply(node, outputs);
  return outputs;
}

}  // namespace doppler
