// The wire format of protocol buffers, read field by field. Every length and every integer is
// checked against the bytes that are there; nothing is copied.
//
// Reference: the encoding guide of protocol buffers. Groups (wire types 3 and 4) are refused: no
// current schema has them.
#ifndef DOPPLER_COMMON_PROTOBUF_WIRE_H_
#define DOPPLER_COMMON_PROTOBUF_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/import_report.h"

namespace doppler {

// One message. The bytes and the report must outlive it.
//
//   while (reader.next()) {
//     if (reader.field() == 1) name = reader.text();
//   }
//
// A field that is not read is skipped. Reading a field as what it is not is a FormatError that
// names the byte.
class ProtobufReader {
 public:
  // `bytes` begin at `offset` of the file.
  ProtobufReader(std::string_view bytes, std::size_t offset, const ImportReport& report)
      : bytes_(bytes), offset_(offset), report_(&report) {}

  // Goes to the next field; false at the end.
  bool next();
  std::uint32_t field() const { return field_; }

  std::int64_t integer() const;  // int32, int64, enum, bool
  float float32() const;
  std::string_view bytes() const;
  std::string text() const;  // UTF-8 without NUL
  ProtobufReader message() const;
  // Of a repeated field, packed or not: appends what stands here, at most until `values` holds
  // `most` (the rest is passed over).
  void append_integers(std::vector<std::int64_t>& values, std::size_t most) const;
  void append_floats(std::vector<float>& values, std::size_t most) const;
  void append_doubles(std::vector<double>& values, std::size_t most) const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint64_t read_varint(std::size_t& position) const;
  void expect(Type type, const std::string& name) const;
  std::uint64_t fixed(std::size_t start, std::size_t size) const;

  std::string_view bytes_;
  std::size_t offset_;
  const ImportReport* report_;
  std::size_t position_ = 0;     // behind the current field
  std::size_t field_start_ = 0;  // of its tag
  std::uint32_t field_ = 0;
  Type type_ = Type::kVarint;
  std::uint64_t varint_ = 0;       // kVarint
  std::size_t payload_start_ = 0;  // all others
  std::size_t payload_size_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_PROTOBUF_WIRE_H_
