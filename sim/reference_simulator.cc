#include "sim/reference_simulator.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "common/check.h"
#include "common/reference_cost.h"

namespace doppler {
namespace {

// What a timer stands for: an operation and whether its computation or its transfers end. All
// transfers of an operation take the same time and are set one after the other, so no other timer
// can lie between them: one timer serves all.
constexpr std::uint32_t kComputeDone = 0;
constexpr std::uint32_t kTransfersDone = 1;

constexpr std::uint32_t payload_of(std::int32_t operation, std::uint32_t what) {
  return static_cast<std::uint32_t>(operation) << 1 | what;
}
constexpr std::uint32_t what_of(std::uint32_t payload) {
  return payload & 1;
}
constexpr std::int32_t operation_of(std::uint32_t payload) {
  return static_cast<std::int32_t>(payload >> 1);
}

enum EventKind : std::int32_t {
  kCondition,     // operation: all its inputs are there
  kGrant,         // operation: it gets its device
  kCompDone,      // operation
  kRelease,       // device
  kFinish,        // operation
  kTransferDone,  // edge
  kArrived,       // edge
};

}  // namespace

ReferenceSimulator::ReferenceSimulator(const CostTable& costs)
    : operation_count_(static_cast<std::int32_t>(costs.graph().operation_count())),
      device_count_(costs.device_count()),
      flat_(costs.graph()),
      // A computation per device or a set of transfers per operation at most; both may be under way
      // for all.
      timers_(2 * costs.graph().operation_count()) {
  const Graph& graph = costs.graph();
  const auto n = static_cast<std::size_t>(operation_count_);
  for (std::size_t i = 0; i < n; ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    const SimTime compute = costs.compute(id, DeviceId(0));
    SimTime transfer;
    if (device_count_ > 1 && graph.out_degree(id) > 0) {
      transfer = costs.transfer(graph.first_out_edge(id), DeviceId(0), DeviceId(1));
      has_zero_cost_ = has_zero_cost_ || transfer == SimTime(0);
    }
    has_zero_cost_ = has_zero_cost_ || compute == SimTime(0);
    compute_.push_back(compute.ticks());
    transfer_.push_back(transfer.ticks());
  }

  const auto devices = static_cast<std::size_t>(device_count_);
  missing_inputs_.resize(n);
  queue_next_.resize(n);
  queue_head_.resize(devices);
  queue_tail_.resize(devices);
  busy_.resize(devices);
  due_.resize(2 * n);
  granted_.resize(n);
  ready_.resize(n);
  // In one instant each operation causes at most one event of each of five kinds, and each edge one
  // of each of two.
  if (has_zero_cost_) fifo_.resize(5 * n + 2 * flat_.destinations.size());
}

SimTime ReferenceSimulator::run(const Assignment& assignment,
                                std::span<const OperationId> /*order*/) {
  return SimTime(run_any(assignment, nullptr));
}

Execution ReferenceSimulator::run_recorded(const Assignment& assignment,
                                           std::span<const OperationId> /*order*/) {
  Execution record;
  record.start.assign(static_cast<std::size_t>(operation_count_), SimTime(0));
  record.end.assign(static_cast<std::size_t>(operation_count_), SimTime(0));
  record.makespan = SimTime(run_any(assignment, &record));
  return record;
}

std::int64_t ReferenceSimulator::run_any(const Assignment& assignment, Execution* record) {
  reset(assignment);
  record_ = record;
  if (has_zero_cost_) {
    run_general();
  } else {
    run_positive();
  }
  return now_;  // the last event is the end of an operation
}

void ReferenceSimulator::reset(const Assignment& assignment) {
  DP_CHECK_EQ(assignment.size(), static_cast<std::size_t>(operation_count_));
  devices_ = assignment.raw().data();
  std::uint32_t largest = 0;  // a negative id is a large one
  for (std::int32_t i = 0; i < operation_count_; ++i) {
    largest = std::max(largest, static_cast<std::uint32_t>(devices_[i].value()));
  }
  DP_CHECK_LT(largest, static_cast<std::uint32_t>(device_count_));

  std::copy(flat_.in_degree.begin(), flat_.in_degree.end(), missing_inputs_.begin());
  std::fill(queue_head_.begin(), queue_head_.end(), -1);
  std::fill(busy_.begin(), busy_.end(), std::uint8_t{0});
  timers_.clear();
  now_ = 0;
}

inline void ReferenceSimulator::enqueue(std::int32_t operation, std::size_t device) {
  queue_next_[static_cast<std::size_t>(operation)] = -1;
  if (queue_head_[device] < 0) {
    queue_head_[device] = operation;
  } else {
    queue_next_[static_cast<std::size_t>(queue_tail_[device])] = operation;
  }
  queue_tail_[device] = operation;
}

inline std::int32_t ReferenceSimulator::dequeue(std::size_t device) {
  const std::int32_t head = queue_head_[device];
  if (head >= 0) queue_head_[device] = queue_next_[static_cast<std::size_t>(head)];
  return head;
}

inline std::int64_t ReferenceSimulator::start(std::int32_t operation) {
  const std::int64_t end = now_ + compute_[static_cast<std::size_t>(operation)];
  if (record_ != nullptr) [[unlikely]] {
    record_->start[OperationId(operation)] = SimTime(now_);
    record_->end[OperationId(operation)] = SimTime(end);
  }
  if (end > now_) timers_.push(end, payload_of(operation, kComputeDone));
  return end;
}

inline void ReferenceSimulator::condition(std::int32_t operation) {
  const std::size_t device = device_of(operation);
  if (busy_[device] == 0) {
    busy_[device] = 1;
    start(operation);
  } else {
    enqueue(operation, device);
  }
}

// Calls `handle` for each operation of which the last missing input is an edge of `operation` that
// stays on its device (or leaves it, if not `local`), in edge order.
template <typename Handle>
inline void ReferenceSimulator::arrive(std::int32_t operation, bool local, const Handle& handle) {
  const DeviceId device = devices_[operation];
  const auto index = static_cast<std::size_t>(operation);
  for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
    const std::int32_t destination = flat_.destinations[static_cast<std::size_t>(e)];
    if ((devices_[destination] == device) != local) continue;
    if (--missing_inputs_[static_cast<std::size_t>(destination)] == 0) handle(destination);
  }
}

