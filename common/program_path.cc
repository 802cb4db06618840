#include "common/program_path.h"

#include <filesystem>

#include <unistd.h>

#include "common/error.h"

namespace doppler {

std::string sibling_program(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw SystemError("/proc/self/exe: " + error.message());
  const std::string path = (self.parent_path() / name).string();
  if (access(path.c_str(), X_OK) != 0) {
    throw SystemError(path +
                      " is missing; this installation is incomplete, build or install it whole");
  }
  return path;
}

}  // namespace doppler
