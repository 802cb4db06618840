// RunGate: where the threads of a backend wait for runs. Whoever drives a run opens the gate, which
// lets each of them in once, and waits until all have left again.
#ifndef DOPPLER_GPUEXEC_RUN_GATE_H_
#define DOPPLER_GPUEXEC_RUN_GATE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

namespace doppler {

class RunCore;

class RunGate {
 public:
  // For the backend's threads. Waits for a run that this thread was not in yet: `last_run` is the
  // thread's own, 0 at first. Null when the gate was closed.
  RunCore* enter(std::uint64_t& last_run);
  void leave(std::exception_ptr failure = nullptr);

  // For the driver. Returns when all `threads` have entered, so before any clock needs to start.
  void open(RunCore& core, std::size_t threads);
  // Whether all have left by then (now_nanoseconds()).
  bool left_by(std::int64_t deadline);
  // Waits until all have left, and throws the first failure that one of them brought.
  void wait_until_left();

  // Threads that wait, or come to wait, end.
  void close();

 private:
  std::mutex mutex_;  // guards all
  std::condition_variable changed_;
  RunCore* core_ = nullptr;  // of the run that goes on
  std::uint64_t run_number_ = 0;
  std::size_t outside_ = 0;  // threads that have not entered the run
  std::size_t working_ = 0;  // threads that have not left it
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_RUN_GATE_H_
