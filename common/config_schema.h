// The schema of the configuration: every key once, with its place in Config, its type and range,
// its unit and its effect. Reader, writer, hash and documentation are made from this table; to add
// a key, add a field to config.h and a line here.
#ifndef DOPPLER_COMMON_CONFIG_SCHEMA_H_
#define DOPPLER_COMMON_CONFIG_SCHEMA_H_

#include <functional>
#include <string>
#include <vector>

#include "common/config.h"

namespace doppler {

struct ConfigKey {
  std::string key;     // dotted: "run.seed"
  std::string type;    // "integer", "number", "true or false", "text", "one of"
  std::string range;   // "1..4096", ">= 0", "a | b"; empty: any
  std::string unit;    // empty: none
  std::string effect;  // one line

  // Sets the field from its text. `quoted` values are text whatever they look like. Throws
  // ConfigError with what is wrong and what to do; the caller puts the place and the key in front.
  std::function<void(Config&, const std::string& text, bool quoted)> read;
  // The field as a YAML scalar that read() takes back exactly.
  std::function<std::string(const Config&)> write;
};

// In the order in which they are written; keys of one section stand together.
const std::vector<ConfigKey>& config_keys();

// What a section ("run", "stages.imitation") is about, one line.
std::string section_effect(const std::string& section);

}  // namespace doppler

#endif  // DOPPLER_COMMON_CONFIG_SCHEMA_H_
