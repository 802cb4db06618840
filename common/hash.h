// A 64-bit content hash (FNV-1a), the same on every machine. It finds damage and mix-ups; it is no
// protection against somebody who forges content.
#ifndef DOPPLER_COMMON_HASH_H_
#define DOPPLER_COMMON_HASH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace doppler {

class Hasher {
 public:
  void add_bytes(std::span<const std::byte> bytes) {
    for (std::byte b : bytes) {
      state_ = (state_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3ULL;
    }
  }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    add_bytes(std::as_bytes(std::span(text.data(), text.size())));
  }
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      state_ = (state_ ^ ((value >> shift) & 0xff)) * 0x100000001b3ULL;
    }
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  std::uint64_t digest() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

inline std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add_bytes(bytes);
  return hasher.digest();
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_HASH_H_
