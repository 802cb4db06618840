// The log for people: stderr, and the run's log.txt once it is named; one line an event with time,
// program and level. spdlog stays behind this header. Thread-safe.
#ifndef DOPPLER_COMMON_LOG_H_
#define DOPPLER_COMMON_LOG_H_

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace doppler {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "learner/0", "host/2", ...: who speaks.
void set_log_name(const std::string& name);
// Lines below `level` are left out on stderr; the file gets kInfo and above.
void set_log_level(LogLevel level);
// Appends to `path` from now on. Throws SystemError when it cannot be opened.
void add_log_file(const std::string& path);
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_LOG_H_
