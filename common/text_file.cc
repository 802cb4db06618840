#include "common/text_file.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text_check.h"

namespace doppler {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

[[noreturn]] void throw_system(const std::string& call, const std::string& path, int error_number) {
  throw SystemError(call + "(" + path + "): " + reason(error_number));
}

std::string read_all(std::FILE* file, const std::string& path) {
  std::string content;
  std::vector<char> buffer(65536);
  while (true) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file);
    content.append(buffer.data(), count);
    if (count < buffer.size()) break;
  }
  if (std::ferror(file) != 0) throw_system("read", path, errno);
  return content;
}

// Throws with `path` as the name of the file. Takes over the descriptor; a negative one is a failed
// call.
void write_through(int descriptor, const std::string& path, std::string_view content) {
  if (descriptor < 0) throw_system("open", path, errno);
  FileHandle file(::fdopen(descriptor, "wb"));
  if (!file) {
    const int error_number = errno;
    ::close(descriptor);
    throw_system("open", path, error_number);
  }
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size()) {
    throw_system("write", path, errno);
  }
  if (std::fclose(file.release()) != 0) throw_system("write", path, errno);
}

// The file that a chain of symbolic links leads to; it need not exist. More links than any real
// chain has are a loop, which is left to whoever opens it.
std::filesystem::path follow_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute one stands for itself
  }
  return path;
}

// The number that a path such as /dev/fd/3 or /dev/stdout gives to an open file of this process.
// Such a file is written through its descriptor: the name behind it may be gone or mean a socket,
// and whoever opened it goes on writing where this ends.
std::optional<int> own_descriptor(const std::string& path) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical("/proc/self/fd", error);
  if (error) return std::nullopt;
  constexpr int kMostLinks = 8;
  std::filesystem::path link = path;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::filesystem::path folder =
        std::filesystem::canonical(link.has_parent_path() ? link.parent_path() : ".", error);
    if (error) return std::nullopt;
    if (folder == own) {
      const std::optional<std::int64_t> number = parse_integer(link.filename().string());
      return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
    }
    if (!std::filesystem::is_symlink(link, error)) return std::nullopt;
    link = folder / std::filesystem::read_symlink(link, error);
  }
  return std::nullopt;
}

// By a file beside it that takes its name once it is complete.
void replace_file(const std::string& path, std::string_view content) {
  const std::string target = follow_links(path).string();
  const std::string temporary = target + ".tmp" + std::to_string(::getpid());
  struct stat before {};
  const bool exists = ::stat(target.c_str(), &before) == 0;
  if (!exists && errno != ENOENT) throw_system("open", path, errno);
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) throw_system("open", path, errno);
  try {
    if (exists && ::fchmod(descriptor, before.st_mode & 07777) != 0) {
      const int error_number = errno;
      ::close(descriptor);
      throw_system("chmod", path, error_number);
    }
    write_through(descriptor, path, content);
    if (std::rename(temporary.c_str(), target.c_str()) != 0) throw_system("rename", path, errno);
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string read_text_file(const std::string& path) {
  if (path == "-") return read_all(stdin, input_name(path));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw ConfigError(path + ": is a folder; name a file in it");
  }
  const FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    const int error_number = errno;
    if (error_number == ENOENT || error_number == ENOTDIR) {
      throw ConfigError(path + ": no such file; check the path");
    }
    throw_system("open", path, error_number);
  }
  return read_all(file.get(), path);
}

void check_output_file(const std::string& path) {
  if (path == "-" || own_descriptor(path)) return;
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    throw ConfigError(path + ": is a folder; name a file in it");
  }
  std::filesystem::path written = path;  // a pipe or a device itself, else the folder of the file
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    written = follow_links(path).parent_path() / ".";  // which only a folder has
  }
  if (::access(written.c_str(), W_OK) != 0) throw_system("open", path, errno);
}

void write_text_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() ||
        std::fflush(stdout) != 0) {
      throw_system("write", "standard output", errno);
    }
    return;
  }
  if (const std::optional<int> descriptor = own_descriptor(path)) {
    return write_through(::dup(*descriptor), path, content);
  }
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    throw ConfigError(path + ": is a folder; name a file in it");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return write_through(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path, content);
  }
  replace_file(path, content);
}

}  // namespace doppler
