// WorkerProgress: how far each worker of a node is, in memory that the workers share with the
// process that supervises them. Answers what an exit status cannot: whether a worker that lives
// still gets on. An anonymous file (memfd), inherited by descriptor.
//
// One line a worker, so that no two of them write to one cache line. A line has one writer: its
// worker; the supervisor resets it while there is none.
#ifndef DOPPLER_COMMON_WORKER_PROGRESS_H_
#define DOPPLER_COMMON_WORKER_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace doppler {

enum class WorkerPhase : std::uint32_t {
  kStarting,
  kIdle,     // waits for a ticket, for weights, or until a result is taken
  kPlaying,  // a ticket
};
const char* phase_name(WorkerPhase phase);

class alignas(64) WorkerLine {
 public:
  // The worker's part. Each counts as progress.
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  void enter(WorkerPhase phase) {
    phase_.store(phase, std::memory_order_relaxed);
    beat();
  }
  void finish_episode(std::chrono::nanoseconds duration);

  // The supervisor's part.
  std::uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }
  std::uint64_t episodes() const { return episodes_.load(std::memory_order_relaxed); }
  WorkerPhase phase() const { return phase_.load(std::memory_order_relaxed); }
  std::chrono::nanoseconds longest_episode() const {
    return std::chrono::nanoseconds(longest_episode_.load(std::memory_order_relaxed));
  }
  void reset();

 private:
  std::atomic<std::uint64_t> beats_{0};
  std::atomic<std::uint64_t> episodes_{0};
  std::atomic<std::int64_t> longest_episode_{0};  // nanoseconds
  std::atomic<WorkerPhase> phase_{WorkerPhase::kStarting};
};
static_assert(sizeof(WorkerLine) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<WorkerPhase>::is_always_lock_free);

class WorkerProgress {
 public:
  // Throws SystemError.
  static WorkerProgress create(std::size_t worker_count);
  // From an inherited descriptor, which it takes over. Throws SystemError when that is no such
  // memory.
  static WorkerProgress attach(int descriptor);

  WorkerProgress(WorkerProgress&& other) noexcept;
  WorkerProgress& operator=(WorkerProgress&&) = delete;
  WorkerProgress(const WorkerProgress&) = delete;
  WorkerProgress& operator=(const WorkerProgress&) = delete;
  ~WorkerProgress();

  int descriptor() const { return descriptor_; }
  std::size_t worker_count() const;
  // Throws SystemError when there is no such worker.
  WorkerLine& line(std::size_t worker) const;

 private:
  struct Header;
  WorkerProgress(int descriptor, std::byte* memory, std::size_t size);

  int descriptor_;
  std::byte* memory_;
  std::size_t size_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKER_PROGRESS_H_
