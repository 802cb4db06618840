// The emulated backend: devices and links that take the simulated time on a real clock, with real
// threads, and no hardware. A test of the executor, and a way to try it out.
//
// Operations take their time in the cost table; transfers take what the topology says, alone or,
// with Contention::kFair, at the rates of FairLinks. Time is kept by *pacers*, threads that each
// look after some of the devices and of their outgoing transfers: a device that only takes time
// needs no core of its own, and on a machine with fewer cores than devices a thread for each would
// measure the machine's scheduler. A pacer sleeps until shortly before the next end and spins the
// rest.
//
// Data: tensors are digests of 16 bytes in arenas that are laid out like real ones; an operation's
// digest is a function of its id and of what it reads, in order. So whoever runs too early, reads
// the wrong copy, or overwrites what is still needed, changes the result.
#ifndef DOPPLER_GPUEXEC_EMULATED_BACKEND_H_
#define DOPPLER_GPUEXEC_EMULATED_BACKEND_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/cost_table.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/arena_plan.h"
#include "gpuexec/backend.h"
#include "gpuexec/precedence.h"
#include "gpuexec/run_gate.h"
#include "sim/fair_links.h"
#include "sim/timer_heap.h"

namespace doppler {

struct EmulatedOptions {
  int pacers = 0;  // threads, the caller's included; 0: half of the cores, at least one
  std::int64_t spin_nanoseconds = 80'000;  // how long before an end a pacer stops sleeping
  bool free_of_time = false;  // everything takes no time at all: what is left is the executor's
};

class EmulatedBackend : public Backend {
 public:
  static constexpr std::int64_t kDigestBytes = 16;

  // `costs` (its graph) and `topology` must outlive it. `contention` must be that of the core.
  EmulatedBackend(const CostTable& costs, const Topology& topology, Contention contention,
                  const EmulatedOptions& options);
  ~EmulatedBackend() override;
  EmulatedBackend(const EmulatedBackend&) = delete;
  EmulatedBackend& operator=(const EmulatedBackend&) = delete;

  std::string name() const override { return "emulated"; }
  int device_count() const override { return topology_->device_count(); }
  std::vector<MemoryShortage> load(const RunPlan& plan,
                                   const std::vector<OperationWork>& works) override;
  void start_operation(std::int32_t operation, std::int64_t now) override;
  void start_transfer(std::int32_t transfer, std::int64_t now) override;
  void drive(RunCore& core, std::int64_t deadline) override;
  // The digest, whatever `bytes`.
  std::vector<std::uint8_t> read_result(std::int32_t operation, std::int64_t bytes) override;
  const IdVector<DeviceId, std::int64_t>& arena_bytes() const override { return needed_bytes_; }
  std::int64_t memory_bytes(DeviceId device) const override {
    return topology_->device(device).memory_bytes.value_or(0);
  }

 private:
  struct Digest {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
  };
  struct Pacer {
    explicit Pacer(std::size_t timers) : heap(timers) {}
    TimerHeap heap;                          // guarded by the core's lock
    std::atomic<std::int64_t> next_time{0};  // when it must look again
    std::condition_variable wake;
    bool sleeping = false;
  };

  void run_pacer(std::size_t index);
  void pace(std::size_t index, RunCore& core, std::int64_t deadline);
  bool step(Pacer& pacer, RunCore& core, std::unique_lock<std::mutex>& lock);
  std::int64_t next_fair_end() const;
  void wait_for_next(std::size_t index, RunCore& core, std::int64_t deadline,
                     std::unique_lock<std::mutex>& lock);
  void finish_transfer(std::int32_t transfer, RunCore& core, std::unique_lock<std::mutex>& lock);
  void set_timer(std::size_t pacer, std::int64_t time, std::int32_t subject, std::uint32_t event);
  void wake(Pacer& pacer, std::int64_t time);
  void wake_all();
  std::size_t pacer_of(DeviceId device) const { return device.index() % pacers_.size(); }
  Digest* at(std::int32_t buffer) const;  // in the device's arena
  void compute(std::int32_t operation) const;
  void copy(std::int32_t transfer) const;
  void end_threads();

  const CostTable* costs_;
  const Topology* topology_;
  Contention contention_;
  EmulatedOptions options_;
  Precedence precedence_;
  const RunPlan* plan_ = nullptr;
  ArenaPlan arena_;  // of the digests
  IdVector<DeviceId, std::int64_t> needed_bytes_;
  std::vector<std::vector<Digest>> memory_;  // [devices]
  std::vector<std::int64_t> began_;          // [operations and transfers], nanoseconds
  FairLinks fair_;                           // looked after by the first pacer
  std::int64_t fair_time_ = 0;               // of its last event, in ticks since origin_
  std::int64_t origin_ = 0;                  // of the run, nanoseconds
  std::vector<std::unique_ptr<Pacer>> pacers_;

  RunGate gate_;               // for all pacers but the driver's
  std::int64_t deadline_ = 0;  // of the run that goes on; constant while the gate is open
  std::vector<std::thread> threads_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_EMULATED_BACKEND_H_
