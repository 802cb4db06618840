// JSON from outside, read strictly: JsonField is a value together with the path that leads to it
// ("/nodes/3/id"), so that every complaint names its place.
#ifndef DOPPLER_COMMON_JSON_FIELD_H_
#define DOPPLER_COMMON_JSON_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/import_report.h"

namespace doppler {

// The document in `content`. Refuses, with line and column, what is no JSON, a key that stands
// twice in one object, and nesting beyond 64 levels.
nlohmann::json parse_strict_json(std::string_view content, const ImportReport& report);

// A view; the document and the report must outlive it.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string path, const ImportReport& report)
      : value_(&value), path_(std::move(path)), report_(&report) {}

  const std::string& path() const { return path_; }

  // A member that must be there, or may be (null counts as absent). The field must be an object.
  JsonField at(const std::string& key) const;
  std::optional<JsonField> find(const std::string& key) const;
  // Refuses members other than these.
  void only(std::initializer_list<std::string_view> keys) const;
  // The elements of an array; members of an object in the order of their keys.
  std::vector<JsonField> elements() const;

  std::string text() const;
  std::string text_or_integer() const;  // ids are either; as text
  bool truth() const;                   // true, false, 1 or 0
  std::int64_t integer() const;         // 5.0 is one as well
  std::int64_t integer_in(std::int64_t least, std::int64_t largest) const;
  double number() const;
  double not_negative() const;
  std::int64_t bytes() const;  // 0..2^62, rounded up

  // Throws FormatError "file: path: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string describe() const;

  const nlohmann::json* value_;
  std::string path_;
  const ImportReport* report_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_JSON_FIELD_H_
