#include "common/text_check.h"

#include <array>
#include <charconv>
#include <cmath>

namespace doppler {
namespace {

// How many bytes the UTF-8 sequence at the front of `text` takes; 0 if it is none. Overlong forms,
// surrogates and what lies beyond U+10FFFF are none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90;
    const bool beyond = first == 0xf4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string quote(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::size_t kShown = 40;
  std::string quoted = "'";
  for (char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return quoted + (text.size() > kShown ? "...'" : "'");
}

std::optional<double> parse_decimal(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value + 0.0;  // -0 is 0
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> to_bytes(double value) {
  constexpr double kLargest = 4611686018427387904.0;  // 2^62
  if (!(value >= 0 && value <= kLargest)) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(value));
}

bool has_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf");
}

std::optional<std::size_t> find_bad_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text.substr(i));
    if (length == 0 || text[i] == '\0') return i;
    i += length;
  }
  return std::nullopt;
}

std::string format_decimal(double value) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

}  // namespace doppler
