// Runs a program to its end and keeps what it says.
#ifndef DOPPLER_COMMON_CHILD_OUTPUT_H_
#define DOPPLER_COMMON_CHILD_OUTPUT_H_

#include <chrono>
#include <string>
#include <vector>

namespace doppler {

struct ChildOutput {
  int exit_code = -1;      // 128 + signal where one ended it
  bool timed_out = false;  // and was killed
  std::string text;        // standard output and standard error
};

// `command`: a program, searched in PATH, and its arguments. Exit code 127 when it cannot be
// started. Throws SystemError when no process can be made.
ChildOutput child_output(const std::vector<std::string>& command,
                         std::chrono::milliseconds timeout);

}  // namespace doppler

#endif  // DOPPLER_COMMON_CHILD_OUTPUT_H_
