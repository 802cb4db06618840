#include "common/onnx_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace doppler {
namespace {

using Values = std::vector<double>;
using Maybe = std::optional<Values>;

bool is_integral(int element_type) {
  return element_type != 1 && element_type != 10 && element_type != 11 && element_type != 16;
}

Maybe copied(const OnnxNodeView& node) {
  const Values* values = node.values(0);
  return values == nullptr ? std::nullopt : Maybe(*values);
}

Maybe fold_shape(const OnnxNodeView& node, std::size_t count) {
  const OnnxShape* shape = node.shape(0);
  if (shape == nullptr) return std::nullopt;
  std::int64_t start = node.integer("start", 0);
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (start < 0) start = start < -rank ? 0 : start + rank;
  const auto first = static_cast<std::size_t>(std::min(start, rank));
  Values values;
  for (std::size_t i = 0; i < count && first + i < shape->size(); ++i) {
    values.push_back(static_cast<double>((*shape)[first + i]));
  }
  return values;
}

Maybe fold_constant(const OnnxNodeView& node) {
  for (const auto& [name, attribute] : node.node().attributes) {
    if (name == "value" && attribute.tensor) return attribute.tensor->values;
    if (name == "value_ints") {
      return Values(attribute.integers.begin(), attribute.integers.end());
    }
    if (name == "value_floats") return Values(attribute.numbers.begin(), attribute.numbers.end());
    if (name == "value_int" && attribute.integer) {
      return Values{static_cast<double>(*attribute.integer)};
    }
    if (name == "value_float" && attribute.number) return Values{*attribute.number};
  }
  return std::nullopt;
}

Maybe fold_constant_of_shape(const OnnxNodeView& node, std::size_t count) {
  double value = 0;
  const auto at = node.node().attributes.find("value");
  if (at != node.node().attributes.end() && at->second.tensor) {
    const auto& values = at->second.tensor->values;
    if (!values || values->size() != 1) return std::nullopt;
    value = values->front();
  }
  return Values(count, value);
}

// Of a list; everything else is left alone.
Maybe fold_gather(const OnnxNodeView& node) {
  const Values* data = node.values(0);
  const OnnxShape* shape = node.shape(0);
  const auto indices = node.integers(1);
  if (data == nullptr || shape == nullptr || shape->size() != 1 || !indices) return std::nullopt;
  Values values;
  for (std::int64_t index : *indices) {
    const auto count = static_cast<std::int64_t>(data->size());
    if (index < -count || index >= count) {
      node.fail("index " + std::to_string(index) + " lies outside of a list of " +
                std::to_string(count));
    }
    values.push_back((*data)[static_cast<std::size_t>(index < 0 ? index + count : index)]);
  }
  return values;
}

Maybe fold_slice(const OnnxNodeView& node, std::size_t count) {
  const Values* data = node.values(0);
  const OnnxShape* shape = node.shape(0);
  const auto starts = node.list("starts", 1);
  const auto steps = node.integers(4);
  if (data == nullptr || shape == nullptr || shape->size() != 1 || !starts || starts->size() != 1 ||
      (!steps && node.input(4) != nullptr) || (steps && steps->size() != 1)) {
    return std::nullopt;
  }
  const auto extent = static_cast<std::int64_t>(data->size());
  const std::int64_t step = steps ? (*steps)[0] : 1;
  std::int64_t position = (*starts)[0];
  if (position < 0) position = position < -extent ? 0 : position + extent;
  position = std::clamp<std::int64_t>(position, 0, step > 0 ? extent : extent - 1);
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    if (position < 0 || position >= extent) return std::nullopt;
    values.push_back((*data)[static_cast<std::size_t>(position)]);
    if (i + 1 == count) break;
    if (step > extent || step < -extent) return std::nullopt;
    position += step;
  }
  return values;
}

Maybe fold_concat(const OnnxNodeView& node) {
  Values values;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const Values* part = node.values(i);
    const OnnxShape* shape = node.shape(i);
    if (part == nullptr || shape == nullptr || shape->size() != 1) return std::nullopt;
    values.insert(values.end(), part->begin(), part->end());
  }
  return values;
}

Maybe fold_range(const OnnxNodeView& node, std::size_t count) {
  const Values* start = node.values(0);
  const Values* delta = node.values(2);
  if (start == nullptr || delta == nullptr || start->size() != 1 || delta->size() != 1) {
    return std::nullopt;
  }
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back((*start)[0] + static_cast<double>(i) * (*delta)[0]);
  }
  return values;
}

