// A variable of the environment. Programs that read them change none.
#ifndef DOPPLER_COMMON_ENVIRONMENT_VARIABLE_H_
#define DOPPLER_COMMON_ENVIRONMENT_VARIABLE_H_

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace doppler {

inline std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes
  if (value == nullptr) return std::nullopt;
  return value;
}

// Nothing where it is not set, or is no whole number.
inline std::optional<int> environment_number(const char* name) {
  const auto text = environment_variable(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_ENVIRONMENT_VARIABLE_H_
