#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "common/onnx_shape_rules.h"
#include "common/onnx_windows.h"

namespace doppler::onnx_rules {
namespace {

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

constexpr auto kRules = std::to_array<Rule>({
    {.apply = matmul, .operators = "MatMul"},
    {.apply = gemm, .operators = "Gemm"},
    {.apply = conv, .operators = "Conv"},
    {.apply = conv_transpose, .operators = "ConvTranspose"},
    {.apply = einsum, .operators = "Einsum"},
    {.apply = recurrent, .operators = "GRU LSTM RNN"},
});

}  // namespace

std::span<const Rule> contraction_rules() {
  return kRules;
}

}  // namespace doppler::onnx_rules
