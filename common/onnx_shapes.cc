#include "common/onnx_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "common/onnx_windows.h"

namespace doppler {
namespace {

using Outputs = std::vector<OnnxTensorInfo>;
using Rule = void (*)(const OnnxNodeView&, Outputs&);

constexpr int kBool = 9;
constexpr int kInt64 = 7;
constexpr int kFloat = 1;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

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

void copy_type(const OnnxNodeView& node, Outputs& outputs, std::size_t input = 0) {
  const OnnxTensorInfo* info = node.input(input);
  if (info != nullptr) set_type(outputs, 0, info->element_type);
}

std::ptrdiff_t offset(std::size_t i) {
  return static_cast<std::ptrdiff_t>(i);
}

// numpy's rule: shapes aligned at their ends, an extent of 1 stretches.
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

// --- contractions

void matmul(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* left = node.shape(0);
  const OnnxShape* right = node.shape(1);
  if (left == nullptr || right == nullptr) return;
  if (left->empty() || right->empty()) node.fail("a scalar cannot be multiplied as a matrix");
  OnnxShape a = *left;
  OnnxShape b = *right;
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) {
    node.fail("shapes " + to_text(*left) + " and " + to_text(*right) + " cannot be multiplied; " +
              std::to_string(a.back()) + " columns meet " + std::to_string(b[b.size() - 2]) +
              " rows");
  }
  OnnxShape result =
      broadcast(node, OnnxShape(a.begin(), a.end() - 2), OnnxShape(b.begin(), b.end() - 2));
  if (!row) result.push_back(a[a.size() - 2]);
  if (!column) result.push_back(b.back());
  set_shape(outputs, 0, std::move(result));
}

void gemm(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* a = node.shape(0);
  const OnnxShape* b = node.shape(1);
  if (a == nullptr || b == nullptr) return;
  if (a->size() != 2 || b->size() != 2) {
    node.fail("needs two matrices, but has shapes " + to_text(*a) + " and " + to_text(*b));
  }
  const bool transpose_a = node.integer("transA", 0) != 0;
  const bool transpose_b = node.integer("transB", 0) != 0;
  const std::int64_t inner_a = (*a)[transpose_a ? 0 : 1];
  const std::int64_t inner_b = (*b)[transpose_b ? 1 : 0];
  if (inner_a != inner_b) {
    node.fail("shapes " + to_text(*a) + " and " + to_text(*b) + " cannot be multiplied; " +
              std::to_string(inner_a) + " columns meet " + std::to_string(inner_b) + " rows");
  }
  set_shape(outputs, 0, {(*a)[transpose_a ? 1 : 0], (*b)[transpose_b ? 0 : 1]});
}

struct WindowShapes {
  OnnxShape input;
  OnnxShape weight;
  std::vector<std::int64_t> spatial;
  std::vector<std::int64_t> kernel;
};

std::optional<WindowShapes> window_shapes(const OnnxNodeView& node) {
  const OnnxShape* input = node.shape(0);
  const OnnxShape* weight = node.shape(1);
  if (input == nullptr || weight == nullptr) return std::nullopt;
  if (input->size() < 3 || weight->size() != input->size()) {
    node.fail("needs an input and a weight with equally many dimensions, at least 3, but has " +
              to_text(*input) + " and " + to_text(*weight));
  }
  WindowShapes shapes{.input = *input, .weight = *weight, .spatial = {}, .kernel = {}};
  shapes.spatial.assign(input->begin() + 2, input->end());
  shapes.kernel.assign(weight->begin() + 2, weight->end());
  const std::vector<std::int64_t> stated = node.list("kernel_shape");
  if (!stated.empty() && stated != shapes.kernel) {
    node.fail("kernel_shape " + to_text(stated) + " is not that of the weight " + to_text(*weight));
  }
  return shapes;
}

std::int64_t group_of(const OnnxNodeView& node) {
  const std::int64_t group = node.integer("group", 1);
  if (group < 1 || group > kLargestExtent) {
    node.fail("group must be positive, but is " + std::to_string(group));
  }
  return group;
}

void conv(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const auto shapes = window_shapes(node);
  if (!shapes) return;
  const std::int64_t group = group_of(node);
  if (shapes->weight[1] > kLargestExtent || shapes->input[1] != shapes->weight[1] * group) {
    node.fail("the input has " + std::to_string(shapes->input[1]) + " channels, but the weight " +
              to_text(shapes->weight) + " with group " + std::to_string(group) +
              " does not take so many");
  }
  OnnxShape result = {shapes->input[0], shapes->weight[0]};
  for (std::int64_t extent : slide_window(node, shapes->spatial, shapes->kernel)) {
    result.push_back(extent);
  }
  set_shape(outputs, 0, std::move(result));
}

void conv_transpose(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const auto shapes = window_shapes(node);
  if (!shapes) return;
  const std::int64_t group = group_of(node);
  if (shapes->input[1] != shapes->weight[0] || shapes->weight[1] > kLargestExtent / group) {
    node.fail("the input has " + std::to_string(shapes->input[1]) + " channels, the weight takes " +
              std::to_string(shapes->weight[0]));
  }
  OnnxShape result = {shapes->input[0], shapes->weight[1] * group};
  for (std::int64_t extent : unslide_window(node, shapes->spatial, shapes->kernel)) {
    result.push_back(extent);
  }
  set_shape(outputs, 0, std::move(result));
}

void einsum(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  std::string equation = node.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return;
  std::map<char, std::int64_t> extents;
  std::size_t input = 0;
  std::size_t axis = 0;
  for (std::size_t i = 0; i <= arrow; ++i) {
    const OnnxShape* shape = node.shape(input);
    if (shape == nullptr) return;
    if (i == arrow || equation[i] == ',') {
      if (axis != shape->size()) {
        node.fail("equation '" + equation + "' does not fit shape " + to_text(*shape));
      }
      ++input;
      axis = 0;
      continue;
    }
    if (axis >= shape->size()) {
      node.fail("equation '" + equation + "' does not fit shape " + to_text(*shape));
    }
    std::int64_t& extent = extents.emplace(equation[i], 1).first->second;
    extent = std::max(extent, (*shape)[axis++]);
  }
  OnnxShape result;
  for (std::size_t i = arrow + 2; i < equation.size(); ++i) {
    const auto at = extents.find(equation[i]);
    if (at == extents.end())
      node.fail("equation '" + equation + "' names an index that no input has");
    result.push_back(at->second);
  }
  set_shape(outputs, 0, std::move(result));
}

// LSTM, GRU, RNN: Y [steps, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden].
void recurrent(const OnnxNodeView& node, Outputs& outputs) {
  const OnnxShape* x = node.shape(0);
  const OnnxShape* r = node.shape(2);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.input(0) != nullptr) set_type(outputs, i, node.input(0)->element_type);
  }
  if (x == nullptr || r == nullptr) return;
  if (x->size() != 3 || r->size() != 3) {
    node.fail("needs an input and weights with 3 dimensions, but has " + to_text(*x) + " and " +
              to_text(*r));
  }
  const bool batch_first = node.integer("layout", 0) != 0;
  const std::int64_t steps = (*x)[batch_first ? 1 : 0];
  const std::int64_t batch = (*x)[batch_first ? 0 : 1];
  const std::int64_t directions = (*r)[0];
  const std::int64_t hidden = (*r)[2];
  if (batch_first) {
    set_shape(outputs, 0, {batch, steps, directions, hidden});
    set_shape(outputs, 1, {batch, directions, hidden});
    set_shape(outputs, 2, {batch, directions, hidden});
  } else {
    set_shape(outputs, 0, {steps, directions, batch, hidden});
    set_shape(outputs, 1, {directions, batch, hidden});
    set_shape(outputs, 2, {directions, batch, hidden});
  }
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

