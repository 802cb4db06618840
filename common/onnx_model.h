// What an ONNX file holds, as far as shapes and costs need it. Field numbers: onnx/onnx.proto of
// the ONNX project (IR version 3 and later). Weights are not copied: of a tensor only its type, its
// shape and, where they are few, its numbers are kept.
#ifndef DOPPLER_COMMON_ONNX_MODEL_H_
#define DOPPLER_COMMON_ONNX_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/import_report.h"

namespace doppler {

inline constexpr std::size_t kMostOnnxValues = 4096;  // of a tensor whose numbers are kept

struct OnnxTensor {
  std::string name;
  std::vector<std::int64_t> dimensions;
  int element_type = 0;  // TensorProto.DataType
  // The numbers, row-major; none if they are many, not here or no numbers.
  std::optional<std::vector<double>> values;
};

struct OnnxAttribute {
  std::optional<std::int64_t> integer;
  std::optional<float> number;
  std::optional<std::string> text;
  std::optional<OnnxTensor> tensor;
  std::vector<std::int64_t> integers;
  std::vector<float> numbers;
  bool has_graph = false;
};

struct OnnxNode {
  std::string name;  // may be empty
  std::string operator_type;
  std::string domain;               // empty: of ONNX itself
  std::vector<std::string> inputs;  // an empty name: left out
  std::vector<std::string> outputs;
  std::map<std::string, OnnxAttribute> attributes;
};

struct OnnxDimension {
  std::optional<std::int64_t> size;
  std::string symbol;  // where the size is none; may be empty
};

struct OnnxValue {
  std::string name;
  int element_type = 0;
  std::optional<std::vector<OnnxDimension>> dimensions;  // none: not stated, or no tensor
};

struct OnnxModel {
  std::string graph_name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  std::vector<OnnxValue> values;  // value_info: what the file states about tensors in between
};

// Throws FormatError "file: byte n: ..."; also for a file without a graph.
OnnxModel parse_onnx(std::string_view content, const ImportReport& report);

// The bits of one element; 0 for strings and types that are not known.
int onnx_element_bits(int element_type);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_MODEL_H_
