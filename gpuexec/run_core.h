// RunCore: decides what runs when, whatever carries it out. The rules are those of the physical
// simulator; only the times are real.
//
// Work-conserving: when something ends, whatever may start thereby is started in the same step. A
// device runs one operation at a time and takes its next one by the dispatch rule. When an
// operation ends, its output starts moving to every other device with a consumer, one transfer per
// (tensor, destination). Contention::kSerial queues transfers as SerialLinks does: each holds every
// link, shared group and copy engine of its route; with kFair and kNone all start at once, and what
// they do to each other is the machine's.
//
// Records what the simulator records (Execution), so that traces and explanations work unchanged.
// Start and end are when the work really began and ended; between the end of the last thing that
// something waited for and its start lies what the executor took. Times count from the call of
// begin().
//
// Threads: everything but mutex() needs that lock to be held. Nothing is allocated between begin()
// and the end of a run.
#ifndef DOPPLER_GPUEXEC_RUN_CORE_H_
#define DOPPLER_GPUEXEC_RUN_CORE_H_

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/backend.h"
#include "gpuexec/run_plan.h"
#include "sim/execution_recorder.h"
#include "sim/memory_meter.h"
#include "sim/ready_queues.h"
#include "sim/serial_links.h"

namespace doppler {

class RunCore {
 public:
  // Cost table (its graph) and topology must outlive it. Of `options`, contention, dispatch and
  // seed count.
  RunCore(const CostTable& costs, const Topology& topology, const PhysicalOptions& options);

  std::mutex& mutex() { return mutex_; }

  // Before a run, without the lock: `backend` has loaded `plan`. `order` as in Executor::run().
  void prepare(const RunPlan& plan, std::span<const OperationId> order, Backend& backend);

  // Starts what is ready at the start.
  void begin(std::int64_t now);
  // Reports; `began` and `ended` are when the work itself did, `now` is the present.
  void operation_ended(std::int32_t operation, std::int64_t began, std::int64_t ended,
                       std::int64_t now);
  void transfer_ended(std::int32_t transfer, std::int64_t began, std::int64_t ended,
                      std::int64_t now);

  // Starts nothing more.
  void stop() { stopped_ = true; }
  // What is under way will not be reported.
  void abandon() { under_way_ = 0; }
  bool stopped() const { return stopped_; }
  bool complete() const { return finished_count_ == operation_count_; }
  // Nothing is under way and nothing will start.
  bool finished() const { return complete() || (stopped_ && under_way_ <= 0); }

  // After a complete run, without the lock.
  Execution take_record();
  SimTime makespan() const { return SimTime((last_end_ - origin_) * kTicksPerNanosecond); }

 private:
  static constexpr std::int64_t kTicksPerNanosecond = 1000;

  void release_output(std::int32_t operation, std::int64_t now);
  void request_transfer(std::int32_t transfer, std::int64_t now);
  void start_transfer(std::int32_t transfer, Wait wait, std::int64_t now);
  void arrive(std::int32_t operation, Wait cause, std::int64_t now);
  void dispatch(std::size_t device, std::int64_t now);
  std::size_t pair_of(const PlannedTransfer& transfer) const {
    return transfer.from.index() * static_cast<std::size_t>(costs_->device_count()) +
           transfer.to.index();
  }
  SimTime since_begin(std::int64_t now) const {
    return SimTime((now - origin_) * kTicksPerNanosecond);
  }

  // Constant after construction.
  const CostTable* costs_;
  const Topology* topology_;
  PhysicalOptions options_;
  std::mutex mutex_;

  // State of one run; guarded by mutex_ from begin() to the end.
  const RunPlan* plan_ = nullptr;
  Backend* backend_ = nullptr;
  std::int64_t origin_ = 0;
  std::int64_t last_end_ = 0;
  std::int32_t operation_count_ = 0;
  std::int32_t finished_count_ = 0;
  std::int32_t under_way_ = 0;  // operations and transfers
  bool stopped_ = false;
  std::vector<std::int32_t> missing_inputs_;  // [operations]
  std::vector<std::uint8_t> busy_;            // [devices]
  ReadyQueues ready_;
  SerialLinks serial_;
  MemoryMeter memory_;
  ExecutionRecorder recorder_;
  std::vector<std::int32_t> request_of_;   // [transfers of the plan], in the order of requests
  std::vector<std::int32_t> transfer_of_;  // [requests]
  std::int32_t request_count_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_RUN_CORE_H_