// --- moving data

void concat(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* first = node.shape(0);
  if (first == nullptr) return;
  OnnxShape result = *first;
  const std::size_t axis = node.axis(node.integer("axis", 1), result.size());
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const OnnxShape* next = node.shape(i);
    if (next == nullptr) return;
    OnnxShape expected = *first;
    if (next->size() == expected.size()) expected[axis] = (*next)[axis];
    if (*next != expected) {
      node.fail("shapes " + to_text(*first) + " and " + to_text(*next) +
                " cannot be joined along axis " + std::to_string(axis));
    }
    result[axis] += std::min((*next)[axis], kLargestExtent);
  }
  set_shape(outputs, 0, std::move(result));
}

void reshape(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  const auto target = node.list("shape", 1);
  if (input == nullptr || !target) return;
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  OnnxShape result = *target;
  std::optional<std::size_t> open;
  double known = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && !zero_is_zero) {
      if (i >= input->size())
        node.fail("shape " + to_text(*target) + " copies a dimension that the input does not have");
      result[i] = (*input)[i];
    }
    if (result[i] == -1) {
      if (open) node.fail("shape " + to_text(*target) + " leaves two dimensions open");
      open = i;
      continue;
    }
    if (result[i] < 0) node.fail("shape " + to_text(*target) + " has a negative dimension");
    known *= static_cast<double>(result[i]);
  }
  const double elements = onnx_element_count(*input);
  if (open) {
    const double extent = known > 0 ? elements / known : 0;
    if (extent != std::floor(extent) || extent > static_cast<double>(kLargestExtent)) {
      node.fail("an input of shape " + to_text(*input) + " cannot become " + to_text(*target));
    }
    result[*open] = static_cast<std::int64_t>(extent);
  } else if (known != elements) {
    node.fail("an input of shape " + to_text(*input) + " cannot become " + to_text(*target));
  }
  set_shape(outputs, 0, std::move(result));
}

