#include "sim/execution_recorder.h"

#include <algorithm>
#include <utility>

namespace doppler {

void ExecutionRecorder::reset(std::size_t operation_count, std::size_t transfer_count) {
  record_ = Execution();
  record_.start.assign(operation_count, SimTime(0));
  record_.end.assign(operation_count, SimTime(0));
  record_.ready.assign(operation_count, SimTime(0));
  record_.wait.assign(operation_count, Wait());
  record_.transfers.assign(transfer_count, TransferRecord());
  request_count_ = 0;
  cause_.assign(operation_count, Wait());
  last_operation_.assign(static_cast<std::size_t>(topology_->device_count()), -1);
}

void ExecutionRecorder::ready(OperationId operation, Wait cause, SimTime now) {
  cause_[operation.index()] = cause;
  record_.ready[operation] = now;
}

void ExecutionRecorder::dispatched(OperationId operation, DeviceId device, SimTime now) {
  const std::int32_t last = std::exchange(last_operation_[device], operation.value());
  const bool waited = record_.ready[operation] != now && last >= 0;
  record_.wait[operation] =
      waited ? Wait{.kind = Wait::Kind::kDevice, .index = last} : cause_[operation.index()];
}

void ExecutionRecorder::ran(OperationId operation, SimTime start, SimTime end) {
  record_.start[operation] = start;
  record_.end[operation] = end;
}

void ExecutionRecorder::requested(std::int32_t id, const TransferRecord& request) {
  record_.transfers[static_cast<std::size_t>(id)] = request;
  ++request_count_;
}

void ExecutionRecorder::started(std::int32_t id, Wait wait, SimTime now) {
  TransferRecord& record = record_.transfers[static_cast<std::size_t>(id)];
  // A transfer that waited for no time at all waited for its producer.
  record.wait = record.requested == now
                    ? Wait{.kind = Wait::Kind::kOperation, .index = record.producer.value()}
                    : wait;
  record.start = now;
}

void ExecutionRecorder::sent(std::int32_t id, SimTime end) {
  record_.transfers[static_cast<std::size_t>(id)].end = end;
}

void ExecutionRecorder::sent(std::int32_t id, SimTime start, SimTime end) {
  record_.transfers[static_cast<std::size_t>(id)].start = start;
  sent(id, end);
}

Execution ExecutionRecorder::take(const Assignment& assignment, const MemoryMeter& memory,
                                  SimTime makespan) {
  record_.makespan = makespan;
  record_.transfers.resize(request_count_);
  record_.peak_memory_bytes = memory.peak();
  record_.allocated_bytes = memory.allocated();
  record_.freed_bytes = memory.freed();
  record_.largest_overflow_fraction = memory.largest_overflow_fraction();
  add_up(assignment);
  return std::exchange(record_, Execution());
}

// Busy times and bytes, from the times of operations and transfers.
void ExecutionRecorder::add_up(const Assignment& assignment) {
  record_.device_busy.assign(static_cast<std::size_t>(topology_->device_count()), SimTime(0));
  for (std::size_t o = 0; o < assignment.size(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    record_.device_busy[assignment[id]] += record_.end[id] - record_.start[id];
  }
  const std::size_t links = topology_->links().size();
  record_.link_busy.assign(links, SimTime(0));
  record_.link_bytes.assign(links, 0);
  std::vector<const TransferRecord*> by_start;
  by_start.reserve(record_.transfers.size());
  for (const TransferRecord& transfer : record_.transfers) by_start.push_back(&transfer);
  std::stable_sort(
      by_start.begin(), by_start.end(),
      [](const TransferRecord* a, const TransferRecord* b) { return a->start < b->start; });
  IdVector<LinkId, SimTime> busy_until(links, SimTime(0));
  for (const TransferRecord* transfer : by_start) {
    for (LinkId link : topology_->route(transfer->from, transfer->to).links) {
      record_.link_bytes[link] += transfer->bytes;
      const SimTime from = std::max(transfer->start, busy_until[link]);
      if (transfer->end <= from) continue;
      record_.link_busy[link] += transfer->end - from;
      busy_until[link] = transfer->end;
    }
  }
}

}  // namespace doppler