inline void ReferenceSimulator::set_transfer_timer(std::int32_t operation) {
  const DeviceId device = devices_[operation];
  const auto index = static_cast<std::size_t>(operation);
  bool leaves = false;
  for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
    leaves |= devices_[flat_.destinations[static_cast<std::size_t>(e)]] != device;
  }
  if (leaves) timers_.push(now_ + transfer_[index], payload_of(operation, kTransfersDone));
}

// The FIFO of an instant, handled round by round: round r + 1 is what the events of round r
// appended. With positive costs it is
//   0  COMP_DONE and XFER_DONE (of a transfer), from the timers
//   1  RELEASE, FINISH (sets the transfer timers); ARRIVED (of a transfer)
//   2  GRANT after a RELEASE (sets a timer); XFER_DONE of the local edges; CONDITION after a
//   transfer 3  GRANT after that CONDITION (sets a timer); ARRIVED of the local edges 4  CONDITION
//   after a local edge 5  GRANT after that CONDITION (sets a timer)
// Within a round the order is that of the causes. GRANT only sets its timer, and in rounds 3 to 5
// nothing else sets any, so each GRANT may follow its CONDITION at once; by the same argument the
// ARRIVED of a local edge and its CONDITION. A device that is idle in round 2 or later has an empty
// queue (RELEASE came in round 1), so the operation of a CONDITION gets an idle device itself.
void ReferenceSimulator::run_positive() {
  for (std::int32_t operation : flat_.entries) condition(operation);
  while (!timers_.empty()) {
    now_ = timers_.top_time();
    const std::uint32_t first = timers_.pop();
    if (timers_.empty() || timers_.top_time() != now_) {
      handle_alone(first);
      continue;
    }
    std::size_t due_count = 0;
    due_[due_count++] = first;
    while (!timers_.empty() && timers_.top_time() == now_) due_[due_count++] = timers_.pop();
    handle_together({due_.data(), due_count});
  }
}

// handle_together() for a single timer, without its lists.
inline void ReferenceSimulator::handle_alone(std::uint32_t payload) {
  const std::int32_t operation = operation_of(payload);
  const auto ready = [this](std::int32_t destination) { condition(destination); };
  if (what_of(payload) == kTransfersDone) {
    arrive(operation, false, ready);
    return;
  }
  const std::size_t device = device_of(operation);
  const std::int32_t next = dequeue(device);
  set_transfer_timer(operation);
  if (next >= 0) {
    start(next);
  } else {
    busy_[device] = 0;
  }
  arrive(operation, true, ready);
}