std::int64_t product(const OnnxNodeView& node, OnnxShape::const_iterator begin,
                     OnnxShape::const_iterator end) {
  const double count = onnx_element_count(OnnxShape(begin, end));
  if (count > 9007199254740992.0) node.fail("a flattened dimension is too large");
  return static_cast<std::int64_t>(count);
}

void flatten(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const std::int64_t stated = node.integer("axis", 1);
  const bool behind_all = stated == static_cast<std::int64_t>(input->size());
  const std::size_t axis = behind_all ? input->size() : node.axis(stated, input->size());
  set_shape(outputs, 0,
            {product(node, input->begin(), input->begin() + offset(axis)),
             product(node, input->begin() + offset(axis), input->end())});
}

void transpose(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  std::vector<std::int64_t> order = node.list("perm");
  if (order.empty()) {
    for (std::size_t i = input->size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<bool> used(input->size(), false);
  OnnxShape result;
  for (std::int64_t axis : order) {
    const std::size_t index = node.axis(axis, input->size());
    if (used[index]) node.fail("perm " + to_text(order) + " names an axis twice");
    used[index] = true;
    result.push_back((*input)[index]);
  }
  if (result.size() != input->size()) {
    node.fail("perm " + to_text(order) + " does not fit shape " + to_text(*input));
  }
  set_shape(outputs, 0, std::move(result));
}

void squeeze(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const auto axes = node.list("axes", 1);
  if (!axes && node.input(1) != nullptr) return;
  std::vector<bool> drop(input->size(), false);
  if (axes) {
    for (std::int64_t axis : *axes) drop[node.axis(axis, input->size())] = true;
  } else {
    for (std::size_t i = 0; i < drop.size(); ++i) drop[i] = (*input)[i] == 1;
  }
  OnnxShape result;
  for (std::size_t i = 0; i < input->size(); ++i) {
    if (!drop[i]) {
      result.push_back((*input)[i]);
    } else if ((*input)[i] != 1) {
      node.fail("axis " + std::to_string(i) + " of shape " + to_text(*input) + " is not 1");
    }
  }
  set_shape(outputs, 0, std::move(result));
}

void unsqueeze(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  const auto axes = node.list("axes", 1);
  if (input == nullptr || !axes) return;
  const std::size_t rank = input->size() + axes->size();
  std::vector<bool> is_new(rank, false);
  for (std::int64_t axis : *axes) {
    const std::size_t index = node.axis(axis, rank);
    if (is_new[index]) node.fail("axes " + to_text(*axes) + " name an axis twice");
    is_new[index] = true;
  }
  OnnxShape result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) result.push_back(is_new[i] ? 1 : (*input)[next++]);
  set_shape(outputs, 0, std::move(result));
}

void split(const OnnxNodeView& node, Outputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.input(0) != nullptr) set_type(outputs, i, node.input(0)->element_type);
  }
  const OnnxShape* input = node.shape(0);
  if (input == nullptr || outputs.empty()) return;
  const std::size_t axis = node.axis(node.integer("axis", 0), input->size());
  auto parts = node.list("split", 1);
  if (!parts && node.input(1) != nullptr) return;
  if (!parts || parts->empty()) {
    // Equal parts, the last one smaller where they cannot be.
    const auto count = static_cast<std::int64_t>(outputs.size());
    const std::int64_t part = (*input)[axis] / count + ((*input)[axis] % count == 0 ? 0 : 1);
    parts.emplace();
    std::int64_t rest = (*input)[axis];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      parts->push_back(std::min(part, rest));
      rest -= parts->back();
    }
  }
  if (parts->size() != outputs.size()) {
    node.fail("is split into " + std::to_string(parts->size()) + " parts, but has " +
              std::to_string(outputs.size()) + " outputs");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if ((*parts)[i] < 0 || (*parts)[i] > (*input)[axis]) {
      node.fail("part " + std::to_string(i) + " does not fit shape " + to_text(*input));
    }
    OnnxShape part = *input;
    part[axis] = (*parts)[i];
    set_shape(outputs, i, std::move(part));
  }
}

