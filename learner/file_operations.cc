#include "learner/file_operations.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

[[noreturn]] void fail(const char* call, const std::string& path, int error) {
  throw SystemError(std::string(call) + "(" + path + "): " + std::strerror(error));
}

class SystemFileOperations final : public FileOperations {
 public:
  int open_for_writing(const std::string& path) override {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) fail("open", path, errno);
    return descriptor;
  }

  void write(int descriptor, const std::string& path, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", path, errno);
      if (written == 0) fail("write", path, ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void fsync(int descriptor, const std::string& path) override {
    if (::fsync(descriptor) != 0) fail("fsync", path, errno);
  }

  void close(int descriptor, const std::string& path) override {
    // Linux frees the descriptor even when it reports an interruption.
    if (::close(descriptor) != 0 && errno != EINTR) fail("close", path, errno);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename", from + " -> " + to, errno);
  }

  void unlink(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) fail("unlink", path, errno);
  }

  void fsync_folder(const std::string& path) override {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) fail("open", path, errno);
    const int result = ::fsync(descriptor);
    const int error = errno;
    ::close(descriptor);
    // Some network file systems refuse to sync a folder; they have no notion of it and nothing more
    // can be done.
    if (result != 0 && error != EINVAL && error != ENOTSUP) fail("fsync", path, error);
  }
};

}  // namespace

FileOperations& system_file_operations() {
  static SystemFileOperations operations;
  return operations;
}

void write_file_durably(FileOperations& operations, const std::string& path,
                        std::span<const std::byte> bytes) {
  const std::string temporary = path + kTemporarySuffix;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  int descriptor = operations.open_for_writing(temporary);
  try {
    operations.write(descriptor, temporary, bytes);
    operations.fsync(descriptor, temporary);
    operations.close(std::exchange(descriptor, -1), temporary);
    operations.rename(temporary, path);
  } catch (const SystemError&) {
    // The first error is the one to tell; what fails while tidying up tells nothing new.
    try {
      if (descriptor >= 0) operations.close(descriptor, temporary);
    } catch (const SystemError&) {
    }
    try {
      operations.unlink(temporary);
    } catch (const SystemError&) {
    }
    throw;
  }
  operations.fsync_folder(folder.empty() ? "." : folder);
}

std::vector<std::string> file_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) throw SystemError("readdir(" + folder + "): " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

void sync_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path, errno);
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0) fail("fsync", path, error);
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw SystemError("mkdir(" + path + "): " + error.message());
}

std::string why_flock_fails(const std::string& folder) {
  const std::string path = folder + "/.lock-probe";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("open", path, errno);
  const int result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  // Held by another process that probes at the same time: then it works.
  const std::string reason = result == 0 || errno == EWOULDBLOCK ? "" : std::strerror(errno);
  ::close(descriptor);
  ::unlink(path.c_str());
  return reason;
}

std::vector<std::byte> read_whole_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("open", path, errno);
  struct ::stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    fail("fstat", path, error);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(descriptor);
      fail("read", path, error);
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  ::close(descriptor);
  bytes.resize(done);
  return bytes;
}

}  // namespace doppler
