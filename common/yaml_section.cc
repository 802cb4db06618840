#include "common/yaml_section.h"

#include <algorithm>
#include <map>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "common/error.h"
#include "common/nearest_name.h"

namespace doppler {
namespace {

class SectionReader {
 public:
  SectionReader(std::string file, const std::vector<std::string>& known_keys)
      : file_(std::move(file)), known_keys_(known_keys) {}

  std::vector<YamlValue> read(const YAML::Node& root) {
    if (root.IsNull()) return {};  // an empty file: every key has its default
    if (!root.IsMap()) {
      fail(root, "", "the file must consist of sections, as in 'run:' and below it '  seed: 1'");
    }
    read_section(root, "");
    return std::move(values_);
  }

 private:
  // yaml-cpp counts lines and columns from 0.
  std::string place(const YAML::Mark& mark) const {
    if (mark.is_null()) return file_;
    return file_ + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  }
  [[noreturn]] void fail(const YAML::Node& node, const std::string& key,
                         const std::string& what) const {
    throw ConfigError(place(node.Mark()) + ": " + (key.empty() ? "" : key + ": ") + what);
  }

  bool is_key(const std::string& key) const {
    return std::find(known_keys_.begin(), known_keys_.end(), key) != known_keys_.end();
  }
  bool is_section(const std::string& key) const {
    const std::string prefix = key + ".";
    return std::any_of(known_keys_.begin(), known_keys_.end(),
                       [&](const std::string& known) { return known.starts_with(prefix); });
  }

  void read_section(const YAML::Node& section, const std::string& prefix) {
    std::map<std::string, YAML::Mark> first;
    for (const auto& entry : section) {
      if (!entry.first.IsScalar()) {
        fail(entry.first, prefix, "a key must be a name");
      }
      const std::string key = (prefix.empty() ? "" : prefix + ".") + entry.first.Scalar();
      const auto [at, is_new] = first.emplace(key, entry.first.Mark());
      if (!is_new) {
        fail(entry.first, key,
             "is given twice, first on line " + std::to_string(at->second.line + 1) +
                 "; remove one");
      }
      read_entry(entry.first, entry.second, key);
    }
  }

  void read_entry(const YAML::Node& name, const YAML::Node& value, const std::string& key) {
    if (name.Scalar().find('.') != std::string::npos) {
      fail(name, key, "keys with dots are for --set; in a file write a section and its keys below");
    }
    if (is_section(key)) {
      if (value.IsNull()) return;  // all its keys are commented out
      if (!value.IsMap()) fail(value, key, "is a section; its keys stand indented below it");
      read_section(value, key);
      return;
    }
    if (!is_key(key)) {
      fail(name, key, describe_unknown_key(key, known_keys_));
    }
    if (value.IsNull() || !value.IsDefined()) {
      fail(name, key, "has no value; give one or remove the line");
    }
    if (!value.IsScalar()) fail(value, key, "must be a single value");
    const std::string& tag = value.Tag();
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(value, key, "has the tag '" + tag + "'; write the plain value");
    }
    values_.push_back(
        {.key = key, .text = value.Scalar(), .quoted = tag == "!", .place = place(value.Mark())});
  }

  const std::string file_;
  const std::vector<std::string>& known_keys_;
  std::vector<YamlValue> values_;
};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::vector<YamlValue> read_yaml(std::string_view text, const std::string& file,
                                 const std::vector<std::string>& known_keys) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return {};
    if (documents.size() > 1) {
      throw ConfigError(file + ": holds " + std::to_string(documents.size()) +
                        " documents; remove the '---' between them and keep one");
    }
    return SectionReader(file, known_keys).read(documents.front());
  } catch (const YAML::Exception& error) {
    std::string place = file;
    if (!error.mark.is_null()) {
      place +=
          ":" + std::to_string(error.mark.line + 1) + ":" + std::to_string(error.mark.column + 1);
    }
    throw ConfigError(place + ": this is no YAML: " + one_line(error.msg));
  }
}

std::string describe_unknown_key(const std::string& key,
                                 const std::vector<std::string>& known_keys) {
  std::vector<std::string> names = known_keys;
  for (const std::string& known : known_keys) {
    for (std::size_t dot = known.find('.'); dot != std::string::npos;
         dot = known.find('.', dot + 1)) {
      names.push_back(known.substr(0, dot));
    }
  }
  // The right name in the wrong section is no typing error, but as easily explained.
  const std::string last = key.substr(key.rfind('.') + 1);
  for (const std::string& known : known_keys) {
    if (known.substr(known.rfind('.') + 1) == last) {
      return "is no key; did you mean '" + known + "'?";
    }
  }
  const std::string nearest = nearest_name(key, names);
  if (!nearest.empty()) return "is no key; did you mean '" + nearest + "'?";
  const std::string prefix = key.substr(0, key.rfind('.') + 1);
  std::vector<std::string> siblings;
  for (const std::string& name : names) {
    const bool sibling = name.starts_with(prefix) &&
                         name.find('.', prefix.size()) == std::string::npos &&
                         std::find(siblings.begin(), siblings.end(), name) == siblings.end();
    if (sibling) siblings.push_back(name);
  }
  return "is no key" + suggest_name(key, siblings);
}

}  // namespace doppler
