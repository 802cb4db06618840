// The paper's published simulator, to the last bit, and fast.
//
// Cost model: costs are the integers of the graph file, taken as ticks; every edge between
// different devices is its own transfer of its producer's transfer time and meets no other; one
// operation at a time per device, first come first served in the order in which operations
// *request* it (all inputs there).
//
// Simultaneous events, exactly: timers are ordered by (time, sequence number of their setting). All
// timers of an instant move into a FIFO together; what happens at that instant is appended to the
// FIFO and handled in order (CONDITION, GRANT, COMP_DONE, RELEASE, FINISH, XFER_DONE, ARRIVED;
// tests/support/naive_reference_simulator.h spells every step out). Two implementations here give
// the same schedule:
//  - The general one handles that FIFO literally. It is used if some cost is zero, because then the
//  events of an
//    instant can go on for any number of rounds.
//  - With positive costs the rounds of an instant are few and their order is known, so they are
//  carried out directly:
//    see run_positive().
// Source: the published code of the paper (arXiv 2505.23131).
#ifndef DOPPLER_SIM_REFERENCE_SIMULATOR_H_
#define DOPPLER_SIM_REFERENCE_SIMULATOR_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "sim/flat_graph.h"
#include "sim/timer_heap.h"

namespace doppler {

class ReferenceSimulator : public Executor {
 public:
  // `costs` must come from CostTable::reference(); it is not needed afterwards. Allocates
  // everything; run() allocates nothing.
  explicit ReferenceSimulator(const CostTable& costs);

  // `order` has no meaning here: devices serve in the order of requests.
  SimTime run(const Assignment& assignment, std::span<const OperationId> order) override;
  Execution run_recorded(const Assignment& assignment, std::span<const OperationId> order) override;

  // The cost that the published code prints for a makespan: float32(makespan) / float32(1e10),
  // widened.
  static double reference_cost(SimTime makespan);
  // Its text, as Python prints it: the shortest that reads back as the same double, always with a
  // fraction
  // ("1600.070068359375", "12.0").
  static std::string format_cost(double cost);

 private:
  struct Event {
    std::int32_t kind;     // an EventKind of the .cc
    std::int32_t subject;  // an operation, edge or device
  };

  std::int64_t run_any(const Assignment& assignment, Execution* record);
  void run_positive();
  void handle_alone(std::uint32_t payload);
  void handle_together(std::span<const std::uint32_t> due);
  void run_general();
  void handle(Event event);
  void handle_finish(std::int32_t operation);
  void move_due_timers();

  void reset(const Assignment& assignment);
  std::size_t device_of(std::int32_t operation) const {
    return static_cast<std::size_t>(devices_[operation].value());
  }
  // Sets the timer of its end and returns when that is.
  std::int64_t start(std::int32_t operation);
  void condition(std::int32_t operation);  // run_positive() only
  template <typename Handle>
  void arrive(std::int32_t operation, bool local, const Handle& handle);
  void set_transfer_timer(std::int32_t operation);
  void append(std::int32_t kind, std::int32_t subject) {
    fifo_[fifo_tail_++] = {.kind = kind, .subject = subject};
  }
  void grant_try(std::size_t device);
  void enqueue(std::int32_t operation, std::size_t device);
  std::int32_t dequeue(std::size_t device);  // -1 if the queue is empty

  // Constant after construction.
  std::int32_t operation_count_;
  std::int32_t device_count_;
  bool has_zero_cost_ = false;
  std::vector<std::int64_t> compute_;   // [operations]
  std::vector<std::int64_t> transfer_;  // [operations], of each out edge
  FlatGraph flat_;

  // State of one run.
  Execution* record_ = nullptr;  // null: nothing is recorded
  std::int64_t now_ = 0;
  const DeviceId* devices_ = nullptr;         // [operations], the assignment
  std::vector<std::int32_t> missing_inputs_;  // [operations]
  std::vector<std::int32_t> queue_next_;      // [operations], links of the device queues
  std::vector<std::int32_t> queue_head_;      // [devices], -1: empty
  std::vector<std::int32_t> queue_tail_;      // [devices]
  std::vector<std::uint8_t> busy_;            // [devices]
  TimerHeap timers_;
  std::vector<std::uint32_t> due_;     // payloads of the timers of this instant
  std::vector<std::int32_t> granted_;  // operations
  std::vector<std::int32_t> ready_;    // operations
  std::vector<Event> fifo_;            // run_general() only
  std::size_t fifo_head_ = 0;
  std::size_t fifo_tail_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_REFERENCE_SIMULATOR_H_
