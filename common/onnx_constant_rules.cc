#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/onnx_shape_rules.h"

namespace doppler::onnx_rules {
namespace {

void shape_of(const OnnxNodeView& node, Outputs& outputs) {
  set_type(outputs, 0, kInt64);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const auto rank = static_cast<std::int64_t>(input->size());
  const auto cut = [&](std::int64_t position) {
    if (position < 0) position = position < -rank ? 0 : position + rank;
    return std::min(position, rank);
  };
  const std::int64_t start = cut(node.integer("start", 0));
  set_shape(outputs, 0, {std::max<std::int64_t>(cut(node.integer("end", rank)) - start, 0)});
}

void size_of(const OnnxNodeView& /*node*/, Outputs& outputs) {
  set_type(outputs, 0, kInt64);
  set_shape(outputs, 0, {});
}

void constant(const OnnxNodeView& node, Outputs& outputs) {
  const auto& attributes = node.node().attributes;
  if (const auto at = attributes.find("value"); at != attributes.end() && at->second.tensor) {
    set_shape(outputs, 0, at->second.tensor->dimensions);
    set_type(outputs, 0, at->second.tensor->element_type);
  } else if (const auto ints = attributes.find("value_ints"); ints != attributes.end()) {
    set_shape(outputs, 0, {static_cast<std::int64_t>(ints->second.integers.size())});
    set_type(outputs, 0, kInt64);
  } else if (const auto floats = attributes.find("value_floats"); floats != attributes.end()) {
    set_shape(outputs, 0, {static_cast<std::int64_t>(floats->second.numbers.size())});
    set_type(outputs, 0, kFloat);
  } else if (node.has("value_int") || node.has("value_float")) {
    set_shape(outputs, 0, {});
    set_type(outputs, 0, node.has("value_int") ? kInt64 : kFloat);
  }
}

void constant_of_shape(const OnnxNodeView& node, Outputs& outputs) {
  set_type(outputs, 0, kFloat);
  const auto value = node.node().attributes.find("value");
  if (value != node.node().attributes.end() && value->second.tensor) {
    set_type(outputs, 0, value->second.tensor->element_type);
  }
  const auto shape = node.integers(0);
  if (!shape) return;
  if (std::any_of(shape->begin(), shape->end(), [](std::int64_t extent) { return extent < 0; })) {
    node.fail("shape " + to_text(*shape) + " has a negative dimension");
  }
  set_shape(outputs, 0, *shape);
}

void range(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const auto* start = node.values(0);
  const auto* limit = node.values(1);
  const auto* delta = node.values(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return;
  if (start->size() != 1 || limit->size() != 1 || delta->size() != 1 || (*delta)[0] == 0) {
    node.fail("needs three numbers, the last of them not 0");
  }
  const double count = std::ceil(((*limit)[0] - (*start)[0]) / (*delta)[0]);
  if (!(count <= static_cast<double>(kLargestExtent))) node.fail("has too many elements");
  set_shape(outputs, 0, {static_cast<std::int64_t>(std::max(count, 0.0))});
}

constexpr auto kRules = std::to_array<Rule>({
    {.apply = constant, .operators = "Constant"},
    {.apply = constant_of_shape, .operators = "ConstantOfShape"},
    {.apply = range, .operators = "Range"},
    {.apply = shape_of, .operators = "Shape"},
    {.apply = size_of, .operators = "Size"},
});

}  // namespace

std::span<const Rule> constant_rules() {
  return kRules;
}

}  // namespace doppler::onnx_rules
