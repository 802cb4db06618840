#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "common/onnx_shape_rules.h"

namespace doppler::onnx_rules {
namespace {

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

constexpr auto kRules = std::to_array<Rule>({
    {.apply = concat, .operators = "Concat"},
    {.apply = depth_to_space, .operators = "DepthToSpace SpaceToDepth"},
    {.apply = expand, .operators = "Expand"},
    {.apply = flatten, .operators = "Flatten"},
    {.apply = gather, .operators = "Gather"},
    {.apply = gather_elements, .operators = "GatherElements"},
    {.apply = gather_nd, .operators = "GatherND"},
    {.apply = one_hot, .operators = "OneHot"},
    {.apply = pad, .operators = "Pad"},
    {.apply = reshape, .operators = "Reshape"},
    {.apply = resize, .operators = "Resize Upsample"},
    {.apply = slice, .operators = "Slice"},
    {.apply = split, .operators = "Split"},
    {.apply = squeeze, .operators = "Squeeze"},
    {.apply = tile, .operators = "Tile"},
    {.apply = transpose, .operators = "Transpose"},
    {.apply = unsqueeze, .operators = "Unsqueeze"},
});

}  // namespace

std::span<const Rule> layout_rules() {
  return kRules;
}

}  // namespace doppler::onnx_rules
