// The tokens of the DOT language.
#ifndef DOPPLER_COMMON_DOT_LEXER_H_
#define DOPPLER_COMMON_DOT_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "common/import_report.h"

namespace doppler {

struct DotToken {
  enum class Kind { kEnd, kId, kKeyword, kSymbol };
  Kind kind = Kind::kEnd;
  std::string text;  // of an id its value; of a keyword in lower case; of a symbol "{", "->", ...
  std::size_t offset = 0;
};

// Splits a text into tokens, one at a time. The text and the report must outlive it.
class DotLexer {
 public:
  DotLexer(std::string_view text, const ImportReport& report) : text_(text), report_(&report) {}

  DotToken next();

 private:
  void skip_blanks_and_comments();
  std::string read_quoted();
  std::string read_html();
  DotToken read_word();
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const;

  std::string_view text_;
  const ImportReport* report_;
  std::size_t position_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_DOT_LEXER_H_