Maybe fold_reduction(const OnnxNodeView& node, bool product) {
  const Values* data = node.values(0);
  const OnnxShape* shape = node.shape(0);
  if (data == nullptr || shape == nullptr || shape->size() != 1) return std::nullopt;
  double result = product ? 1 : 0;
  for (double value : *data) result = product ? result * value : result + value;
  return Values{result};
}

using Binary = std::function<double(double, double)>;

const std::map<std::string, Binary>& binary_functions() {
  static const std::map<std::string, Binary> functions = {
      {"Add", std::plus<>()},
      {"Sub", std::minus<>()},
      {"Mul", std::multiplies<>()},
      {"Div", std::divides<>()},
      {"Mod", [](double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
  };
  return functions;
}

// Lists of the same length, and single numbers with lists.
Maybe fold_binary(const OnnxNodeView& node, const Binary& function, std::size_t count,
                  bool truncate) {
  const Values* a = node.values(0);
  const Values* b = node.values(1);
  if (a == nullptr || b == nullptr || node.input_count() != 2) return std::nullopt;
  const auto fits = [&](const Values& values) {
    return values.size() == count || values.size() == 1;
  };
  if (!fits(*a) || !fits(*b)) return std::nullopt;
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    const double result = function((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    values.push_back(truncate ? std::trunc(result) : result);
  }
  return values;
}

Maybe fold_where(const OnnxNodeView& node, std::size_t count) {
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<double, 3> picked{};
    for (std::size_t input = 0; input < 3; ++input) {
      const Values* all = node.values(input);
      if (all == nullptr || (all->size() != count && all->size() != 1)) return std::nullopt;
      picked[input] = (*all)[all->size() == 1 ? 0 : i];
    }
    values.push_back(picked[0] != 0 ? picked[1] : picked[2]);
  }
  return values;
}

Maybe fold(const OnnxNodeView& node, const OnnxTensorInfo& output, std::size_t count) {
  const std::string& type = node.node().operator_type;
  if (type == "Shape") return fold_shape(node, count);
  if (type == "Size") {
    const OnnxShape* shape = node.shape(0);
    return shape == nullptr ? std::nullopt : Maybe(Values{onnx_element_count(*shape)});
  }
  if (type == "Constant") return fold_constant(node);
  if (type == "ConstantOfShape") return fold_constant_of_shape(node, count);
  if (type == "Gather") return fold_gather(node);
  if (type == "Slice") return fold_slice(node, count);
  if (type == "Concat") return fold_concat(node);
  if (type == "Range") return fold_range(node, count);
  if (type == "ReduceProd" || type == "ReduceSum")
    return fold_reduction(node, type == "ReduceProd");
  if (type == "Where") return fold_where(node, count);
  if (type == "Identity" || type == "Squeeze" || type == "Unsqueeze" || type == "Reshape" ||
      type == "Flatten") {
    return copied(node);
  }
  if (type == "Cast" || type == "Floor" || type == "Ceil" || type == "Neg" || type == "Sqrt") {
    Maybe values = copied(node);
    if (!values) return values;
    for (double& value : *values) {
      if (type == "Floor") value = std::floor(value);
      if (type == "Ceil") value = std::ceil(value);
      if (type == "Neg") value = -value;
      if (type == "Sqrt") value = std::sqrt(value);
      if (type == "Cast" && is_integral(output.element_type)) value = std::trunc(value);
    }
    return values;
  }
  if (type == "Expand") {
    const Values* values = node.values(0);
    if (values == nullptr || values->size() != 1) return std::nullopt;
    return Values(count, values->front());
  }
  const auto binary = binary_functions().find(type);
  if (binary == binary_functions().end()) return std::nullopt;
  return fold_binary(node, binary->second, count, is_integral(output.element_type));
}

}  // namespace

std::optional<std::vector<double>> fold_onnx_values(const OnnxNodeView& node,
                                                    const OnnxTensorInfo& output) {
  if (!output.shape || !node.node().domain.empty()) return std::nullopt;
  const double elements = onnx_element_count(*output.shape);
  if (!(elements <= static_cast<double>(kMostOnnxValues))) return std::nullopt;
  Maybe values = fold(node, output, static_cast<std::size_t>(elements));
  if (values && values->size() != static_cast<std::size_t>(elements)) return std::nullopt;
  return values;
}

}  // namespace doppler
