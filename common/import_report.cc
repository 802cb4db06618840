#include "common/import_report.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/text_check.h"

namespace doppler {

Place place_at(std::string_view content, std::size_t offset) {
  const std::string_view before = content.substr(0, offset);
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n');
  return {.line = lines + 1,
          .column = line_start == std::string_view::npos ? before.size() + 1
                                                         : before.size() - line_start};
}

void ImportReport::fail(Place place, const std::string& field, const std::string& what) const {
  std::string text = file_ + ": ";
  if (place.line > 0) {
    text = file_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
  }
  throw FormatError(text + (field.empty() ? what : field + ": " + what));
}

void ImportReport::warn(Place place, std::string text) {
  warnings_.push_back({.line = place.line, .column = place.column, .text = std::move(text)});
}

void ImportReport::check_text(std::string_view content) const {
  if (content.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    fail({1, 1}, "file", "is empty; nothing can be placed");
  }
  if (has_byte_order_mark(content)) {
    fail({1, 1}, "file", "begins with a byte order mark; save it without");
  }
  if (const auto bad = find_bad_text(content)) {
    fail(place_at(content, *bad), "file",
         "byte " + quote(content.substr(*bad, 1)) +
             " is no text (UTF-8); save the file as text, or choose its format with --format");
  }
}

std::vector<Warning> ImportReport::take_warnings() {
  std::stable_sort(warnings_.begin(), warnings_.end(), [](const Warning& a, const Warning& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return std::exchange(warnings_, {});
}

}  // namespace doppler
