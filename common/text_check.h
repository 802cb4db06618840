// Small checks of text that people wrote: quoting it in messages, numbers in it, its encoding.
#ifndef DOPPLER_COMMON_TEXT_CHECK_H_
#define DOPPLER_COMMON_TEXT_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doppler {

// The text between single quotes, fit for one line of a message: bytes that are not printable ASCII
// as \xHH, and no more than 40 of them.
std::string quote(std::string_view text);

// The number that the whole of `text` spells in decimal (sign, fraction and exponent allowed);
// nothing if it spells none, or one that is not finite. -0 is 0.
std::optional<double> parse_decimal(std::string_view text);

// The same for an integer in plain digits, with or without a minus sign.
std::optional<std::int64_t> parse_integer(std::string_view text);

// `value` as a count of bytes, rounded up; nothing unless it lies in 0..2^62.
std::optional<std::int64_t> to_bytes(double value);

// Whether it begins with the mark that some editors put in front of UTF-8. No format of ours has
// it.
bool has_byte_order_mark(std::string_view text);

// Where the first byte stands that is no part of well-formed UTF-8 or is NUL.
std::optional<std::size_t> find_bad_text(std::string_view text);

// The shortest decimal that reads back as the same number.
std::string format_decimal(double value);

}  // namespace doppler

#endif  // DOPPLER_COMMON_TEXT_CHECK_H_
