#include "common/log.h"

#include <memory>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "common/error.h"

namespace doppler {
namespace {

constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%e %n %L %v";

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto made = std::make_shared<spdlog::logger>("doppler", sink);
    made->set_level(spdlog::level::debug);
    sink->set_level(spdlog::level::info);
    made->set_pattern(kPattern);
    return made;
  }();
  return instance;
}

}  // namespace

void set_log_name(const std::string& name) {
  auto& current = logger();
  auto renamed =
      std::make_shared<spdlog::logger>(name, current->sinks().begin(), current->sinks().end());
  renamed->set_level(spdlog::level::debug);
  renamed->set_pattern(kPattern);
  current = renamed;
}

void set_log_level(LogLevel level) {
  logger()->sinks().front()->set_level(to_spdlog(level));
}

void add_log_file(const std::string& path) {
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_level(spdlog::level::info);
    logger()->sinks().push_back(sink);
    logger()->set_pattern(kPattern);
    logger()->flush_on(spdlog::level::info);
  } catch (const spdlog::spdlog_ex& error) {
    throw SystemError(std::string("log file ") + path + ": " + error.what());
  }
}

void log_line(LogLevel level, std::string_view text) {
  logger()->log(to_spdlog(level), fmt::string_view(text.data(), text.size()));
}

}  // namespace doppler
