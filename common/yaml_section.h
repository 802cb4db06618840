// A YAML file of sections and values, read strictly into a flat list: "run:\n  seed: 3" becomes
// "run.seed" = "3" with its place. What a value means is decided by whoever knows its type
// (config_schema.h), never by YAML's guesses: 010 is no octal number and `no` is no boolean.
//
// yaml-cpp keeps duplicate keys silently; they are refused here.
#ifndef DOPPLER_COMMON_YAML_SECTION_H_
#define DOPPLER_COMMON_YAML_SECTION_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

struct YamlValue {
  std::string key;      // dotted: "stages.imitation.episodes"
  std::string text;     // without quotes
  bool quoted = false;  // "3" in quotes is text, never a number
  std::string place;    // "file:line:column" of the value, both from 1
};

// The values of one document, in the order of the file. `known_keys` are the dotted keys that may
// stand in it; every prefix of one is a section. Throws ConfigError "file:line:column: key: what is
// wrong; what to do" for: broken YAML, a second document, an unknown or duplicate key, a value
// where a section belongs and the other way round, a list.
std::vector<YamlValue> read_yaml(std::string_view text, const std::string& file,
                                 const std::vector<std::string>& known_keys);

// What is wrong with a key that is not known, with the nearest one that is: "is no key; did you
// mean 'run.seed'?".
std::string describe_unknown_key(const std::string& key,
                                 const std::vector<std::string>& known_keys);

}  // namespace doppler

#endif  // DOPPLER_COMMON_YAML_SECTION_H_
