#include "common/text_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "common/error.h"

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

}  // namespace

std::string read_text_file(const std::string& path) {
  if (path == "-") return read_all(stdin, "standard input");
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

void write_text_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() ||
        std::fflush(stdout) != 0) {
      throw_system("write", "standard output", errno);
    }
    return;
  }
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  FileHandle file(std::fopen(temporary.c_str(), "wb"));
  if (!file) throw_system("open", temporary, errno);
  const bool written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size();
  const int write_error = errno;
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed) {
    const int error_number = written ? errno : write_error;
    std::remove(temporary.c_str());
    throw_system("write", temporary, error_number);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    std::remove(temporary.c_str());
    throw_system("rename", path, error_number);
  }
}

}  // namespace doppler
