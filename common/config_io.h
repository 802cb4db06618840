// Reading, checking and writing of the configuration.
#ifndef DOPPLER_COMMON_CONFIG_IO_H_
#define DOPPLER_COMMON_CONFIG_IO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.h"

namespace doppler {

// The file at `path` (empty: none, all defaults), then the overrides "key=value" in their order,
// through the same checks; then validate(). Throws ConfigError "file:line:column: key: what is
// wrong; what to do", or "--set key=value: ..." for an override, and what read_text_file() throws.
Config load_config(const std::string& path, const std::vector<std::string>& overrides);

// The same for a text; `file` names it in messages.
Config parse_config(std::string_view text, const std::string& file,
                    const std::vector<std::string>& overrides);

// The rules that tie keys together. Throws ConfigError that names the keys.
void validate(const Config& config);

// The complete effective configuration as YAML with comments; parse_config() gives the same Config
// back.
std::string to_yaml(const Config& config);

// What differs between the configuration of a run and the one that it is to be resumed with, a line
// a key: "run.seed: 1, now 2". Keys that a resumed run may change (budgets, workers, how often
// files are written) are left out.
std::vector<std::string> forbidden_changes(const Config& before, const Config& now);

// Of all values; equal configurations have equal hashes.
std::uint64_t config_hash(const Config& config);

// docs/configuration.md.
std::string config_reference_markdown();

}  // namespace doppler

#endif  // DOPPLER_COMMON_CONFIG_IO_H_