// How many of 0..extent-1 the numpy slice start:end:step takes.
std::int64_t slice_extent(std::int64_t extent, std::int64_t start, std::int64_t end,
                          std::int64_t step) {
  const auto cut = [&](std::int64_t position, std::int64_t lowest, std::int64_t highest) {
    if (position < 0) position = position < -extent ? lowest : position + extent;
    return std::clamp(position, lowest, highest);
  };
  if (step > 0) {
    const std::int64_t first = cut(start, 0, extent);
    const std::int64_t last = cut(end, 0, extent);
    return last > first ? (last - first - 1) / step + 1 : 0;
  }
  const std::int64_t first = cut(start, 0, extent - 1);
  const std::int64_t last = cut(end, -1, extent - 1);
  // -(step + 1) + 1 without overflow for the smallest step.
  return first > last ? static_cast<std::int64_t>(static_cast<std::uint64_t>(first - last - 1) /
                                                  (static_cast<std::uint64_t>(-(step + 1)) + 1)) +
                            1
                      : 0;
}

void slice(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  const auto starts = node.list("starts", 1);
  const auto ends = node.list("ends", 2);
  if (input == nullptr || !starts || !ends) return;
  auto axes = node.list("axes", 3);
  if (!axes && node.input(3) != nullptr) return;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  auto steps = node.integers(4);
  if (!steps && node.input(4) != nullptr) return;
  if (!steps) steps = std::vector<std::int64_t>(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    node.fail("starts, ends, axes and steps have different lengths");
  }
  OnnxShape result = *input;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((*steps)[i] == 0) node.fail("a step is 0");
    const std::size_t axis = node.axis((*axes)[i], input->size());
    if ((*input)[axis] > kLargestExtent) node.fail("a dimension is too large to slice");
    result[axis] = slice_extent((*input)[axis], (*starts)[i], (*ends)[i], (*steps)[i]);
  }
  set_shape(outputs, 0, std::move(result));
}

void pad(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  auto pads = node.list(node.has("paddings") ? "paddings" : "pads", 1);
  if (input == nullptr || !pads) return;
  std::vector<std::int64_t> axes;
  if (const auto stated = node.integers(3)) {
    axes = *stated;
  } else if (node.input(3) != nullptr) {
    return;
  } else {
    for (std::size_t i = 0; i < input->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads->size() != 2 * axes.size()) {
    node.fail("has " + std::to_string(pads->size()) + " pads for " + std::to_string(axes.size()) +
              " axes; there must be two of each");
  }
  OnnxShape result = *input;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& extent = result[node.axis(axes[i], input->size())];
    for (std::int64_t amount : {(*pads)[i], (*pads)[axes.size() + i]}) {
      extent += std::clamp(amount, -kLargestExtent, kLargestExtent);
    }
    if (extent < 0 || extent > 4 * kLargestExtent)
      node.fail("its pads leave an extent out of range");
  }
  set_shape(outputs, 0, std::move(result));
}

