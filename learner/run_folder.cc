#include "learner/run_folder.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text_file.h"
#include "learner/file_operations.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "/.lock";
constexpr const char* kConfigName = "/config.yaml";
constexpr const char* kMetricsName = "/metrics.jsonl";
// `doppler status` takes the lock for a moment, and a killed learner needs one to be gone.
constexpr int kLockAttempts = 20;
constexpr std::chrono::milliseconds kLockInterval(50);

void write_durably(const std::string& path, const std::string& text) {
  write_file_durably(system_file_operations(), path,
                     std::as_bytes(std::span(text.data(), text.size())));
}

// Holds an exclusive lock until it goes; a killed process lets go of it by dying.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    const std::string path = folder + kLockName;
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw SystemError("open(" + path + "): " + std::strerror(errno));
    int error = 0;
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
      error = errno;
      if (error != EWOULDBLOCK && error != EINTR) break;
      std::this_thread::sleep_for(kLockInterval);
    }
    close(descriptor_);
    descriptor_ = -1;
    if (error == EWOULDBLOCK) {
      throw ConfigError("run folder " + folder +
                        ": another process is training in it; wait for it or stop it");
    }
    // A file system without flock: the run goes on without this protection.
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

}  // namespace

struct RunFolder::Impl {
  explicit Impl(const std::string& path) : lock(path) {}
  FolderLock lock;
  std::ofstream metrics;
};

RunFolder::RunFolder(std::string path, std::unique_ptr<Impl> impl)
    : path_(std::move(path)), impl_(std::move(impl)) {}
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

RunFolder RunFolder::create(const std::string& path, const std::string& config_yaml) {
  std::error_code error;
  if (fs::exists(path, error) && !(fs::is_directory(path, error) && fs::is_empty(path, error))) {
    if (!fs::exists(path + kConfigName, error)) {
      throw ConfigError(
          "run folder " + path +
          (fs::is_directory(path, error) ? " exists and holds other things" : " is no folder") +
          "; give another with --run-dir");
    }
    throw ConfigError("run folder " + path + " exists already; continue it with `doppler resume " +
                      path + "`, or give another with --run-dir");
  }
  const bool is_new = !fs::exists(path, error);
  make_folder(path);
  try {
    auto impl = std::make_unique<Impl>(path);
    RunFolder folder(path, std::move(impl));
    write_durably(folder.config_path(), config_yaml);
    return folder;
  } catch (const SystemError&) {
    // No folder is left that could neither be trained in nor resumed.
    fs::remove(path + kLockName, error);
    if (is_new) fs::remove(path, error);
    throw;
  }
}

RunFolder RunFolder::open(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path + kConfigName, error)) {
    throw ConfigError(
        "run folder " + path +
        ": there is no config.yaml in it; give the folder of a run that doppler train began");
  }
  return {path, std::make_unique<Impl>(path)};
}

void RunFolder::trim_metrics(std::uint64_t last_update) {
  const std::string path = path_ + kMetricsName;
  if (!fs::exists(path)) return;
  std::ifstream in(path);
  std::string kept;
  std::string line;
  while (std::getline(in, line)) {
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (row.is_discarded() || !row.contains("update")) continue;
    if (row["update"].get<std::uint64_t>() <= last_update) kept += line + "\n";
  }
  in.close();
  write_durably(path, kept);
}

void RunFolder::append_metrics(const std::string& json_line) {
  if (!impl_->metrics.is_open()) {
    impl_->metrics.open(path_ + kMetricsName, std::ios::app);
  }
  impl_->metrics << json_line << '\n';
}

void RunFolder::flush_metrics() {
  if (!impl_->metrics.is_open()) return;
  impl_->metrics.flush();
  if (impl_->metrics.good()) return;
  // A full disk: what could not be written is lost, the run is not.
  impl_->metrics.clear();
}

void RunFolder::write_best_assignment(std::size_t graph, const std::string& json) {
  make_folder(path_ + "/best");
  const std::string number = graph == 0 ? "" : fmt::format("-{:04}", graph);
  write_durably(path_ + "/best/assignment" + number + ".json", json);
}

void RunFolder::remove_summary() {
  std::error_code error;  // none there is as good
  fs::remove(path_ + "/summary.json", error);
}

void RunFolder::write_summary(const std::string& json) {
  write_durably(path_ + "/summary.json", json);
}

}  // namespace doppler
