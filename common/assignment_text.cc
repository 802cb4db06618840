#include "common/assignment_text.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"
#include "common/text_check.h"

namespace doppler {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::size_t skip_blanks(std::string_view text, std::size_t position) {
  while (position < text.size() && is_blank(text[position])) ++position;
  return position;
}

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (char c : text.substr(0, 20)) {
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return quoted + (text.size() > 20 ? "...'" : "'");
}

class LineParser {
 public:
  LineParser(std::string_view text, std::string place, std::size_t operation_count,
             int device_count)
      : text_(text),
        place_(std::move(place)),
        operation_count_(operation_count),
        device_count_(device_count) {}

  Assignment parse() const {
    Assignment assignment;
    std::size_t position = skip_blanks(text_, 0);
    while (true) {
      assignment.push_back(parse_device(position, assignment.size()));
      position = skip_blanks(text_, position);
      if (position == text_.size()) break;
      if (text_[position] != ',') {
        fail(position, "expected ',' between device ids, found " + quote(text_.substr(position)));
      }
      position = skip_blanks(text_, position + 1);
    }
    if (assignment.size() != operation_count_) {
      fail(0, "there are " + std::to_string(assignment.size()) + " device ids, but the graph has " +
                  std::to_string(operation_count_) +
                  " operations; give one id for each (inputs have none)");
    }
    return assignment;
  }

 private:
  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    throw FormatError(place_ + ":" + std::to_string(position + 1) + ": " + what);
  }

  // The id at `position`, which moves behind it.
  DeviceId parse_device(std::size_t& position, std::size_t operation) const {
    const std::string subject = "operation " + std::to_string(operation) + ": ";
    const std::string_view rest = text_.substr(position);
    const std::string_view word = rest.substr(0, rest.find_first_of(", \t"));
    if (word.empty()) {
      fail(position, subject + "expected a device id, found " +
                         (rest.empty() ? "the end of the line" : quote(rest)));
    }
    std::int32_t value = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool number = result.ptr == word.data() + word.size() &&
                        (result.ec == std::errc() || result.ec == std::errc::result_out_of_range);
    if (!number || (word.size() > 1 && word.front() == '0') || word == "-0") {
      fail(position, subject + "expected a device id, found " + quote(word));
    }
    if (result.ec != std::errc() || value < 0 || value >= device_count_) {
      fail(position, subject + "device " + std::string(word.substr(0, 20)) +
                         " does not exist; there are " + std::to_string(device_count_) +
                         ", so ids lie in 0.." + std::to_string(device_count_ - 1));
    }
    position += word.size();
    return DeviceId(value);
  }

  const std::string_view text_;
  const std::string place_;  // "file:line"
  const std::size_t operation_count_;
  const int device_count_;
};

// The array "assignment" of an object that one of the programs wrote; the rest of it is not read.
Assignment parse_object(std::string_view text, const std::string& file, std::size_t operation_count,
                        int device_count) {
  constexpr std::string_view kKey = "\"assignment\"";
  constexpr std::string_view kBlank = " \t\r\n";
  std::size_t begin = text.find(kKey);
  if (begin != std::string_view::npos) begin = text.find_first_not_of(kBlank, begin + kKey.size());
  if (begin != std::string_view::npos && text[begin] == ':') {
    begin = text.find_first_not_of(kBlank, begin + 1);
  }
  const std::size_t end = begin == std::string_view::npos ? begin : text.find(']', begin);
  if (end == std::string_view::npos || text[begin] != '[') {
    throw FormatError(file +
                      ":1:1: an object without an array \"assignment\" of device ids; give what "
                      "train, assign or baseline wrote, or the ids in a line, as in 0,1,0,3");
  }
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  std::string ids(text.substr(begin + 1, end - begin - 1));
  std::replace_if(
      ids.begin(), ids.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return LineParser(ids, file + ":" + std::to_string(line), operation_count, device_count).parse();
}

}  // namespace

std::vector<Assignment> parse_assignments(std::string_view text, const std::string& file,
                                          std::size_t operation_count, int device_count) {
  if (has_byte_order_mark(text)) {
    throw FormatError(file + ":1:1: begins with a byte order mark; save it without");
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return {parse_object(text, file, operation_count, device_count)};
  }
  std::vector<Assignment> assignments;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (skip_blanks(line, 0) == line.size() || line.front() == '#') continue;
    const std::string place = file + ":" + std::to_string(line_number);
    assignments.push_back(LineParser(line, place, operation_count, device_count).parse());
  }
  if (assignments.empty()) {
    throw FormatError(file + ":1:1: holds no assignment; give one a line, as in 0,1,0,3");
  }
  return assignments;
}

std::string format_assignment(const Assignment& assignment) {
  std::string text;
  for (DeviceId device : assignment) {
    if (!text.empty()) text += ",";
    text += std::to_string(device.value());
  }
  return text;
}

}  // namespace doppler