void gather(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* data = node.shape(0);
  const OnnxShape* indices = node.shape(1);
  if (data == nullptr || indices == nullptr) return;
  const std::size_t axis = node.axis(node.integer("axis", 0), data->size());
  OnnxShape result(data->begin(), data->begin() + offset(axis));
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), data->begin() + offset(axis) + 1, data->end());
  set_shape(outputs, 0, std::move(result));
}

void gather_elements(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  if (const OnnxShape* indices = node.shape(1)) set_shape(outputs, 0, *indices);
}

void gather_nd(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* data = node.shape(0);
  const OnnxShape* indices = node.shape(1);
  if (data == nullptr || indices == nullptr || indices->empty()) return;
  const std::int64_t batch = node.integer("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(data->size());
  if (batch < 0 || indices->back() < 0 || batch > rank || indices->back() > rank - batch) {
    node.fail("indices " + to_text(*indices) + " do not fit data " + to_text(*data));
  }
  OnnxShape result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), data->begin() + (batch + indices->back()), data->end());
  set_shape(outputs, 0, std::move(result));
}

void expand(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  const auto target = node.integers(1);
  if (input == nullptr || !target) return;
  if (std::any_of(target->begin(), target->end(), [](std::int64_t extent) { return extent < 0; })) {
    node.fail("shape " + to_text(*target) + " has a negative dimension");
  }
  set_shape(outputs, 0, broadcast(node, *input, *target));
}

void tile(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  const auto repeats = node.integers(1);
  if (input == nullptr || !repeats) return;
  if (repeats->size() != input->size()) {
    node.fail("has " + std::to_string(repeats->size()) + " repeats for shape " + to_text(*input));
  }
  OnnxShape result = *input;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double extent = static_cast<double>(result[i]) * static_cast<double>((*repeats)[i]);
    if (extent < 0 || extent > static_cast<double>(kLargestExtent)) {
      node.fail("repeats " + to_text(*repeats) + " are out of range");
    }
    result[i] = static_cast<std::int64_t>(extent);
  }
  set_shape(outputs, 0, std::move(result));
}

// Resize (X, roi, scales, sizes; X, scales in operator set 10) and Upsample (X, scales).
void resize(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  if (const auto sizes = node.integers(3)) {
    if (sizes->size() == input->size() &&
        std::all_of(sizes->begin(), sizes->end(),
                    [](std::int64_t size) { return size >= 0 && size <= kLargestExtent; })) {
      set_shape(outputs, 0, *sizes);
    }
    return;
  }
  std::vector<double> scales;
  const auto stated = node.node().attributes.find("scales");
  if (stated != node.node().attributes.end()) {
    scales.assign(stated->second.numbers.begin(), stated->second.numbers.end());
  } else if (const auto* values = node.values(node.input_count() >= 3 ? 2 : 1)) {
    scales = *values;
  }
  if (scales.size() != input->size()) return;
  OnnxShape result = *input;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double extent = std::floor(static_cast<double>(result[i]) * scales[i]);
    if (!(extent >= 0 && extent <= static_cast<double>(kLargestExtent))) {
      node.fail("a scale is out of range");
    }
    result[i] = static_cast<std::int64_t>(extent);
  }
  set_shape(outputs, 0, std::move(result));
}

void depth_to_space(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs);
  const OnnxShape* input = node.shape(0);
  if (input == nullptr) return;
  const std::int64_t block = node.integer("blocksize", 1);
  const bool deepen = node.node().operator_type == "SpaceToDepth";
  constexpr std::int64_t kLargestBlock = 1 << 16;
  if (input->size() != 4 || block < 1 || block > kLargestBlock) {
    node.fail("needs 4 dimensions and a positive blocksize");
  }
  for (std::int64_t extent : *input) {
    if (extent > (std::int64_t{1} << 30)) node.fail("a dimension is too large");
  }
  const OnnxShape& x = *input;
  set_shape(outputs, 0,
            deepen ? OnnxShape{x[0], x[1] * block * block, x[2] / block, x[3] / block}
                   : OnnxShape{x[0], x[1] / (block * block), x[2] * block, x[3] * block});
}

void one_hot(const OnnxNodeView& node, Outputs& outputs) {
  copy_type(node, outputs, 2);
  const OnnxShape* indices = node.shape(0);
  const auto depth = node.integers(1);
  if (indices == nullptr || !depth || depth->size() != 1 || (*depth)[0] < 0) return;
  OnnxShape result = *indices;
  const std::size_t axis = node.axis(node.integer("axis", -1), indices->size() + 1);
  result.insert(result.begin() + offset(axis), (*depth)[0]);
  set_shape(outputs, 0, std::move(result));
}

