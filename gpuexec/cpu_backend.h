// The cpu backend: devices are threads with memory of their own, transfers are copies.
//
// Each device is a thread, pinned to a core of its own as far as there are cores, with an arena;
// its products use one thread. Each device also has a copy engine, a thread that sends its
// outgoing transfers one after the other (a topology for this backend states copy_engines_out: 1).
// Threads live as long as the backend; they spin for a moment before they sleep, so that short
// waits cost no wake-up.
#ifndef DOPPLER_GPUEXEC_CPU_BACKEND_H_
#define DOPPLER_GPUEXEC_CPU_BACKEND_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/topology.h"
#include "gpuexec/arena_plan.h"
#include "gpuexec/backend.h"
#include "gpuexec/precedence.h"
#include "gpuexec/run_gate.h"

namespace doppler {

struct CpuOptions {
  bool pin_threads = true;
  std::int64_t spin_nanoseconds = 20'000;  // before a thread sleeps; costs that much of its core
};

class CpuBackend : public Backend {
 public:
  // As many devices as `topology` has; each gets its memory_bytes; where it states none, an
  // equal share of 90 % of the machine's memory. Topology, and the graph of what is loaded, must
  // outlive it.
  CpuBackend(const Topology& topology, const CpuOptions& options);
  ~CpuBackend() override;
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  std::string name() const override { return "cpu"; }
  int device_count() const override { return topology_->device_count(); }
  std::vector<MemoryShortage> load(const RunPlan& plan,
                                   const std::vector<OperationWork>& works) override;
  void start_operation(std::int32_t operation, std::int64_t now) override;
  void start_transfer(std::int32_t transfer, std::int64_t now) override;
  void drive(RunCore& core, std::int64_t deadline) override;
  std::vector<std::uint8_t> read_result(std::int32_t operation, std::int64_t bytes) override;
  const IdVector<DeviceId, std::int64_t>& arena_bytes() const override { return arena_.bytes; }
  // What the topology states, else an equal share of 90 % of the machine's memory.
  std::int64_t memory_bytes(DeviceId device) const override;

 private:
  struct Release {
    void operator()(void* memory) const;
  };
  // A device or a copy engine: a thread and the work that waits for it, guarded by the core's lock.
  struct Worker {
    bool copies = false;
    std::vector<std::int32_t> queue;  // [capacity], a ring
    std::size_t head = 0;
    std::size_t count = 0;
    std::atomic<bool> poked{false};  // there is work, or the end
    std::condition_variable wake;
    std::thread thread;
  };

  void run_worker(Worker& worker, std::size_t index);
  void work_through(Worker& worker, RunCore& core);
  void push(Worker& worker, std::int32_t item);
  void wake_all();
  void run_operation(std::int32_t operation) const;
  void run_transfer(std::int32_t transfer) const;
  float* address(std::int32_t buffer) const;
  void reserve(DeviceId device, std::int64_t bytes);
  void fill_inputs() const;
  void end_threads();

  const Topology* topology_;
  CpuOptions options_;
  std::unique_ptr<Precedence> precedence_;
  std::uint64_t precedence_of_ = 0;  // content hash of the graph that it belongs to
  const RunPlan* plan_ = nullptr;
  const std::vector<OperationWork>* works_ = nullptr;
  ArenaPlan arena_;
  std::vector<std::unique_ptr<std::uint8_t, Release>> memory_;  // [devices]
  std::vector<std::int64_t> reserved_;                          // [devices], bytes
  std::vector<const float*> read_addresses_;                    // of all reads
  std::vector<std::size_t> first_read_;                         // [operations]

  std::vector<std::unique_ptr<Worker>> workers_;  // devices, then their copy engines
  RunGate gate_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CPU_BACKEND_H_
