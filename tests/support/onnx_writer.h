// Writes small ONNX models, field by field: a trusted writer for the tests of the reader. Field
// numbers: onnx/onnx.proto.
#ifndef DOPPLER_TESTS_SUPPORT_ONNX_WRITER_H_
#define DOPPLER_TESTS_SUPPORT_ONNX_WRITER_H_

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace doppler::test {

inline constexpr int kOnnxFloat = 1;
inline constexpr int kOnnxInt64 = 7;

class ProtobufWriter {
 public:
  ProtobufWriter& integer(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtobufWriter& bytes(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtobufWriter& float32(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
    return *this;
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>((value & 0x7f) | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

// TensorProto; `values` go into int64_data, none: a tensor whose numbers lie elsewhere.
inline std::string onnx_tensor(const std::string& name, const std::vector<std::int64_t>& dimensions,
                               int element_type = kOnnxFloat,
                               const std::vector<std::int64_t>& values = {}) {
  ProtobufWriter tensor;
  for (std::int64_t extent : dimensions) tensor.integer(1, extent);
  tensor.integer(2, element_type);
  if (!values.empty()) {
    ProtobufWriter packed;
    for (std::int64_t value : values) packed.varint(static_cast<std::uint64_t>(value));
    tensor.bytes(7, packed.str());
  }
  return tensor.bytes(8, name).str();
}

inline std::string onnx_integer(const std::string& name, std::int64_t value) {
  return ProtobufWriter().bytes(1, name).integer(3, value).str();
}
inline std::string onnx_integers(const std::string& name, const std::vector<std::int64_t>& values) {
  ProtobufWriter attribute;
  attribute.bytes(1, name);
  for (std::int64_t value : values) attribute.integer(8, value);
  return attribute.str();
}
inline std::string onnx_text(const std::string& name, const std::string& value) {
  return ProtobufWriter().bytes(1, name).bytes(4, value).str();
}
inline std::string onnx_tensor_attribute(const std::string& name, const std::string& tensor) {
  return ProtobufWriter().bytes(1, name).bytes(5, tensor).str();
}

inline std::string onnx_node(const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::string>& attributes = {},
                             const std::string& name = {}, const std::string& domain = {}) {
  ProtobufWriter node;
  for (const std::string& input : inputs) node.bytes(1, input);
  for (const std::string& output : outputs) node.bytes(2, output);
  if (!name.empty()) node.bytes(3, name);
  node.bytes(4, type);
  for (const std::string& attribute : attributes) node.bytes(5, attribute);
  if (!domain.empty()) node.bytes(7, domain);
  return node.str();
}

// ValueInfoProto of a tensor; a dimension is a number or a symbol.
inline std::string onnx_value(const std::string& name, const std::vector<std::string>& dimensions,
                              int element_type = kOnnxFloat) {
  ProtobufWriter shape;
  for (const std::string& text : dimensions) {
    ProtobufWriter dimension;
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
      dimension.integer(1, std::stoll(text));
    } else if (!text.empty()) {
      dimension.bytes(2, text);
    }
    shape.bytes(1, dimension.str());
  }
  const ProtobufWriter tensor = ProtobufWriter().integer(1, element_type).bytes(2, shape.str());
  return ProtobufWriter()
      .bytes(1, name)
      .bytes(2, ProtobufWriter().bytes(1, tensor.str()).str())
      .str();
}

struct OnnxParts {
  std::vector<std::string> nodes = {};
  std::vector<std::string> initializers = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> values = {};
};

inline std::string onnx_model(const OnnxParts& parts) {
  ProtobufWriter graph;
  for (const std::string& node : parts.nodes) graph.bytes(1, node);
  graph.bytes(2, "g");
  for (const std::string& tensor : parts.initializers) graph.bytes(5, tensor);
  for (const std::string& value : parts.inputs) graph.bytes(11, value);
  for (const std::string& value : parts.outputs) graph.bytes(12, value);
  for (const std::string& value : parts.values) graph.bytes(13, value);
  const ProtobufWriter opset = ProtobufWriter().bytes(1, "").integer(2, 13);
  return ProtobufWriter().integer(1, 8).bytes(7, graph.str()).bytes(8, opset.str()).str();
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_ONNX_WRITER_H_