inline void ReferenceSimulator::handle_together(std::span<const std::uint32_t> due) {
  for (std::uint32_t payload : due) {  // round 0
    if (what_of(payload) == kComputeDone) busy_[device_of(operation_of(payload))] = 0;
  }
  std::size_t granted_count = 0;
  std::size_t ready_count = 0;
  for (std::uint32_t payload : due) {  // round 1
    const std::int32_t operation = operation_of(payload);
    if (what_of(payload) == kTransfersDone) {
      arrive(operation, false, [&](std::int32_t ready) { ready_[ready_count++] = ready; });
      continue;
    }
    const std::size_t device = device_of(operation);
    const std::int32_t next = dequeue(device);
    if (next >= 0) {
      busy_[device] = 1;
      granted_[granted_count++] = next;
    }
    set_transfer_timer(operation);
  }
  for (std::size_t i = 0; i < granted_count; ++i) start(granted_[i]);  // round 2
  for (std::size_t i = 0; i < ready_count; ++i) condition(ready_[i]);  // rounds 2 and 3
  for (std::uint32_t payload : due) {                                  // rounds 3 to 5
    if (what_of(payload) != kComputeDone) continue;
    arrive(operation_of(payload), true, [this](std::int32_t ready) { condition(ready); });
  }
}

void ReferenceSimulator::run_general() {
  fifo_head_ = fifo_tail_ = 0;
  for (std::int32_t operation : flat_.entries) append(kCondition, operation);
  while (true) {
    while (fifo_head_ < fifo_tail_) handle(fifo_[fifo_head_++]);
    if (timers_.empty()) return;
    move_due_timers();
  }
}

// Time advances to the earliest timer, and all timers of that time move into the FIFO.
void ReferenceSimulator::move_due_timers() {
  fifo_head_ = fifo_tail_ = 0;
  now_ = timers_.top_time();
  while (!timers_.empty() && timers_.top_time() == now_) {
    const std::uint32_t payload = timers_.pop();
    const std::int32_t operation = operation_of(payload);
    if (what_of(payload) == kComputeDone) {
      append(kCompDone, operation);
      continue;
    }
    const auto index = static_cast<std::size_t>(operation);
    for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
      const bool leaves =
          devices_[flat_.destinations[static_cast<std::size_t>(e)]] != devices_[operation];
      if (leaves) append(kTransferDone, e);
    }
  }
}

void ReferenceSimulator::grant_try(std::size_t device) {
  if (busy_[device] != 0) return;
  const std::int32_t next = dequeue(device);
  if (next < 0) return;
  busy_[device] = 1;
  append(kGrant, next);
}

void ReferenceSimulator::handle(Event event) {
  switch (event.kind) {
    case kCondition: {
      const std::size_t device = device_of(event.subject);
      enqueue(event.subject, device);
      grant_try(device);
      break;
    }
    case kGrant:
      if (start(event.subject) == now_) append(kCompDone, event.subject);
      break;
    case kCompDone: {
      const std::size_t device = device_of(event.subject);
      busy_[device] = 0;
      append(kRelease, static_cast<std::int32_t>(device));
      append(kFinish, event.subject);
      break;
    }
    case kRelease:
      grant_try(static_cast<std::size_t>(event.subject));
      break;
    case kFinish:
      handle_finish(event.subject);
      break;
    case kTransferDone:
      append(kArrived, event.subject);
      break;
    default: {  // kArrived
      const std::int32_t destination = flat_.destinations[static_cast<std::size_t>(event.subject)];
      if (--missing_inputs_[static_cast<std::size_t>(destination)] == 0) {
        append(kCondition, destination);
      }
      break;
    }
  }
}

// Transfers that take time share one timer; local edges and transfers of no time are done at once.
void ReferenceSimulator::handle_finish(std::int32_t operation) {
  const auto index = static_cast<std::size_t>(operation);
  bool leaves = false;
  for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
    const bool local =
        devices_[flat_.destinations[static_cast<std::size_t>(e)]] == devices_[operation];
    if (local || transfer_[index] == 0) {
      append(kTransferDone, e);
    } else {
      leaves = true;
    }
  }
  if (leaves) timers_.push(now_ + transfer_[index], payload_of(operation, kTransfersDone));
}

double ReferenceSimulator::reference_cost(SimTime makespan) {
  return doppler::reference_cost(makespan);
}

std::string ReferenceSimulator::format_cost(double cost) {
  std::array<char, 64> buffer{};
  // Where Python changes from one notation to the other.
  const bool plain = cost == 0 || (std::abs(cost) >= 1e-4 && std::abs(cost) < 1e16);
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), cost,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), result.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace doppler
