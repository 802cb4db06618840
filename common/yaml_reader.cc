#include "common/yaml_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "common/error.h"
#include "common/nearest_name.h"

namespace doppler {
namespace {

// yaml-cpp counts lines and columns from 0.
std::string place(const std::string& file, const YAML::Mark& mark) {
  if (mark.is_null()) return file;
  return file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

}  // namespace

YamlItem YamlItem::parse(std::string_view text, const std::string& file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1) {
      throw ConfigError(file + ": holds " + std::to_string(documents.size()) +
                        " YAML documents; it must hold one");
    }
    YamlItem root(file, "", documents.front(), documents.front().Mark());
    if (!documents.front().IsMap()) root.fail("the file must consist of keys and their values");
    return root;
  } catch (const YAML::Exception& error) {
    std::string message = error.msg;
    std::replace(message.begin(), message.end(), '\n', ' ');
    throw ConfigError(place(file, error.mark) + ": this is no YAML: " + message);
  }
}

void YamlItem::fail(const std::string& what) const {
  throw ConfigError(place(*file_, mark_) + ": " + (path_.empty() ? "" : path_ + ": ") + what);
}

YamlItem YamlItem::child(const std::string& key, const YAML::Node& name,
                         const YAML::Node& value) const {
  const bool empty = !value.IsDefined() || value.IsNull();
  YamlItem item(*file_, path_.empty() ? key : path_ + "." + key, value,
                empty ? name.Mark() : value.Mark());
  if (empty) item.fail("has no value; give one or remove the line");
  return item;
}

void YamlItem::expect_keys(const std::vector<std::string>& known) const {
  for (const auto& [key, item] : entries()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      item.fail("is no key" + suggest_name(key, known));
    }
  }
}

std::vector<std::pair<std::string, YamlItem>> YamlItem::entries() const {
  if (!node_.IsMap()) fail("must be keys and their values");
  std::vector<std::pair<std::string, YamlItem>> list;
  std::map<std::string, int> first_line;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) fail("a key must be a name");
    const std::string key = entry.first.Scalar();
    const int line = entry.first.Mark().line + 1;
    const auto [at, is_new] = first_line.emplace(key, line);
    if (!is_new) {
      YamlItem(*file_, path_.empty() ? key : path_ + "." + key, entry.first, entry.first.Mark())
          .fail("is given twice, first on line " + std::to_string(at->second) + "; remove one");
    }
    list.emplace_back(key, child(key, entry.first, entry.second));
  }
  return list;
}

std::optional<YamlItem> YamlItem::find(const std::string& key) const {
  if (!node_.IsMap()) fail("must be keys and their values");
  for (const auto& entry : node_) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      return child(key, entry.first, entry.second);
    }
  }
  return std::nullopt;
}

YamlItem YamlItem::get(const std::string& key) const {
  std::optional<YamlItem> item = find(key);
  if (!item) fail("the key '" + key + "' is missing; add it");
  return *item;
}

std::vector<YamlItem> YamlItem::list() const {
  if (!node_.IsSequence()) fail("must be a list");
  std::vector<YamlItem> items;
  for (std::size_t i = 0; i < node_.size(); ++i) {
    items.emplace_back(*file_, path_ + "[" + std::to_string(i) + "]", node_[i], node_[i].Mark());
  }
  return items;
}

const std::string& YamlItem::scalar() const {
  if (!node_.IsScalar()) fail("must be a single value");
  const std::string& tag = node_.Tag();
  if (!tag.empty() && tag != "?" && tag != "!") {
    fail("has the tag '" + tag + "'; write the plain value");
  }
  return node_.Scalar();
}

std::string YamlItem::text() const {
  const std::string& value = scalar();
  if (value.empty()) fail("must not be empty");
  return value;
}

double YamlItem::number() const {
  const std::string& value = scalar();
  double parsed = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), parsed);
  const bool whole = result.ec == std::errc() && result.ptr == value.data() + value.size();
  if (node_.Tag() == "!" || !whole || !std::isfinite(parsed)) {
    fail("must be a number without a unit, as in 25e9, but is '" + value +
         "'; the unit stands in the key");
  }
  return parsed;
}

double YamlItem::positive() const {
  const double value = number();
  if (value <= 0) fail("must be positive, but is " + scalar());
  return value;
}

double YamlItem::not_negative() const {
  const double value = number();
  if (value < 0) fail("must not be negative, but is " + scalar());
  return value;
}

std::int64_t YamlItem::integer(std::int64_t least, std::int64_t largest) const {
  const std::string& value = scalar();
  std::int64_t parsed = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (node_.Tag() == "!" || result.ec != std::errc() || result.ptr != value.data() + value.size()) {
    const double real = number();
    constexpr double kExact = 9007199254740992.0;  // beyond it, a double skips integers
    if (real != std::floor(real) || std::abs(real) > kExact) {
      fail("must be a whole number, but is " + value);
    }
    parsed = static_cast<std::int64_t>(real);
  }
  if (parsed < least || parsed > largest) {
    fail("must be in " + std::to_string(least) + ".." + std::to_string(largest) + ", but is " +
         value);
  }
  return parsed;
}

bool YamlItem::flag() const {
  const std::string& value = scalar();
  if (node_.Tag() == "!" || (value != "true" && value != "false")) {
    fail("must be true or false, but is '" + value + "'");
  }
  return value == "true";
}

}  // namespace doppler
