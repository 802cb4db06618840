// What is known about a tensor of an ONNX graph, and the view of a node that shape inference and
// the count of FLOPs work on.
#ifndef DOPPLER_COMMON_ONNX_TENSOR_INFO_H_
#define DOPPLER_COMMON_ONNX_TENSOR_INFO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/import_report.h"
#include "common/onnx_model.h"

namespace doppler {

using OnnxShape = std::vector<std::int64_t>;

struct OnnxTensorInfo {
  std::optional<OnnxShape> shape;             // none: not known
  int element_type = 0;                       // 0: not known
  std::optional<std::vector<double>> values;  // known numbers (of shapes and the like), row-major
  bool constant = false;                      // the same in every run
};

// How many elements; as a real number, because it may exceed every integer.
double onnx_element_count(const OnnxShape& shape);

class OnnxNodeView {
 public:
  OnnxNodeView(const OnnxNode& node, std::string label, std::vector<const OnnxTensorInfo*> inputs,
               const ImportReport& report)
      : node_(node), label_(std::move(label)), inputs_(std::move(inputs)), report_(report) {}

  const OnnxNode& node() const { return node_; }
  std::size_t input_count() const { return inputs_.size(); }
  // Null where the node leaves that input out, or what is asked of it is not known.
  const OnnxTensorInfo* input(std::size_t i) const {
    return i < inputs_.size() ? inputs_[i] : nullptr;
  }
  const OnnxShape* shape(std::size_t i) const;
  const std::vector<double>* values(std::size_t i) const;
  // The same as integers, cut to what an int64 can hold.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  bool has(const std::string& attribute) const { return node_.attributes.contains(attribute); }
  std::string text(const std::string& attribute, const std::string& otherwise) const;
  // The attribute, or what input `i` holds where there is no such attribute; none if neither.
  std::optional<std::vector<std::int64_t>> list(const std::string& attribute, std::size_t i) const;
  std::vector<std::int64_t> list(const std::string& attribute) const;

  // Axis `axis` of `rank`, counted from the end if it is negative.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;

  // Throws FormatError "file: node n3 (Conv): what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const OnnxNode& node_;
  std::string label_;
  std::vector<const OnnxTensorInfo*> inputs_;
  const ImportReport& report_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_TENSOR_INFO_H_
