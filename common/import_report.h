// Errors and warnings of one file, all told in the same way.
#ifndef DOPPLER_COMMON_IMPORT_REPORT_H_
#define DOPPLER_COMMON_IMPORT_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/graph_text.h"

namespace doppler {

// A place in a text; both count from 1, the column in bytes. {0, 0}: the file as a whole.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};

// Where byte `offset` of `content` stands.
Place place_at(std::string_view content, std::size_t offset);

class ImportReport {
 public:
  explicit ImportReport(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // Throws FormatError "file:line:column: field: what", without line and column for the file as a
  // whole.
  [[noreturn]] void fail(Place place, const std::string& field, const std::string& what) const;
  void warn(Place place, std::string text);
  // Refuses a content that is empty or no text, at the place of the first bad byte.
  void check_text(std::string_view content) const;

  // What was warned of, by place.
  std::vector<Warning> take_warnings();

 private:
  std::string file_;
  std::vector<Warning> warnings_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_REPORT_H_
