// Writing and reading of plain values in a fixed little-endian layout, for messages between
// processes. The reader never throws and never reads past the end: after the first short read
// everything is zero and ok() is false.
#ifndef DOPPLER_COMMON_BYTE_STREAM_H_
#define DOPPLER_COMMON_BYTE_STREAM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace doppler {

static_assert(std::endian::native == std::endian::little, "messages are written little-endian");

class ByteWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    append(&value, sizeof(T));
  }
  // A count and the elements.
  template <typename T>
  void put_array(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size_bytes());
  }
  template <typename T>
  void put_array(const std::vector<T>& values) {
    put_array(std::span<const T>(values));
  }
  void put_text(const std::string& text) {
    put_array(std::span<const char>(text.data(), text.size()));
  }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  void append(const void* data, std::size_t size);

  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T get() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    take(&value, sizeof(T));
    return value;
  }
  template <typename T>
  void get_array(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto count = get<std::uint64_t>();
    if (!ok_ || count > rest_.size() / sizeof(T)) {
      fail();
      values.clear();
      return;
    }
    values.resize(count);
    take(values.data(), count * sizeof(T));
  }
  std::string get_text() {
    std::vector<char> text;
    get_array(text);
    return {text.begin(), text.end()};
  }

  bool ok() const { return ok_; }
  std::size_t rest() const { return rest_.size(); }
  // Everything was read and nothing was missing.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  void take(void* to, std::size_t size) {
    if (!ok_ || size > rest_.size()) {
      fail();
      return;
    }
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_BYTE_STREAM_H_
