#include "common/onnx_model.h"

#include <bit>
#include <cmath>
#include <utility>

#include "common/protobuf_wire.h"

namespace doppler {
namespace {

// TensorProto.DataType
enum ElementType {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
};

constexpr std::size_t kMostListEntries = 1 << 16;  // of an attribute or a shape

// The numbers of a tensor as they stand in the file.
struct Payload {
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::string_view raw;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

// One element of raw_data.
std::optional<double> raw_number(std::string_view bytes, int element_type) {
  const std::uint64_t bits = little_endian(bytes);
  switch (element_type) {
    case kFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case kDouble:
      return std::bit_cast<double>(bits);
    case kInt8:
      return static_cast<std::int8_t>(bits);
    case kInt16:
      return static_cast<std::int16_t>(bits);
    case kInt32:
      return static_cast<std::int32_t>(bits);
    case kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case kUint8:
    case kUint16:
    case kUint32:
    case kUint64:
    case kBool:
      return static_cast<double>(bits);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> numbers_of(const OnnxTensor& tensor, const Payload& payload) {
  double count = 1;
  for (std::int64_t extent : tensor.dimensions) count *= static_cast<double>(extent);
  if (!(count >= 0 && count <= static_cast<double>(kMostOnnxValues))) return std::nullopt;
  const auto elements = static_cast<std::size_t>(count);
  std::vector<double> values;
  if (!payload.raw.empty()) {
    const auto size = static_cast<std::size_t>(onnx_element_bits(tensor.element_type)) / 8;
    if (size == 0 || payload.raw.size() != elements * size) return std::nullopt;
    for (std::size_t i = 0; i < elements; ++i) {
      const auto number = raw_number(payload.raw.substr(i * size, size), tensor.element_type);
      if (!number) return std::nullopt;
      values.push_back(*number);
    }
  } else if (!payload.integers.empty()) {
    values.assign(payload.integers.begin(), payload.integers.end());
  } else if (!payload.floats.empty()) {
    values.assign(payload.floats.begin(), payload.floats.end());
  } else {
    values = payload.doubles;
  }
  if (values.size() != elements) return std::nullopt;
  return values;
}

OnnxTensor read_tensor(ProtobufReader reader) {
  OnnxTensor tensor;
  Payload payload;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        reader.append_integers(tensor.dimensions, kMostListEntries);
        break;
      case 2:
        tensor.element_type = static_cast<int>(reader.integer());
        break;
      case 4:
        reader.append_floats(payload.floats, kMostOnnxValues);
        break;
      case 5:   // int32_data
      case 7:   // int64_data
      case 11:  // uint64_data
        reader.append_integers(payload.integers, kMostOnnxValues);
        break;
      case 8:
        tensor.name = reader.text();
        break;
      case 9:
        payload.raw = reader.bytes();
        break;
      case 10:
        reader.append_doubles(payload.doubles, kMostOnnxValues);
        break;
      default:
        break;
    }
  }
  for (std::int64_t extent : tensor.dimensions) {
    if (extent < 0) reader.fail("tensor '" + tensor.name + "' has a negative dimension");
  }
  tensor.values = numbers_of(tensor, payload);
  return tensor;
}

// SparseTensorProto: its dense shape and the type of its values.
OnnxTensor read_sparse_tensor(ProtobufReader reader) {
  OnnxTensor tensor;
  while (reader.next()) {
    if (reader.field() == 1) {
      OnnxTensor values = read_tensor(reader.message());
      tensor.name = values.name;
      tensor.element_type = values.element_type;
    } else if (reader.field() == 3) {
      reader.append_integers(tensor.dimensions, kMostListEntries);
    }
  }
  for (std::int64_t extent : tensor.dimensions) {
    if (extent < 0) reader.fail("tensor '" + tensor.name + "' has a negative dimension");
  }
  return tensor;
}

std::pair<std::string, OnnxAttribute> read_attribute(ProtobufReader reader) {
  std::string name;
  OnnxAttribute attribute;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        name = reader.text();
        break;
      case 2:
        attribute.number = reader.float32();
        break;
      case 3:
        attribute.integer = reader.integer();
        break;
      case 4:
        attribute.text = std::string(reader.bytes());
        break;
      case 5:
        attribute.tensor = read_tensor(reader.message());
        break;
      case 6:
      case 11:
        attribute.has_graph = true;
        break;
      case 7:
        reader.append_floats(attribute.numbers, kMostListEntries);
        break;
      case 8:
        reader.append_integers(attribute.integers, kMostListEntries);
        break;
      default:
        break;
    }
  }
  return {std::move(name), std::move(attribute)};
}

OnnxNode read_node(ProtobufReader reader) {
  OnnxNode node;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        node.inputs.push_back(reader.text());
        break;
      case 2:
        node.outputs.push_back(reader.text());
        break;
      case 3:
        node.name = reader.text();
        break;
      case 4:
        node.operator_type = reader.text();
        break;
      case 5:
        node.attributes.insert(read_attribute(reader.message()));
        break;
      case 7:
        node.domain = reader.text();
        break;
      default:
        break;
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

std::vector<OnnxDimension> read_shape(ProtobufReader reader) {
  std::vector<OnnxDimension> dimensions;
  while (reader.next()) {
    if (reader.field() != 1) continue;
    OnnxDimension& dimension = dimensions.emplace_back();
    ProtobufReader inner = reader.message();
    while (inner.next()) {
      if (inner.field() == 1) {
        // -1 is how some exporters write "any".
        if (inner.integer() >= 0) dimension.size = inner.integer();
      } else if (inner.field() == 2) {
        dimension.symbol = inner.text();
      }
    }
  }
  return dimensions;
}

OnnxValue read_value(ProtobufReader reader) {
  OnnxValue value;
  while (reader.next()) {
    if (reader.field() == 1) value.name = reader.text();
    if (reader.field() != 2) continue;
    ProtobufReader type = reader.message();
    while (type.next()) {
      if (type.field() != 1) continue;  // sequences, maps and optionals are no tensors
      ProtobufReader tensor = type.message();
      while (tensor.next()) {
        if (tensor.field() == 1) value.element_type = static_cast<int>(tensor.integer());
        if (tensor.field() == 2) value.dimensions = read_shape(tensor.message());
      }
    }
  }
  return value;
}

void read_graph(ProtobufReader reader, OnnxModel& model) {
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        model.nodes.push_back(read_node(reader.message()));
        break;
      case 2:
        model.graph_name = reader.text();
        break;
      case 5:
        model.initializers.push_back(read_tensor(reader.message()));
        break;
      case 11:
        model.inputs.push_back(read_value(reader.message()));
        break;
      case 12:
        model.outputs.push_back(read_value(reader.message()));
        break;
      case 13:
        model.values.push_back(read_value(reader.message()));
        break;
      case 15:
        model.initializers.push_back(read_sparse_tensor(reader.message()));
        break;
      default:
        break;
    }
  }
}

}  // namespace

int onnx_element_bits(int element_type) {
  switch (element_type) {
    case kUint8:
    case kInt8:
    case kBool:
    case 17:  // the FLOAT8 types
    case 18:
    case 19:
    case 20:
      return 8;
    case kUint16:
    case kInt16:
    case 10:  // FLOAT16
    case 16:  // BFLOAT16
      return 16;
    case kFloat:
    case kInt32:
    case kUint32:
      return 32;
    case kInt64:
    case kDouble:
    case kUint64:
    case 14:  // COMPLEX64
      return 64;
    case 15:  // COMPLEX128
      return 128;
    case 21:  // UINT4
    case 22:  // INT4
    case 23:  // FLOAT4E2M1
      return 4;
    default:
      return 0;
  }
}

OnnxModel parse_onnx(std::string_view content, const ImportReport& report) {
  OnnxModel model;
  ProtobufReader reader(content, 0, report);
  bool has_graph = false;
  while (reader.next()) {
    if (reader.field() != 7) continue;
    read_graph(reader.message(), model);
    has_graph = true;
  }
  if (!has_graph) report.fail({}, "graph", "is missing; this is no ONNX model");
  return model;
}

}  // namespace doppler
