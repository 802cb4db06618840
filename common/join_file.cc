#include "common/join_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

constexpr const char* kFirstLine = "doppler-join 1";

[[noreturn]] void raise(const std::string& call, const std::string& path) {
  throw SystemError(call + "(" + path + "): " + std::strerror(errno));
}

}  // namespace

std::string this_place() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(in, boot);
  std::array<char, 64> space{};
  const auto length = readlink("/proc/self/ns/net", space.data(), space.size());
  return boot + " " + std::string(space.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

std::string join_file_path(const std::string& run_dir) {
  return run_dir + "/join";
}

void save_join_file(const std::string& run_dir, const JoinFile& file) {
  const std::string text = std::string(kFirstLine) + "\nplace " + file.place + "\nlocal_endpoint " +
                           file.local_endpoint + "\nnetwork_endpoint " + file.network_endpoint +
                           "\nkeys " + file.keys + "\nrun_token " + std::to_string(file.run_token) +
                           "\n";
  const std::string path = join_file_path(run_dir);
  const std::string temporary = path + ".tmp";
  unlink(temporary.c_str());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) raise("open", temporary);
  const ssize_t written = write(descriptor, text.data(), text.size());
  const bool good = written == static_cast<ssize_t>(text.size()) &&
                    fchmod(descriptor, 0600) == 0;  // whatever the umask takes away or adds
  const int error = errno;
  close(descriptor);
  errno = written >= 0 && !good && error == 0 ? ENOSPC : error;
  if (!good) raise("write", temporary);
  if (rename(temporary.c_str(), path.c_str()) != 0) raise("rename", path);
}

std::optional<JoinFile> load_join_file(const std::string& run_dir) {
  const std::string path = join_file_path(run_dir);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return std::nullopt;
    raise("open", path);
  }
  std::array<char, 4096> buffer{};
  const ssize_t size = read(descriptor, buffer.data(), buffer.size());
  close(descriptor);
  if (size < 0) raise("read", path);
  std::istringstream in(std::string(buffer.data(), static_cast<std::size_t>(size)));
  std::string line;
  std::getline(in, line);
  const auto refuse = [&](const std::string& what) {
    throw FormatError(path + ": " + what + "; it is written by doppler train and doppler resume");
  };
  if (line != kFirstLine) refuse("its first line is not \"" + std::string(kFirstLine) + "\"");
  std::map<std::string, std::string> fields;
  while (std::getline(in, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) refuse("a line without a value: \"" + line + "\"");
    fields[line.substr(0, space)] = line.substr(space + 1);
  }
  JoinFile file;
  for (const auto& [name, value] : {std::pair<const char*, std::string*>{"place", &file.place},
                                    {"local_endpoint", &file.local_endpoint},
                                    {"network_endpoint", &file.network_endpoint},
                                    {"keys", &file.keys}}) {
    const auto found = fields.find(name);
    if (found == fields.end()) refuse(std::string("the line \"") + name + "\" is missing");
    *value = found->second;
  }
  const std::string& token = fields["run_token"];
  const auto [end, error] =
      std::from_chars(token.data(), token.data() + token.size(), file.run_token);
  if (error != std::errc() || end != token.data() + token.size()) {
    refuse("run_token is no number");
  }
  return file;
}

void remove_join_file(const std::string& run_dir) {
  unlink(join_file_path(run_dir).c_str());
}

}  // namespace doppler
