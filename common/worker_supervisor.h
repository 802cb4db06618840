// WorkerSupervisor: keeps a node's worker processes alive. Starts them (posix_spawn, never fork
// without exec), notices their deaths, restarts them with back-off, and gives up on one that keeps
// dying at once.
//
// Each worker is the leader of a process group of its own, inherits stderr and the shared weights'
// descriptor and nothing else, sees no MPI variable, and dies with the process that started it. Not
// thread-safe.
#ifndef DOPPLER_COMMON_WORKER_SUPERVISOR_H_
#define DOPPLER_COMMON_WORKER_SUPERVISOR_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace doppler {

// The descriptor at which every worker finds the shared weights.
inline constexpr int kWeightsDescriptor = 3;
// Environment variable that carries the server's public key, which must not stand in a command
// line.
inline constexpr const char* kServerKeyVariable = "DOPPLER_SERVER_KEY";

struct WorkerLaunch {
  std::string program;  // path of doppler-worker
  std::string endpoint;
  std::string server_key;
  std::uint32_t host = 0;  // MPI rank
  std::uint64_t run_token = 0;
  int weights_descriptor = -1;
};

class WorkerSupervisor {
 public:
  WorkerSupervisor(WorkerLaunch launch, std::uint32_t worker_count);
  // Stops what is left, hard.
  ~WorkerSupervisor();
  WorkerSupervisor(const WorkerSupervisor&) = delete;
  WorkerSupervisor& operator=(const WorkerSupervisor&) = delete;

  // Starts those that should run and do not; collects the dead. Call it often; it does not wait.
  // Returns what happened, a line each, for the log. Throws SystemError when a process cannot be
  // started, or when every worker was given up.
  std::vector<std::string> poll();

  // SIGTERM to all, SIGKILL to those left after the grace time; returns when all are gone.
  void stop(std::chrono::milliseconds grace);

  std::uint64_t restart_count() const { return restart_count_; }
  std::size_t running_count() const;
  std::vector<pid_t> process_ids() const;

 private:
  struct Worker {
    pid_t pid = -1;  // -1: not running
    std::uint32_t incarnation = 0;
    std::uint32_t quick_deaths = 0;  // in a row
    bool given_up = false;
    std::chrono::steady_clock::time_point started;
    std::chrono::steady_clock::time_point restart_at;
  };
  void start(std::uint32_t index);
  std::string bury(std::uint32_t index, int status);

  WorkerLaunch launch_;
  std::vector<Worker> workers_;
  std::uint64_t restart_count_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKER_SUPERVISOR_H_
