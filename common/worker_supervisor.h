// WorkerSupervisor: keeps a node's worker processes alive. Starts them (posix_spawn, never fork
// without exec), notices their deaths and those that live but make no progress (they spin, or were
// stopped), ends the latter, restarts both with back-off, and gives up on one that never finishes
// an episode.
//
// Each worker is the leader of a process group of its own, inherits stderr and the descriptors of
// the shared weights and of the workers' progress and nothing else, sees no MPI variable, and dies
// with the process that started it. Not thread-safe.
#ifndef DOPPLER_COMMON_WORKER_SUPERVISOR_H_
#define DOPPLER_COMMON_WORKER_SUPERVISOR_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/worker_progress.h"

namespace doppler {

// The descriptor at which every worker finds the shared weights.
inline constexpr int kWeightsDescriptor = 3;
// The descriptor at which it finds the memory that it writes its progress to.
inline constexpr int kProgressDescriptor = 4;
// Environment variable that carries the keys of the run's clients (channel.h), which must not stand
// in a command line.
inline constexpr const char* kRunKeysVariable = "DOPPLER_RUN_KEYS";

// Of those beside this program: with or without real execution, whose libraries a worker that only
// simulates need not load.
constexpr const char* worker_program(bool executes) {
  return executes ? "doppler-execution-worker" : "doppler-worker";
}

struct WorkerLaunch {
  std::string program;  // path of doppler-worker
  std::string endpoint;
  std::string keys;        // ClientKeys, as text
  std::uint32_t host = 0;  // number of the host in the run
  std::uint64_t run_token = 0;
  int weights_descriptor = -1;
};

// When a worker counts as hung, and what becomes of one that does not work.
struct SupervisionLimits {
  // How long its progress may stand still, by phase. In the phase of playing it may stand still for
  // playing_factor times the longest episode that this node has seen, where that is more.
  std::chrono::milliseconds starting{60000};
  std::chrono::milliseconds idle{30000};
  std::chrono::milliseconds playing{30000};
  std::uint32_t playing_factor = 20;      // 0: `playing` is fixed
  std::chrono::milliseconds grace{2000};  // from SIGTERM to SIGKILL
  // Before a restart, doubled with each death without a finished episode.
  std::chrono::milliseconds first_delay{50};
  std::chrono::milliseconds longest_delay{10000};
  // As many deaths in a row without a finished episode, and a worker is given up.
  std::uint32_t death_limit = 10;
};

// Milliseconds in place of all three deadlines, the one for playing fixed. For tests, and for runs
// whose first episode takes longer than the defaults have it; hosts of other ranks read their own.
inline constexpr const char* kHangDeadlineVariable = "DOPPLER_HANG_DEADLINE_MS";
// The defaults, or what the variable says. Throws ConfigError when it is no positive number.
SupervisionLimits supervision_limits_from_environment();

class WorkerSupervisor {
 public:
  // Throws SystemError when there is no memory to share.
  WorkerSupervisor(WorkerLaunch launch, std::uint32_t worker_count,
                   const SupervisionLimits& limits = {});
  // Stops what is left, hard.
  ~WorkerSupervisor();
  WorkerSupervisor(const WorkerSupervisor&) = delete;
  WorkerSupervisor& operator=(const WorkerSupervisor&) = delete;

  // Starts those that should run and do not; collects the dead; ends those that hang. Call it
  // often; it does not wait. Returns what happened, a line each, for the log. Throws SystemError
  // when a process cannot be started, or when every worker was given up.
  std::vector<std::string> poll();

  // SIGTERM to all, SIGKILL to those left after the grace time; returns when all are gone.
  void stop(std::chrono::milliseconds grace);

  std::uint64_t restart_count() const { return restart_count_; }
  std::size_t running_count() const;
  std::vector<pid_t> process_ids() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { kFine, kAsked, kKilled };  // whether it hangs, and what was done about it
  struct Worker {
    pid_t pid = -1;  // -1: not running
    std::uint32_t incarnation = 0;
    std::uint32_t fruitless_deaths = 0;  // in a row, without a finished episode
    bool given_up = false;
    Clock::time_point restart_at;
    std::uint64_t seen_beats = 0;
    std::chrono::nanoseconds still{0};  // how long that has not changed
    Verdict verdict = Verdict::kFine;
    Clock::time_point kill_at;  // when it was asked to end
  };
  void start(std::uint32_t index);
  std::string name(std::uint32_t index) const;
  std::string bury(std::uint32_t index, int status);
  std::chrono::nanoseconds deadline(WorkerPhase phase) const;
  void watch(std::uint32_t index, Clock::time_point now, std::vector<std::string>& events);

  WorkerLaunch launch_;
  SupervisionLimits limits_;
  WorkerProgress progress_;
  std::vector<Worker> workers_;
  std::uint64_t restart_count_ = 0;
  std::chrono::nanoseconds longest_episode_{0};
  Clock::time_point last_poll_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKER_SUPERVISOR_H_
