#include "sim/ready_queues.h"

#include <algorithm>
#include <functional>

#include "common/check.h"

namespace doppler {

ReadyQueues::ReadyQueues(const Graph& graph, int device_count, Dispatch dispatch)
    : dispatch_(dispatch) {
  const std::size_t n = graph.operation_count();
  const auto devices = static_cast<std::size_t>(device_count);
  if (dispatch == Dispatch::kFifo) {
    next_.resize(n);
    head_.resize(devices);
    tail_.resize(devices);
    return;
  }
  slots_.resize(n);
  first_slot_.resize(devices + 1);
  count_.resize(devices);
  if (dispatch == Dispatch::kPriority) {
    rank_.resize(n);
    operation_of_.resize(n);
    default_rank_.resize(n);
    for (OperationId operation : graph.topological_order()) {
      default_rank_[operation.index()] = static_cast<std::int32_t>(default_operation_.size());
      default_operation_.push_back(operation.value());
    }
  }
}

void ReadyQueues::reset(const Assignment& assignment, std::span<const OperationId> order,
                        std::uint64_t seed) {
  if (dispatch_ == Dispatch::kFifo) {
    std::fill(head_.begin(), head_.end(), -1);
    return;
  }
  std::fill(count_.begin(), count_.end(), 0);
  std::fill(first_slot_.begin(), first_slot_.end(), 0);
  for (DeviceId device : assignment) ++first_slot_[device.index() + 1];
  for (std::size_t d = 1; d < first_slot_.size(); ++d) first_slot_[d] += first_slot_[d - 1];
  if (dispatch_ == Dispatch::kRandom) {
    random_ = RandomStream(derive_seed({seed, 0x64697370}));
    return;
  }
  if (order.empty()) {
    rank_ = default_rank_;
    operation_of_ = default_operation_;
    return;
  }
  DP_CHECK_EQ(order.size(), rank_.size());
  std::fill(rank_.begin(), rank_.end(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    DP_CHECK_LT(order[i].index(), rank_.size());
    DP_CHECK_EQ(rank_[order[i].index()], -1);  // each operation once
    rank_[order[i].index()] = static_cast<std::int32_t>(i);
    operation_of_[i] = order[i].value();
  }
}

void ReadyQueues::push_slot(std::int32_t operation, std::size_t device) {
  const auto first = slots_.begin() + first_slot_[device];
  std::int32_t& count = count_[device];
  if (dispatch_ == Dispatch::kRandom) {
    first[count++] = operation;
    return;
  }
  first[count++] = rank_[static_cast<std::size_t>(operation)];
  std::push_heap(first, first + count, std::greater<>());
}

std::int32_t ReadyQueues::pop_slot(std::size_t device) {
  const auto first = slots_.begin() + first_slot_[device];
  std::int32_t& count = count_[device];
  if (count == 0) return -1;
  if (dispatch_ == Dispatch::kRandom) {
    const auto chosen =
        static_cast<std::ptrdiff_t>(random_.next_below(static_cast<std::uint64_t>(count)));
    const std::int32_t operation = first[chosen];
    first[chosen] = first[--count];
    return operation;
  }
  std::pop_heap(first, first + count, std::greater<>());
  return operation_of_[static_cast<std::size_t>(first[--count])];
}

}  // namespace doppler
