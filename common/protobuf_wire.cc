#include "common/protobuf_wire.h"

#include <algorithm>
#include <bit>

#include "common/text_check.h"

namespace doppler {

void ProtobufReader::fail(const std::string& what) const {
  report_->fail({}, "byte " + std::to_string(offset_ + field_start_), what);
}

std::uint64_t ProtobufReader::read_varint(std::size_t& position) const {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position == bytes_.size()) fail("the file ends within a number; it may be cut off");
    const auto byte = static_cast<unsigned char>(bytes_[position++]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number is longer than 10 bytes; this is no protocol buffer");
}

bool ProtobufReader::next() {
  if (position_ == bytes_.size()) return false;
  field_start_ = position_;
  const std::uint64_t tag = read_varint(position_);
  const std::uint64_t number = tag >> 3;
  constexpr std::uint64_t kLargestField = (1U << 29) - 1;
  if (number == 0 || number > kLargestField) {
    fail("field number " + std::to_string(number) + " is not possible; this is no protocol buffer");
  }
  field_ = static_cast<std::uint32_t>(number);
  std::uint64_t size = 0;
  switch (tag & 7) {
    case 0:
      type_ = Type::kVarint;
      varint_ = read_varint(position_);
      return true;
    case 1:
      type_ = Type::kFixed64;
      size = 8;
      break;
    case 2:
      type_ = Type::kBytes;
      size = read_varint(position_);
      break;
    case 5:
      type_ = Type::kFixed32;
      size = 4;
      break;
    default:
      fail("wire type " + std::to_string(tag & 7) + " is not known; this is no protocol buffer");
  }
  if (size > bytes_.size() - position_) {
    fail("field " + std::to_string(field_) + " has " + std::to_string(size) + " bytes, but only " +
         std::to_string(bytes_.size() - position_) + " follow; the file may be cut off");
  }
  payload_start_ = position_;
  payload_size_ = static_cast<std::size_t>(size);
  position_ += payload_size_;
  return true;
}

void ProtobufReader::expect(Type type, const std::string& name) const {
  if (type_ != type) {
    fail("field " + std::to_string(field_) + " should be " + name + ", but has wire type " +
         std::to_string(static_cast<int>(type_)));
  }
}

std::uint64_t ProtobufReader::fixed(std::size_t start, std::size_t size) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[start + i])) << (8 * i);
  }
  return value;
}

std::int64_t ProtobufReader::integer() const {
  expect(Type::kVarint, "an integer");
  return static_cast<std::int64_t>(varint_);
}

float ProtobufReader::float32() const {
  expect(Type::kFixed32, "a float");
  return std::bit_cast<float>(static_cast<std::uint32_t>(fixed(payload_start_, 4)));
}

std::string_view ProtobufReader::bytes() const {
  expect(Type::kBytes, "a string or a message");
  return bytes_.substr(payload_start_, payload_size_);
}

std::string ProtobufReader::text() const {
  const std::string_view value = bytes();
  if (find_bad_text(value)) {
    fail("field " + std::to_string(field_) + " should be text, but holds " + quote(value));
  }
  return std::string(value);
}

ProtobufReader ProtobufReader::message() const {
  return {bytes(), offset_ + payload_start_, *report_};
}

void ProtobufReader::append_integers(std::vector<std::int64_t>& values, std::size_t most) const {
  if (type_ == Type::kVarint) {
    if (values.size() < most) values.push_back(static_cast<std::int64_t>(varint_));
    return;
  }
  expect(Type::kBytes, "a list of integers");
  std::size_t position = payload_start_;
  const std::size_t end = payload_start_ + payload_size_;
  while (position < end && values.size() < most) {
    const std::uint64_t value = read_varint(position);
    if (position > end) fail("a number reaches beyond its list");
    values.push_back(static_cast<std::int64_t>(value));
  }
}

void ProtobufReader::append_floats(std::vector<float>& values, std::size_t most) const {
  if (type_ != Type::kFixed32) {
    expect(Type::kBytes, "a list of floats");
    if (payload_size_ % 4 != 0) fail("a list of floats is cut off");
  }
  for (std::size_t i = 0; i + 4 <= payload_size_ && values.size() < most; i += 4) {
    values.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>(fixed(payload_start_ + i, 4))));
  }
}

void ProtobufReader::append_doubles(std::vector<double>& values, std::size_t most) const {
  if (type_ != Type::kFixed64) {
    expect(Type::kBytes, "a list of doubles");
    if (payload_size_ % 8 != 0) fail("a list of doubles is cut off");
  }
  for (std::size_t i = 0; i + 8 <= payload_size_ && values.size() < most; i += 8) {
    values.push_back(std::bit_cast<double>(fixed(payload_start_ + i, 8)));
  }
}

}  // namespace doppler
