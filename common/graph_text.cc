#include "common/graph_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/text_check.h"
#include "common/text_file.h"

namespace doppler {
namespace {

constexpr std::int64_t kMaxNodeCount = std::numeric_limits<std::int32_t>::max();

// A list entry and where it stands.
struct Entry {
  std::int64_t value;
  std::size_t column;  // from 1
};

// A separator that is not ", ", in front of entry `next`.
struct IrregularSeparator {
  std::size_t column;  // from 1
  std::size_t next;    // index of the entry behind it
  std::string text;
};

struct List {
  std::vector<Entry> entries;
  std::vector<IrregularSeparator> irregular;
  std::size_t separator_count = 0;  // between entries
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  Reader(std::string_view text, std::string file) : file_(std::move(file)) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    while (!lines_.empty() && is_blank(lines_.back())) lines_.pop_back();
  }

  GraphText read() {
    if (lines_.empty()) {
      fail(1, 1, "file", "is empty; expected the number of nodes on its first line");
    }
    if (has_byte_order_mark(lines_.front())) {
      fail(1, 1, "file", "begins with a byte order mark; save it without");
    }
    const std::int64_t node_count = read_node_count();
    const std::int64_t input_count = read_inputs(node_count);
    const std::int64_t operation_count = node_count - input_count;

    GraphBuilder builder(std::filesystem::path(file_).stem().string(), CostUnit::kDurations);
    builder.set_input_count(static_cast<std::size_t>(input_count));
    read_edges(operation_count, builder);
    read_costs(node_count, input_count, builder);
    std::stable_sort(warnings_.begin(), warnings_.end(), [](const Warning& a, const Warning& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    try {
      return {.graph = builder.build(), .warnings = std::move(warnings_)};
    } catch (const FormatError& error) {
      fail(3, 1, "edges", error.what());
    }
  }

 private:
  static bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
  }

  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& field,
                         const std::string& what) const {
    throw FormatError(file_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                      field + ": " + what);
  }

  void warn(std::size_t line, std::size_t column, std::string text) {
    warnings_.push_back({.line = line, .column = column, .text = std::move(text)});
  }

  std::string_view line(std::size_t number, const std::string& field) const {
    if (number > lines_.size()) {
      fail(number, 1, field,
           "is missing; the file ends after line " + std::to_string(lines_.size()) +
               ", so it may be cut off");
    }
    return lines_[number - 1];
  }

