// Strict reading of YAML with lists, for files that yaml_section.h cannot hold. Internal to
// dp_config: this header includes yaml-cpp, and only .cc files of dp_config may include it.
//
// Every failure is a ConfigError "file:line:column: key: what is wrong; what to do". Keys in
// messages are paths: "devices[0].memory_bytes".
#ifndef DOPPLER_COMMON_YAML_READER_H_
#define DOPPLER_COMMON_YAML_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace doppler {

// A value in a file, with its path and its place.
class YamlItem {
 public:
  YamlItem(const std::string& file, std::string path, const YAML::Node& node,
           const YAML::Mark& mark)
      : file_(&file), path_(std::move(path)), node_(node), mark_(mark) {}

  // The document of `text`, which must be one map. `file` must outlive every item.
  static YamlItem parse(std::string_view text, const std::string& file);

  [[noreturn]] void fail(const std::string& what) const;
  const std::string& path() const { return path_; }

  bool is_map() const { return node_.IsMap(); }
  // As a map: checks that every key is among `known` and stands once.
  void expect_keys(const std::vector<std::string>& known) const;
  // Of a map: the value of a key, or none. A key without a value is an error.
  std::optional<YamlItem> find(const std::string& key) const;
  YamlItem get(const std::string& key) const;                     // an error if the key is missing
  std::vector<YamlItem> list() const;                             // of a list
  std::vector<std::pair<std::string, YamlItem>> entries() const;  // of a map with free keys

  std::string text() const;     // plain or quoted, not empty
  double number() const;        // finite
  double positive() const;      // a number > 0
  double not_negative() const;  // a number >= 0
  // A whole number; 80e9 is one.
  std::int64_t integer(std::int64_t least, std::int64_t largest) const;
  bool flag() const;

 private:
  YamlItem child(const std::string& key, const YAML::Node& name, const YAML::Node& value) const;
  const std::string& scalar() const;

  const std::string* file_;
  std::string path_;
  YAML::Node node_;
  YAML::Mark mark_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_YAML_READER_H_
