// Backend: a way of carrying operations and transfers out. The seam between the executor's core,
// which decides what runs when, and the machine.
//
// Life: load() a plan; then any number of runs of it, each one call of drive(); then load() the
// next. While a run goes on the core calls start_operation() and start_transfer(), always with its
// lock held, from whatever thread reported the end before; they return at once. The backend
// carries the work out and reports RunCore::operation_ended() and transfer_ended(), with the lock
// held too. Operations started on one device are never more than one at a time; transfers of one
// source may be several.
//
// All time stamps are nanoseconds of one monotonic clock, now_nanoseconds().
#ifndef DOPPLER_GPUEXEC_BACKEND_H_
#define DOPPLER_GPUEXEC_BACKEND_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/ids.h"
#include "gpuexec/operation_work.h"
#include "gpuexec/run_plan.h"

namespace doppler {

class RunCore;

inline std::int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A plan does not fit into the memory of a device. A normal outcome of load().
struct MemoryShortage {
  DeviceId device;
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;
};

// The backend is beyond use (a lost CUDA context): its process must end and be replaced. Programs
// end by std::_Exit() with an exit code of its own (poisoned_exit.h).
class PoisonedError : public SystemError {
 public:
  using SystemError::SystemError;
};
inline constexpr int kPoisonedExitCode = 70;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;
  virtual int device_count() const = 0;

  // Lays tensors out and fills those that are there from the start. `plan` and `works`
  // ([operations]) must live until the next load(). Returns what does not fit; then there is
  // nothing to run. Throws SystemError.
  virtual std::vector<MemoryShortage> load(const RunPlan& plan,
                                           const std::vector<OperationWork>& works) = 0;

  // Called by the core, its lock held.
  virtual void start_operation(std::int32_t operation, std::int64_t now) = 0;
  virtual void start_transfer(std::int32_t transfer, std::int64_t now) = 0;

  // Begins the run of `core` and returns when it is finished. At `deadline` (nanoseconds) it stops
  // the core and returns as soon as nothing is under way any more. Throws SystemError where the
  // machine fails, PoisonedError where that is for good.
  virtual void drive(RunCore& core, std::int64_t deadline) = 0;

  // After a run: the first `bytes` of the output of an operation that nobody reads.
  virtual std::vector<std::uint8_t> read_result(std::int32_t operation, std::int64_t bytes) = 0;

  // Of a loaded plan: the bytes of each device's arena, [devices].
  virtual const IdVector<DeviceId, std::int64_t>& arena_bytes() const = 0;

  // How much a device could hold; 0: not known.
  virtual std::int64_t memory_bytes(DeviceId device) const = 0;

  // What the machine says of itself now, for reports: clocks, temperatures. "": nothing.
  virtual std::string machine_state() { return {}; }
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_BACKEND_H_