  // The non-negative integer at `position`, which moves behind it. Digits only: a sign, a fraction,
  // an exponent or a leading zero in a file of counts is damage.
  std::int64_t read_number(std::size_t line_number, std::size_t& position, std::int64_t largest,
                           const std::string& field) const {
    const std::string_view text = lines_[line_number - 1];
    const std::size_t column = position + 1;
    std::size_t end = position;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == position) {
      if (position == text.size()) {
        fail(line_number, column, field, "is missing at the end of the line; expected an integer");
      }
      if (text[position] == '-') {
        fail(line_number, column, field,
             "must not be negative, but stands as " + quote(token(text, position)));
      }
      fail(line_number, column, field,
           "expected an integer, found " + quote(token(text, position)));
    }
    const std::string_view digits = text.substr(position, end - position);
    if (end < text.size() && std::string_view(".eExX").find(text[end]) != std::string_view::npos) {
      fail(line_number, column, field,
           "must be an integer in plain digits, but stands as " + quote(token(text, position)));
    }
    if (digits.size() > 1 && digits.front() == '0') {
      fail(line_number, column, field,
           quote(digits) + " has a leading zero; write it without, if no digit is missing");
    }
    std::int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc() || value > largest) {
      fail(line_number, column, field,
           quote(digits) + " is too large; the largest possible value is " +
               std::to_string(largest));
    }
    position = end;
    return value;
  }

  static std::string_view token(std::string_view text, std::size_t position) {
    return text.substr(position, text.substr(position).find_first_of(", \t"));
  }

  std::int64_t read_node_count() const {
    const std::string field = "number of nodes";
    const std::string_view text = line(1, field);
    std::size_t position = 0;
    const std::int64_t count = read_number(1, position, kMaxNodeCount, field);
    if (position != text.size()) {
      fail(1, position + 1, field,
           "expected the end of the line, found " + quote(text.substr(position)));
    }
    if (count == 0) fail(1, 1, field, "is 0; nothing can be placed");
    return count;
  }

  List read_list(std::size_t line_number, const std::string& field, std::int64_t largest) const {
    const std::string_view text = line(line_number, field);
    List list;
    std::size_t position = 0;
    while (position < text.size()) {
      const std::size_t column = position + 1;
      if (is_blank(text.substr(position))) {
        if (list.entries.empty()) break;  // an empty list
        fail(line_number, column, field, "expected an integer, found only blanks");
      }
      const std::int64_t value = read_number(line_number, position, largest, field);
      list.entries.push_back({.value = value, .column = column});
      if (position == text.size()) break;

      const std::size_t begin = position;
      while (position < text.size() && (text[position] == ' ' || text[position] == '\t')) {
        ++position;
      }
      const bool comma = position < text.size() && text[position] == ',';
      if (!comma) {
        fail(line_number, begin + 1, field,
             "expected ', ' between entries, found " + quote(text.substr(begin, 8)));
      }
      ++position;
      while (position < text.size() && (text[position] == ' ' || text[position] == '\t')) {
        ++position;
      }
      const std::string_view separator = text.substr(begin, position - begin);
      if (position == text.size()) break;  // a separator behind the last entry
      ++list.separator_count;
      if (separator != ", ") {
        list.irregular.push_back(
            {.column = begin + 1, .next = list.entries.size(), .text = std::string(separator)});
      }
    }
    return list;
  }

  // `subject(i)` says what entry i is, for a reader who has to find out whether it is damaged.
  template <typename Subject>
  void report_separators(std::size_t line_number, const std::string& field, const List& list,
                         const Subject& subject) {
    const auto& irregular = list.irregular;
    if (irregular.size() >= 3 && irregular.size() == list.separator_count) {
      warn(line_number, irregular.front().column,
           field + ": no separator on this line is the format's ', ', from " +
               quote(irregular.front().text) + " in front of " + subject(irregular.front().next) +
               " on; check that the line was not altered");
      return;
    }
    for (const IrregularSeparator& separator : irregular) {
      warn(line_number, separator.column,
           field + ": irregular separator " + quote(separator.text) +
               " instead of ', ' in front of " + subject(separator.next) +
               "; characters may be lost, check it against the source");
    }
  }

  std::int64_t read_inputs(std::int64_t node_count) {
    const std::string field = "input ids";
    const List list = read_list(2, field, kMaxNodeCount);
    std::unordered_map<std::int64_t, std::size_t> first_column;
    for (const Entry& entry : list.entries) {
      if (entry.value >= node_count) {
        fail(2, entry.column, field,
             std::to_string(entry.value) + " is out of range; line 1 says " +
                 std::to_string(node_count) + " nodes, so ids lie in 0.." +
                 std::to_string(node_count - 1));
      }
      const auto [at, is_new] = first_column.emplace(entry.value, entry.column);
      if (!is_new) {
        fail(2, entry.column, field,
             std::to_string(entry.value) + " stands twice, first in column " +
                 std::to_string(at->second) + "; remove one, the number of inputs counts");
      }
    }
    report_separators(2, field, list, [&](std::size_t i) {
      return "input " + std::to_string(list.entries[i].value);
    });
    const auto count = static_cast<std::int64_t>(list.entries.size());
    if (count == node_count) {
      fail(2, 1, field,
           "all " + std::to_string(node_count) +
               " nodes of line 1 are inputs; no operation remains");
    }
    return count;
  }

  void read_edges(std::int64_t operation_count, GraphBuilder& builder) {
    const List sources = read_list(3, "edge sources", kMaxNodeCount);
    const List destinations = read_list(4, "edge destinations", kMaxNodeCount);
    if (sources.entries.size() != destinations.entries.size()) {
      fail(4, 1, "edge destinations",
           "there are " + std::to_string(destinations.entries.size()) + " for " +
               std::to_string(sources.entries.size()) +
               " sources on line 3; both lines must have one entry per edge");
    }
    const auto check_range = [&](std::size_t line_number, const Entry& entry,
                                 const std::string& field) {
      if (entry.value < operation_count) return;
      fail(line_number, entry.column, field,
           std::to_string(entry.value) + " is out of range; " + std::to_string(operation_count) +
               " operations (nodes of line 1 less inputs of line 2) have ids 0.." +
               std::to_string(operation_count - 1));
    };
    std::unordered_map<std::int64_t, std::size_t> first_column;  // of (source, destination)
    for (std::size_t i = 0; i < sources.entries.size(); ++i) {
      const Entry& source = sources.entries[i];
      const Entry& destination = destinations.entries[i];
      check_range(3, source, "edge sources");
      check_range(4, destination, "edge destinations");
      const std::string text = describe_edge(source, destination);
      if (source.value == destination.value) {
        fail(4, destination.column, "edge destinations",
             text + " feeds itself; a dataflow graph must not");
      }
      builder.add_edge({.source = OperationId(static_cast<std::int32_t>(source.value)),
                        .destination = OperationId(static_cast<std::int32_t>(destination.value)),
                        .bytes = {}});
      const auto [at, is_new] =
          first_column.emplace((source.value << 32) | destination.value, destination.column);
      if (!is_new) {
        warn(4, destination.column,
             "edge destinations: parallel " + text + ", first in column " +
                 std::to_string(at->second) + ", is merged into that one");
      }
    }
    const auto subject = [&](std::size_t i) {
      return describe_edge(sources.entries[i], destinations.entries[i]);
    };
    report_separators(3, "edge sources", sources, subject);
    report_separators(4, "edge destinations", destinations, subject);
  }

  static std::string describe_edge(const Entry& source, const Entry& destination) {
    return "edge " + std::to_string(source.value) + " -> " + std::to_string(destination.value);
  }

  void read_costs(std::int64_t node_count, std::int64_t input_count, GraphBuilder& builder) const {
    constexpr std::size_t kFirstLine = 5;
    const auto expected = static_cast<std::size_t>(node_count - input_count);
    const std::string counts = std::to_string(node_count) + " nodes on line 1 less " +
                               std::to_string(input_count) + " inputs on line 2 make " +
                               std::to_string(expected) + " cost lines";
    const std::size_t found = lines_.size() < kFirstLine ? 0 : lines_.size() - kFirstLine + 1;
    for (std::size_t i = 0; i < std::min(expected, found); ++i) {
      builder.add_operation(read_cost(kFirstLine + i, i));
    }
    if (found < expected) {
      fail(lines_.size() + 1, 1, "costs",
           counts + ", but the file ends after " + std::to_string(found) +
               "; it may be cut off, or line 1 or 2 may be wrong");
    }
    if (found > expected) {
      fail(kFirstLine + expected, 1, "costs",
           counts + ", but more follows: " + quote(lines_[kFirstLine + expected - 1]) +
               "; remove it, or correct line 1 or 2");
    }
  }

  Operation read_cost(std::size_t line_number, std::size_t operation) const {
    const std::string prefix = "operation " + std::to_string(operation) + ": ";
    const std::string_view text = lines_[line_number - 1];
    if (is_blank(text)) {
      fail(line_number, 1, prefix + "costs", "the line is blank; expected compute,transfer[,type]");
    }
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    std::size_t position = 0;
    Operation result;
    result.compute_time = SimTime(read_number(line_number, position, kLargest, prefix + "compute"));
    if (position == text.size() || text[position] != ',') {
      fail(line_number, position + 1, prefix + "compute",
           "expected ',' and the transfer cost behind it, found " + quote(text.substr(position)));
    }
    ++position;
    result.transfer_time =
        SimTime(read_number(line_number, position, kLargest, prefix + "transfer"));
    if (position == text.size()) return result;
    if (text[position] != ',') {
      fail(
          line_number, position + 1, prefix + "transfer",
          "expected ',' and a type, or the end of the line, found " + quote(text.substr(position)));
    }
    ++position;
    const std::string_view kind = text.substr(position);
    if (kind.empty()) {
      fail(line_number, position + 1, prefix + "type",
           "is empty; name the type or leave out the last ','");
    }
    const auto* const bad = std::find_if(kind.begin(), kind.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte <= 0x20 || byte == 0x7f || c == ',';
    });
    if (bad != kind.end()) {
      const auto offset = static_cast<std::size_t>(bad - kind.begin());
      fail(line_number, position + offset + 1, prefix + "type",
           "expected one word and the end of the line, found " + quote(kind.substr(offset)) +
               " behind it");
    }
    result.kind = std::string(kind);
    return result;
  }

  std::string file_;
  std::vector<std::string_view> lines_;  // without line ends and without blank lines at the end
  std::vector<Warning> warnings_;
};

}  // namespace

GraphText parse_graph_text(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

GraphText load_graph_text(const std::string& path) {
  return parse_graph_text(read_text_file(path), input_name(path));
}

std::string describe(const Warning& warning, const std::string& file) {
  if (warning.line == 0) return file + ": warning: " + warning.text;
  return file + ":" + std::to_string(warning.line) + ":" + std::to_string(warning.column) +
         ": warning: " + warning.text;
}

}  // namespace doppler
