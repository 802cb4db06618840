#include "common/onnx_tensor_info.h"

#include <cmath>
#include <limits>

namespace doppler {
namespace {

std::int64_t to_integer(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value <= -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

}  // namespace

double onnx_element_count(const OnnxShape& shape) {
  double count = 1;
  for (std::int64_t extent : shape) count *= static_cast<double>(extent);
  return count;
}

const OnnxShape* OnnxNodeView::shape(std::size_t i) const {
  const OnnxTensorInfo* info = input(i);
  return info != nullptr && info->shape ? &*info->shape : nullptr;
}

const std::vector<double>* OnnxNodeView::values(std::size_t i) const {
  const OnnxTensorInfo* info = input(i);
  return info != nullptr && info->values ? &*info->values : nullptr;
}

std::optional<std::vector<std::int64_t>> OnnxNodeView::integers(std::size_t i) const {
  const std::vector<double>* numbers = values(i);
  if (numbers == nullptr) return std::nullopt;
  std::vector<std::int64_t> integers;
  integers.reserve(numbers->size());
  for (double number : *numbers) integers.push_back(to_integer(number));
  return integers;
}

std::int64_t OnnxNodeView::integer(const std::string& attribute, std::int64_t otherwise) const {
  const auto at = node_.attributes.find(attribute);
  return at == node_.attributes.end() ? otherwise : at->second.integer.value_or(otherwise);
}

std::string OnnxNodeView::text(const std::string& attribute, const std::string& otherwise) const {
  const auto at = node_.attributes.find(attribute);
  return at == node_.attributes.end() ? otherwise : at->second.text.value_or(otherwise);
}

std::vector<std::int64_t> OnnxNodeView::list(const std::string& attribute) const {
  const auto at = node_.attributes.find(attribute);
  return at == node_.attributes.end() ? std::vector<std::int64_t>() : at->second.integers;
}

std::optional<std::vector<std::int64_t>> OnnxNodeView::list(const std::string& attribute,
                                                            std::size_t i) const {
  if (has(attribute)) return list(attribute);
  return integers(i);
}

std::size_t OnnxNodeView::axis(std::int64_t axis, std::size_t rank) const {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    fail("axis " + std::to_string(axis) + " does not exist; the tensor has " +
         std::to_string(rank) + " dimensions");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

void OnnxNodeView::fail(const std::string& what) const {
  report_.fail({}, label_, what);
}

}  // namespace doppler
