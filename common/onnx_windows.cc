#include "common/onnx_windows.h"

#include <algorithm>
#include <string>

namespace doppler {
namespace {

// Far above every real extent, and small enough that sums and products of two fit an int64.
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

// An attribute with one entry for each of `count` axes, or `otherwise` in all of them.
std::vector<std::int64_t> per_axis(const OnnxNodeView& node, const std::string& attribute,
                                   std::size_t count, std::int64_t otherwise,
                                   std::int64_t smallest) {
  std::vector<std::int64_t> values = node.list(attribute);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    node.fail(attribute + " has " + std::to_string(values.size()) + " entries where " +
              std::to_string(count) + " are needed");
  }
  for (std::int64_t value : values) {
    if (value < smallest || value >= kLargest) {
      node.fail(attribute + " has the entry " + std::to_string(value) + ", which is out of range");
    }
  }
  return values;
}

void check_extents(const OnnxNodeView& node, const std::vector<std::int64_t>& extents,
                   const std::string& what) {
  for (std::int64_t extent : extents) {
    if (extent < 0 || extent >= kLargest) {
      node.fail(what + " has the extent " + std::to_string(extent) + ", which is out of range");
    }
  }
}

}  // namespace

std::vector<std::int64_t> slide_window(const OnnxNodeView& node,
                                       const std::vector<std::int64_t>& spatial,
                                       const std::vector<std::int64_t>& kernel) {
  const std::size_t count = spatial.size();
  check_extents(node, spatial, "the input");
  check_extents(node, kernel, "the window");
  const auto strides = per_axis(node, "strides", count, 1, 1);
  const auto dilations = per_axis(node, "dilations", count, 1, 1);
  const auto pads = per_axis(node, "pads", 2 * count, 0, -kLargest);
  const std::string mode = node.text("auto_pad", "NOTSET");
  const bool ceil_mode = node.integer("ceil_mode", 0) != 0;
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < count; ++i) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      result.push_back((spatial[i] + strides[i] - 1) / strides[i]);
      continue;
    }
    const std::int64_t pad = mode == "VALID" ? 0 : pads[i] + pads[count + i];
    const std::int64_t window = (kernel[i] - 1) * dilations[i] + 1;
    const std::int64_t room = spatial[i] + pad - window;
    if (room < 0) {
      node.fail("its window of " + std::to_string(window) + " is larger than its padded input of " +
                std::to_string(spatial[i] + pad));
    }
    std::int64_t steps = (room + (ceil_mode ? strides[i] - 1 : 0)) / strides[i] + 1;
    // A window that would begin in the padding behind the input is left out.
    if (ceil_mode && (steps - 1) * strides[i] >= spatial[i] + pads[i] && steps > 1) --steps;
    result.push_back(steps);
  }
  return result;
}

std::vector<std::int64_t> unslide_window(const OnnxNodeView& node,
                                         const std::vector<std::int64_t>& spatial,
                                         const std::vector<std::int64_t>& kernel) {
  const std::size_t count = spatial.size();
  check_extents(node, spatial, "the input");
  check_extents(node, kernel, "the window");
  const auto stated = node.list("output_shape");
  if (stated.size() >= count && !stated.empty()) {
    std::vector<std::int64_t> last(stated.end() - static_cast<std::ptrdiff_t>(count), stated.end());
    check_extents(node, last, "output_shape");
    return last;
  }
  const auto strides = per_axis(node, "strides", count, 1, 1);
  const auto dilations = per_axis(node, "dilations", count, 1, 1);
  const auto pads = per_axis(node, "pads", 2 * count, 0, -kLargest);
  const auto extra = per_axis(node, "output_padding", count, 0, 0);
  const std::string mode = node.text("auto_pad", "NOTSET");
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < count; ++i) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      result.push_back(spatial[i] * strides[i]);
      continue;
    }
    const std::int64_t pad = mode == "VALID" ? 0 : pads[i] + pads[count + i];
    const std::int64_t extent =
        strides[i] * (spatial[i] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - pad;
    if (extent < 0) node.fail("its output would have a negative extent");
    result.push_back(extent);
  }
  return result;
}

}  // namespace doppler
