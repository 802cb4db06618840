// A child process (posix_spawn, never a fork without exec) whose standard output is read line by
// line: a test is told how far it is, kills it, and looks at what it leaves.
#ifndef DOPPLER_TESTS_SUPPORT_CHILD_PROCESS_H_
#define DOPPLER_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace doppler::test {

class ChildProcess {
 public:
  // `environment`: "NAME=value" entries in addition to this process's own.
  explicit ChildProcess(std::vector<std::string> command,
                        const std::vector<std::string>& environment = {}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<std::string> extra = environment;
    std::vector<char*> variables;
    for (std::string& entry : extra) variables.push_back(entry.data());
    for (char** entry = ::environ; *entry != nullptr; ++entry) variables.push_back(*entry);
    variables.push_back(nullptr);
    const int error =
        ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (error != 0) throw std::runtime_error("posix_spawn " + command[0]);
  }
  ~ChildProcess() {
    if (!reaped_) {
      kill();
      wait();
    }
    ::close(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Blocks until the child has written a line; none once it has closed its output and all lines are
  // taken.
  std::optional<std::string> read_line() {
    while (true) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      char bytes[4096];
      const ssize_t count = ::read(output_, bytes, sizeof bytes);
      if (count <= 0) return std::nullopt;
      buffer_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  void kill() { ::kill(pid_, SIGKILL); }

  // The exit status; -signal when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool reaped_ = false;
  std::string buffer_;
};

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_CHILD_PROCESS_H_
