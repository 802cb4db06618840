// ReadyQueues: per device, the operations that have all their inputs and wait for their turn.
//
// No allocation after construction; O(1) a step, O(log n) with priorities. Not thread-safe.
#ifndef DOPPLER_SIM_READY_QUEUES_H_
#define DOPPLER_SIM_READY_QUEUES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"
#include "common/physical_options.h"
#include "common/random.h"

namespace doppler {

class ReadyQueues {
 public:
  ReadyQueues(const Graph& graph, int device_count, Dispatch dispatch);

  // Empties all queues. `order` ranks the operations (kPriority only); where it is empty, the
  // graph's topological order does.
  void reset(const Assignment& assignment, std::span<const OperationId> order, std::uint64_t seed);

  void push(std::int32_t operation, std::size_t device) {
    if (dispatch_ == Dispatch::kFifo) {
      next_[static_cast<std::size_t>(operation)] = -1;
      if (head_[device] < 0) {
        head_[device] = operation;
      } else {
        next_[static_cast<std::size_t>(tail_[device])] = operation;
      }
      tail_[device] = operation;
    } else {
      push_slot(operation, device);
    }
  }

  // The operation that `device` takes next, or -1.
  std::int32_t pop(std::size_t device) {
    if (dispatch_ != Dispatch::kFifo) return pop_slot(device);
    const std::int32_t head = head_[device];
    if (head >= 0) head_[device] = next_[static_cast<std::size_t>(head)];
    return head;
  }

 private:
  void push_slot(std::int32_t operation, std::size_t device);
  std::int32_t pop_slot(std::size_t device);

  Dispatch dispatch_;
  std::vector<std::int32_t> default_rank_;       // [operations], kPriority
  std::vector<std::int32_t> default_operation_;  // [operations], by rank
  RandomStream random_{0};

  // kFifo: linked lists.
  std::vector<std::int32_t> next_;  // [operations]
  std::vector<std::int32_t> head_;  // [devices], -1: empty
  std::vector<std::int32_t> tail_;  // [devices]

  // Otherwise: each device has as many slots as operations are assigned to it. They hold ranks, as
  // a heap (kPriority), or operations in any order (kRandom).
  std::vector<std::int32_t> slots_;         // [operations]
  std::vector<std::int32_t> first_slot_;    // [devices + 1]
  std::vector<std::int32_t> count_;         // [devices]
  std::vector<std::int32_t> rank_;          // [operations]
  std::vector<std::int32_t> operation_of_;  // [operations], by rank
};

}  // namespace doppler

#endif  // DOPPLER_SIM_READY_QUEUES_H_
