#include "common/json_field.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "common/nearest_name.h"
#include "common/text_check.h"

namespace doppler {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepestNesting = 64;
constexpr int kNumberOverflow = 406;  // nlohmann's number of that error

// Builds nothing; looks for what nlohmann's own parser takes without a word.
class StrictScan : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    keys_.emplace_back();
    return deeper();
  }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    problem_ = "key " + quote(key) + " stands twice in one object; remove one";
    return false;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*size*/) override { return deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    if (error.id == kNumberOverflow) {
      position_ = position - token.size() + 1;
      problem_ = "number " + quote(token) + " is out of range; the largest is about 1.8e308";
      return false;
    }
    problem_ = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": the
    // place is told by us.
    const std::size_t column = problem_.find(", column ");
    const std::size_t colon = problem_.find(": ", column == std::string::npos ? 0 : column);
    if (colon != std::string::npos) problem_ = problem_.substr(colon + 2);
    return false;
  }

  const std::string& problem() const { return problem_; }
  std::size_t position() const { return position_; }

 private:
  bool deeper() {
    if (++depth_ <= kDeepestNesting) return true;
    problem_ = "is nested more than " + std::to_string(kDeepestNesting) +
               " levels deep; no graph format is";
    return false;
  }

  std::vector<std::set<std::string>> keys_;
  std::size_t depth_ = 0;
  std::size_t position_ = 0;  // of a syntax error; 0: the problem names itself
  std::string problem_;
};

std::string escape(const std::string& key) {  // RFC 6901
  std::string text;
  for (char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Json parse_strict_json(std::string_view content, const ImportReport& report) {
  report.check_text(content);
  StrictScan scan;
  if (!Json::sax_parse(content, &scan)) {
    if (scan.position() == 0) report.fail({}, "", scan.problem());
    std::string problem;
    for (char c : scan.problem()) problem += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    constexpr std::size_t kLongest = 200;
    if (problem.size() > kLongest) problem = problem.substr(0, kLongest) + "...";
    report.fail(place_at(content, scan.position() - 1), "JSON", problem);
  }
  return Json::parse(content);
}

void JsonField::fail(const std::string& what) const {
  report_->fail({}, path_.empty() ? "/" : path_, what);
}

std::string JsonField::describe() const {
  if (value_->is_object()) return "an object";
  if (value_->is_array()) return "an array";
  return quote(value_->dump());
}

std::optional<JsonField> JsonField::find(const std::string& key) const {
  if (!value_->is_object()) fail("expected an object, found " + describe());
  const auto at = value_->find(key);
  if (at == value_->end() || at->is_null()) return std::nullopt;
  std::optional<JsonField> field;
  field.emplace(*at, path_ + "/" + escape(key), *report_);
  return field;
}

JsonField JsonField::at(const std::string& key) const {
  if (const auto field = find(key)) return *field;
  std::vector<std::string> known;
  for (const auto& [name, unused] : value_->items()) known.push_back(name);
  const std::string near = nearest_name(key, known);
  fail("'" + key + "' is missing" +
       (near.empty() || near == key ? "" : "; is " + quote(near) + " meant?"));
}

void JsonField::only(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) fail("expected an object, found " + describe());
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    fail("key " + quote(key) + " is not known" + suggest_name(key, known));
  }
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) fail("expected an array, found " + describe());
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    fields.emplace_back((*value_)[i], path_ + "/" + std::to_string(i), *report_);
  }
  return fields;
}

std::string JsonField::text() const {
  if (!value_->is_string()) fail("expected a string, found " + describe());
  auto text = value_->get<std::string>();
  if (find_bad_text(text)) fail("must be text without NUL");
  return text;
}

std::string JsonField::text_or_integer() const {
  return value_->is_string() ? text() : std::to_string(integer());
}

bool JsonField::truth() const {
  if (value_->is_boolean()) return value_->get<bool>();
  const bool is_bit = value_->is_number() && (*value_ == 0 || *value_ == 1);
  if (!is_bit) fail("expected true or false (or 1 or 0), found " + describe());
  return *value_ == 1;
}

std::int64_t JsonField::integer() const {
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    fail(describe() + " is too large");
  }
  if (value_->is_number_integer()) return value_->get<std::int64_t>();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const double value = value_->is_number_float() ? value_->get<double>() : NAN;
  if (!(std::abs(value) <= kExact) || value != std::floor(value)) {
    fail("expected an integer, found " + describe());
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t JsonField::integer_in(std::int64_t least, std::int64_t largest) const {
  const std::int64_t value = integer();
  if (value >= least && value <= largest) return value;
  fail("must lie in " + std::to_string(least) + ".." + std::to_string(largest) + ", but is " +
       std::to_string(value));
}

double JsonField::number() const {
  if (!value_->is_number()) fail("expected a number, found " + describe());
  const auto value = value_->get<double>();
  if (!std::isfinite(value)) fail("must be finite");
  return value + 0.0;  // -0 is 0
}

double JsonField::not_negative() const {
  const double value = number();
  if (value < 0) fail("must not be negative, but stands as " + describe());
  return value;
}

std::int64_t JsonField::bytes() const {
  if (const auto value = to_bytes(not_negative())) return *value;
  fail(describe() + " is too large for a number of bytes; the limit is 2^62");
}

}  // namespace doppler
