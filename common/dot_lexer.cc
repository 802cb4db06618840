#include "common/dot_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/text_check.h"

namespace doppler {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace

void DotLexer::fail(std::size_t offset, const std::string& what) const {
  report_->fail(place_at(text_, offset), "DOT", what);
}

void DotLexer::skip_blanks_and_comments() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    const std::string_view rest = text_.substr(position_);
    const bool line_start = position_ == 0 || text_[position_ - 1] == '\n';
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
      ++position_;
    } else if (rest.starts_with("//") || (c == '#' && line_start)) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) fail(position_, "the comment is never closed with */");
      position_ = end + 2;
    } else {
      return;
    }
  }
}

std::string DotLexer::read_quoted() {
  std::string value;
  const std::size_t start = position_++;
  while (position_ < text_.size() && text_[position_] != '"') {
    if (text_[position_] != '\\' || position_ + 1 == text_.size()) {
      value += text_[position_++];
      continue;
    }
    const char escaped = text_[position_ + 1];
    position_ += 2;
    if (escaped == '"') {
      value += '"';
    } else if (escaped != '\n') {  // a backslash in front of a line end joins the lines
      value += {'\\', escaped};
    }
  }
  if (position_ == text_.size()) fail(start, "the string is never closed with \"");
  ++position_;
  return value;
}

std::string DotLexer::read_html() {
  const std::size_t start = position_++;
  std::size_t depth = 1;
  while (position_ < text_.size()) {
    if (text_[position_] == '<') ++depth;
    if (text_[position_] == '>' && --depth == 0) break;
    ++position_;
  }
  if (position_ == text_.size()) fail(start, "the HTML string is never closed with >");
  ++position_;
  return std::string(text_.substr(start + 1, position_ - start - 2));
}

DotToken DotLexer::read_word() {
  static constexpr std::array<std::string_view, 6> kKeywords = {"node",    "edge",     "graph",
                                                                "digraph", "subgraph", "strict"};
  const std::size_t start = position_;
  if (starts_word(text_[start])) {
    while (position_ < text_.size() &&
           (starts_word(text_[position_]) || is_digit(text_[position_]))) {
      ++position_;
    }
    const std::string_view word = text_.substr(start, position_ - start);
    const std::string lower = to_lower(word);
    if (std::find(kKeywords.begin(), kKeywords.end(), lower) != kKeywords.end()) {
      return {.kind = DotToken::Kind::kKeyword, .text = lower, .offset = start};
    }
    return {.kind = DotToken::Kind::kId, .text = std::string(word), .offset = start};
  }
  if (text_[position_] == '-') ++position_;
  bool digits = false;
  bool point = false;
  for (; position_ < text_.size(); ++position_) {
    if (is_digit(text_[position_])) {
      digits = true;
    } else if (text_[position_] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (digits && position_ < text_.size() && starts_word(text_[position_])) {
    // Graphviz reads 1e3 as the two words 1 and e3, which nobody means.
    while (position_ < text_.size() &&
           (starts_word(text_[position_]) || is_digit(text_[position_]))) {
      ++position_;
    }
    fail(start, quote(text_.substr(start, position_ - start)) +
                    " is neither a number nor a name of the DOT language; write it in quotes");
  }
  if (!digits) fail(start, "found " + quote(text_.substr(start, 1)) + ", which begins nothing");
  return {.kind = DotToken::Kind::kId,
          .text = std::string(text_.substr(start, position_ - start)),
          .offset = start};
}

DotToken DotLexer::next() {
  skip_blanks_and_comments();
  const std::size_t start = position_;
  if (start == text_.size()) return {.kind = DotToken::Kind::kEnd, .text = {}, .offset = start};
  const char c = text_[start];
  if (c == '"') {
    std::string value = read_quoted();
    while (true) {  // "a" + "b" is one string
      skip_blanks_and_comments();
      if (position_ == text_.size() || text_[position_] != '+') break;
      const std::size_t plus = position_++;
      skip_blanks_and_comments();
      if (position_ == text_.size() || text_[position_] != '"') {
        fail(plus, "expected another quoted string behind +");
      }
      value += read_quoted();
    }
    return {.kind = DotToken::Kind::kId, .text = std::move(value), .offset = start};
  }
  if (c == '<') return {.kind = DotToken::Kind::kId, .text = read_html(), .offset = start};
  const std::string_view rest = text_.substr(start);
  if (rest.starts_with("->") || rest.starts_with("--")) {
    position_ += 2;
    return {
        .kind = DotToken::Kind::kSymbol, .text = std::string(rest.substr(0, 2)), .offset = start};
  }
  if (std::string_view("{}[]=;,:").find(c) != std::string_view::npos) {
    ++position_;
    return {.kind = DotToken::Kind::kSymbol, .text = std::string(1, c), .offset = start};
  }
  return read_word();
}

}  // namespace doppler
