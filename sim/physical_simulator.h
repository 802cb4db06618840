// The physical simulator: what an assignment takes on a topology.
//
// Work-conserving, event by event. A device runs one operation at a time, without pre-emption. When
// an operation ends, its output starts moving to every other device that has a consumer: one
// transfer per (tensor, destination), in the order of their first consumer edge, of the largest
// bytes that its edges there state. A consumer is ready when all its inputs are there. Operations
// of kind "input" without predecessors are there at time 0 without taking a turn on their device,
// and are sent from it like any other output. Input tensors are everywhere; they only take memory.
//
// Events are ordered by (time, number of their creation). One event is carried out as a whole
// before the next:
//   end of an operation  its consumers on the device become ready and its transfers are requested,
//   in
//                        edge order; then the device takes its next operation
//   end of a transfer    the transfers that waited for its route start; its consumers become ready,
//   in
//                        edge order; then their device, if idle, takes its next operation
//   time 0               inputs are sent and entries become ready, by id; then, by id of the
//   entries,
//                        their devices take an operation
// With fair sharing a transfer is under way for the latency of its route and then its bytes flow;
// each recomputation of shares creates the ends that it moves anew, with one number.
//
// Route time, contention: Topology, SerialLinks, FairLinks. Memory: MemoryMeter. Copy engines count
// in serial mode alone. Infeasible for lack of memory (MemoryRule::kEnforce): run() returns
// makespan x (1 + 10 x largest overflow / capacity).
//
// All times are ticks of a picosecond. run() allocates nothing. Not thread-safe; cost table (and
// its graph) and topology must outlive it.
#ifndef DOPPLER_SIM_PHYSICAL_SIMULATOR_H_
#define DOPPLER_SIM_PHYSICAL_SIMULATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "sim/execution_recorder.h"
#include "sim/fair_links.h"
#include "sim/flat_graph.h"
#include "sim/memory_meter.h"
#include "sim/noise_model.h"
#include "sim/ready_queues.h"
#include "sim/serial_links.h"
#include "sim/timer_heap.h"
#include "sim/transfer_bytes.h"

namespace doppler {

class PhysicalSimulator : public Executor {
 public:
  // `costs` must come from CostTable::physical() with this topology.
  PhysicalSimulator(const CostTable& costs, const Topology& topology,
                    const PhysicalOptions& options);

  // `order` counts with Dispatch::kPriority alone; empty, the topological order takes its place.
  SimTime run(const Assignment& assignment, std::span<const OperationId> order) override;
  Execution run_recorded(const Assignment& assignment, std::span<const OperationId> order) override;
  bool feasible() const override { return feasible_; }

  // Of noise and random dispatch, from the next run on.
  void set_seed(std::uint64_t seed) { options_.seed = seed; }

 private:
  struct Transfer {
    std::int32_t producer;
    std::int32_t first_edge;
    std::int32_t pair;  // from * devices + to
    std::int32_t to;
    std::int64_t duration;  // alone
    bool joins_previous;    // ends at the event of the transfer before it
  };

  // The latest transfer to a device.
  struct Delivery {
    std::int32_t producer = -1;
    std::int32_t last_edge = -1;
  };

  SimTime run_any(const Assignment& assignment, std::span<const OperationId> order);
  void reset(const Assignment& assignment, std::span<const OperationId> order);

  // Detailed: with noise, memory or a record.
  template <Contention Mode, bool Detailed>
  void simulate();
  template <Contention Mode, bool Detailed>
  bool end_fair_transfer();
  template <Contention Mode, bool Detailed>
  void start_entries();
  template <Contention Mode, bool Detailed>
  void release_output(std::int32_t operation);
  template <Contention Mode, bool Detailed>
  void end_operation(std::int32_t operation);
  template <Contention Mode, bool Detailed>
  void request_transfer(std::int32_t operation, std::int32_t edge, std::int32_t to,
                        std::int32_t first_of_operation);
  template <Contention Mode, bool Detailed>
  void end_transfer(std::int32_t id);
  template <bool Detailed>
  void arrive(std::int32_t operation, Wait::Kind cause, std::int32_t index);
  template <bool Detailed>
  void dispatch(std::size_t device);

  void set_timer(std::int64_t time, std::int32_t subject, std::uint32_t event);
  void begin_flow(std::int32_t id);
  std::int64_t latency(std::int32_t id) const;
  double transfer_factor(const Transfer& transfer) const;
  std::int64_t bytes_of(const Transfer& transfer) const {
    return bytes_.of(transfer.producer, transfer.first_edge, transfer.to, devices_);
  }
  void transfer_starts(std::int32_t id, Wait wait);
  void operation_starts(std::int32_t operation, SimTime duration, std::size_t device);

  std::int32_t device_of(std::int32_t operation) const { return devices_[operation].value(); }

  // Constant after construction.
  const CostTable* costs_;
  const Topology* topology_;
  PhysicalOptions options_;
  std::int32_t operation_count_;
  std::int32_t device_count_;
  FlatGraph flat_;
  TransferBytes bytes_;
  std::vector<std::uint8_t> is_given_;  // [operations], there from the start
  NoiseModel noise_;

  // State of one run.
  std::int64_t now_ = 0;
  std::int32_t finished_count_ = 0;
  const DeviceId* devices_ = nullptr;         // [operations], the assignment
  std::vector<std::int32_t> missing_inputs_;  // [operations]
  std::vector<std::uint8_t> busy_;            // [devices]
  std::vector<Delivery> delivery_;            // [devices]
  std::vector<std::int32_t> next_edge_;       // [edges], of the same transfer; -1: the last
  std::vector<Transfer> transfers_;           // [edges]
  std::int32_t transfer_count_ = 0;
  ReadyQueues ready_;
  TimerHeap timers_;
  SerialLinks serial_;  // Contention::kSerial
  FairLinks fair_;      // Contention::kFair
  bool feasible_ = true;

  // Detailed runs only.
  bool has_memory_ = false;
  bool has_noise_ = false;
  bool has_record_ = false;
  MemoryMeter memory_;
  ExecutionRecorder recorder_;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_PHYSICAL_SIMULATOR_H_