// --- constants and shapes

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

const std::map<std::string, Rule, std::less<>>& rules() {
  static const std::map<std::string, Rule, std::less<>> kRules = [] {
    std::map<std::string, Rule, std::less<>> rules;
    const auto add = [&](Rule rule, std::initializer_list<const char*> names) {
      for (const char* name : names) rules.emplace(name, rule);
    };
    add(same, {"Abs",
               "Acos",
               "Acosh",
               "Asin",
               "Asinh",
               "Atan",
               "Atanh",
               "Ceil",
               "Celu",
               "Clip",
               "Cos",
               "Cosh",
               "CumSum",
               "Elu",
               "Erf",
               "Exp",
               "Floor",
               "Gelu",
               "HardSigmoid",
               "HardSwish",
               "Hardmax",
               "Identity",
               "LeakyRelu",
               "Log",
               "LogSoftmax",
               "Mish",
               "Neg",
               "Not",
               "Reciprocal",
               "Relu",
               "Round",
               "Selu",
               "Shrink",
               "Sigmoid",
               "Sign",
               "Sin",
               "Sinh",
               "Softmax",
               "Softplus",
               "Softsign",
               "Sqrt",
               "Tan",
               "Tanh",
               "ThresholdedRelu",
               "Trilu",
               "LRN",
               "InstanceNormalization",
               "GroupNormalization",
               "LpNormalization",
               "MeanVarianceNormalization",
               "ScatterElements",
               "ScatterND",
               "Scatter",
               "EyeLike",
               "ReverseSequence",
               "BitwiseNot"});
    add(same_as_bool, {"IsNaN", "IsInf"});
    add(dropout, {"Dropout"});
    add(cast, {"Cast"});
    add(elementwise,
        {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu", "And", "Or", "Xor", "BitShift",
         "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Min", "Max", "Sum", "Mean"});
    add(comparison, {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"});
    add(where, {"Where"});
    add(matmul, {"MatMul"});
    add(gemm, {"Gemm"});
    add(conv, {"Conv"});
    add(conv_transpose, {"ConvTranspose"});
    add(einsum, {"Einsum"});
    add(recurrent, {"LSTM", "GRU", "RNN"});
    add(pool, {"MaxPool", "AveragePool", "LpPool"});
    add(global_pool, {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"});
    add(batch_normalization, {"BatchNormalization"});
    add(layer_normalization, {"LayerNormalization", "RMSNormalization"});
    add(reduce, {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                 "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"});
    add(arg_reduce, {"ArgMax", "ArgMin"});
    add(top_k, {"TopK"});
    add(concat, {"Concat"});
    add(reshape, {"Reshape"});
    add(flatten, {"Flatten"});
    add(transpose, {"Transpose"});
    add(squeeze, {"Squeeze"});
    add(unsqueeze, {"Unsqueeze"});
    add(split, {"Split"});
    add(slice, {"Slice"});
    add(pad, {"Pad"});
    add(gather, {"Gather"});
    add(gather_elements, {"GatherElements"});
    add(gather_nd, {"GatherND"});
    add(expand, {"Expand"});
    add(tile, {"Tile"});
    add(resize, {"Resize", "Upsample"});
    add(depth_to_space, {"DepthToSpace", "SpaceToDepth"});
    add(one_hot, {"OneHot"});
    add(shape_of, {"Shape"});
    add(size_of, {"Size"});
    add(constant, {"Constant"});
    add(constant_of_shape, {"ConstantOfShape"});
    add(range, {"Range"});
    return rules;
  }();
  return kRules;
}

}  // namespace

bool knows_onnx_operator(const std::string& operator_type) {
  return rules().contains(operator_type);
}

std::vector<OnnxTensorInfo> infer_onnx_shapes(const OnnxNodeView& node) {
  Outputs outputs(node.node().outputs.size());
  const auto rule = rules().find(node.node().operator_type);
  if (rule != rules().end() && node.node().domain.empty()) rule->second(node, outputs);
  return outputs;
}

}  // namespace doppler
