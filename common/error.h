// What stops a program, and the exit code that it maps to (ExitCode). One hierarchy; nothing else
// is thrown by this project. A message says: place (file:line:column, or key), what is wrong, what
// to do.
#ifndef DOPPLER_COMMON_ERROR_H_
#define DOPPLER_COMMON_ERROR_H_

#include <stdexcept>
#include <string>

namespace doppler {

enum class ExitCode : int {
  kDone = 0,
  kBadInput = 2,     // ConfigError, FormatError, a bad command line
  kEnvironment = 3,  // SystemError: the machine, a file system, a foreign library
  kResumable = 75,   // stopped early; `doppler resume` continues
};

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A configuration file, an override or a flag asks for something that does not exist or cannot be.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// A file that was read (graph, assignment, checkpoint, log) is not what its format says.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The operating system or a foreign library refused: "call(args): reason".
class SystemError : public Error {
 public:
  using Error::Error;
};

// What `make` gives. What it refuses is told with the file that it is about in front, for code that
// knows no files.
template <typename Make>
auto name_file_in_errors(const std::string& file, const Make& make) {
  try {
    return make();
  } catch (const ConfigError& error) {
    throw ConfigError(file + ": " + error.what());
  }
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_ERROR_H_
