#include "gpuexec/run_core.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace doppler {

RunCore::RunCore(const CostTable& costs, const Topology& topology, const PhysicalOptions& options)
    : costs_(&costs),
      topology_(&topology),
      options_(options),
      operation_count_(static_cast<std::int32_t>(costs.graph().operation_count())),
      ready_(costs.graph(), costs.device_count(), options.dispatch),
      serial_(topology, costs.graph().edge_count()),
      memory_(costs.graph(), topology) {
  DP_CHECK_EQ(costs.device_count(), topology.device_count());
}

void RunCore::prepare(const RunPlan& plan, std::span<const OperationId> order, Backend& backend) {
  DP_CHECK(&plan.graph() == &costs_->graph());
  const auto n = static_cast<std::size_t>(operation_count_);
  const auto devices = static_cast<std::size_t>(costs_->device_count());
  plan_ = &plan;
  backend_ = &backend;
  finished_count_ = under_way_ = request_count_ = 0;
  stopped_ = false;
  missing_inputs_.resize(n);
  for (std::int32_t o = 0; o < operation_count_; ++o) {
    missing_inputs_[static_cast<std::size_t>(o)] = plan.in_degree(o);
  }
  busy_.assign(devices, 0);
  last_operation_.assign(devices, -1);
  cause_.assign(n, Wait());
  arrival_.assign(n, 0);
  ready_.reset(plan.assignment(), order, options_.seed);
  serial_.reset();
  memory_.reset(plan.assignment());
  record_ = Execution();
  record_.start.assign(n, SimTime(0));
  record_.end.assign(n, SimTime(0));
  record_.ready.assign(n, SimTime(0));
  record_.wait.assign(n, Wait());
  record_.transfers.assign(plan.transfers().size(), TransferRecord());
  record_of_.assign(plan.transfers().size(), -1);
  transfer_of_.assign(plan.transfers().size(), -1);
}

void RunCore::begin(std::int64_t now) {
  origin_ = last_end_ = now;
  for (std::int32_t operation : plan_->entries()) {
    if (!plan_->is_given(operation)) {
      arrival_[static_cast<std::size_t>(operation)] = now;
      ready_.push(operation, plan_->device_of(operation).index());
      continue;
    }
    memory_.operation_starts(OperationId(operation));
    release_output(operation, now);
  }
  for (std::int32_t operation : plan_->entries()) {
    dispatch(plan_->device_of(operation).index(), now);
  }
}

void RunCore::operation_ended(std::int32_t operation, std::int64_t began, std::int64_t ended,
                              std::int64_t now) {
  --under_way_;
  const OperationId id(operation);
  record_.start[id] = since_begin(began);
  record_.end[id] = since_begin(ended);
  last_end_ = std::max(last_end_, ended);
  release_output(operation, now);
  const std::size_t device = plan_->device_of(operation).index();
  busy_[device] = 0;
  dispatch(device, now);
}

// The output of an operation is there.
void RunCore::release_output(std::int32_t operation, std::int64_t now) {
  ++finished_count_;
  const std::int32_t first = plan_->first_transfer(operation);
  const std::int32_t end = plan_->end_transfer(operation);
  const auto local = plan_->local_consumers(operation);
  memory_.operation_ends(OperationId(operation), static_cast<int>(local.size()), end - first);
  for (std::int32_t consumer : local) {
    arrive(consumer, {.kind = Wait::Kind::kOperation, .index = operation}, now);
  }
  for (std::int32_t transfer = first; transfer < end; ++transfer) request_transfer(transfer, now);
}

void RunCore::request_transfer(std::int32_t transfer, std::int64_t now) {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  const std::int32_t request = request_count_++;
  record_of_[static_cast<std::size_t>(transfer)] = request;
  transfer_of_[static_cast<std::size_t>(request)] = transfer;
  TransferRecord& record = record_.transfers[static_cast<std::size_t>(request)];
  record.producer = planned.producer;
  record.first_edge = planned.first_edge;
  record.from = planned.from;
  record.to = planned.to;
  record.bytes = planned.bytes;
  record.requested = since_begin(now);
  record.alone_time = topology_->route(planned.from, planned.to).transfer_time(planned.bytes);
  if (options_.contention == Contention::kSerial && !serial_.try_start(request, pair_of(planned))) {
    return;
  }
  start_transfer(transfer, {.kind = Wait::Kind::kOperation, .index = planned.producer.value()},
                 now);
}

void RunCore::start_transfer(std::int32_t transfer, Wait wait, std::int64_t now) {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  memory_.transfer_starts(planned.to, planned.bytes);
  record_.transfers[static_cast<std::size_t>(record_of_[static_cast<std::size_t>(transfer)])].wait =
      wait;
  if (stopped_) return;
  ++under_way_;
  backend_->start_transfer(transfer, now);
}

void RunCore::transfer_ended(std::int32_t transfer, std::int64_t began, std::int64_t ended,
                             std::int64_t now) {
  --under_way_;
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  const std::int32_t request = record_of_[static_cast<std::size_t>(transfer)];
  TransferRecord& record = record_.transfers[static_cast<std::size_t>(request)];
  record.start = since_begin(began);
  record.end = since_begin(ended);
  memory_.transfer_ends(request, planned.producer);
  if (options_.contention == Contention::kSerial) {
    serial_.finish(pair_of(planned), [&](std::int32_t started, std::int32_t resource) {
      start_transfer(transfer_of_[static_cast<std::size_t>(started)],
                     serial_.describe(resource, request), now);
    });
  }
  const Graph& graph = plan_->graph();
  for (std::size_t e = planned.first_edge.index(); e < graph.edge_count(); ++e) {
    const Edge& edge = graph.edges()[e];
    if (edge.source != planned.producer) break;
    if (plan_->assignment()[edge.destination] != planned.to) continue;
    memory_.copy_is_read(EdgeId(static_cast<std::int32_t>(e)), request, planned.bytes);
  }
  for (std::int32_t consumer : plan_->consumers(transfer)) {
    arrive(consumer, {.kind = Wait::Kind::kTransfer, .index = request}, now);
  }
  dispatch(planned.to.index(), now);
}

void RunCore::arrive(std::int32_t operation, Wait cause, std::int64_t now) {
  const auto index = static_cast<std::size_t>(operation);
  if (--missing_inputs_[index] != 0) return;
  cause_[index] = cause;
  arrival_[index] = now;
  record_.ready[OperationId(operation)] = since_begin(now);
  ready_.push(operation, plan_->device_of(operation).index());
}

void RunCore::dispatch(std::size_t device, std::int64_t now) {
  if (busy_[device] != 0 || stopped_) return;
  const std::int32_t operation = ready_.pop(device);
  if (operation < 0) return;
  busy_[device] = 1;
  const auto index = static_cast<std::size_t>(operation);
  memory_.operation_starts(OperationId(operation));
  const bool waited = arrival_[index] != now && last_operation_[device] >= 0;
  record_.wait[OperationId(operation)] =
      waited ? Wait{.kind = Wait::Kind::kDevice, .index = last_operation_[device]} : cause_[index];
  last_operation_[device] = operation;
  ++under_way_;
  backend_->start_operation(operation, now);
}

Execution RunCore::take_record() {
  DP_CHECK(complete());
  memory_.finish();
  record_.makespan = makespan();
  record_.transfers.resize(static_cast<std::size_t>(request_count_));
  record_.peak_memory_bytes = memory_.peak();
  record_.allocated_bytes = memory_.allocated();
  record_.freed_bytes = memory_.freed();
  record_.largest_overflow_fraction = memory_.largest_overflow_fraction();
  account(record_);
  return std::exchange(record_, Execution());
}

// Busy times and bytes, from the times of operations and transfers.
void RunCore::account(Execution& record) const {
  record.device_busy.assign(static_cast<std::size_t>(costs_->device_count()), SimTime(0));
  for (std::int32_t o = 0; o < operation_count_; ++o) {
    const OperationId id(o);
    record.device_busy[plan_->device_of(o)] += record.end[id] - record.start[id];
  }
  const std::size_t links = topology_->links().size();
  record.link_busy.assign(links, SimTime(0));
  record.link_bytes.assign(links, 0);
  std::vector<const TransferRecord*> by_start;
  by_start.reserve(record.transfers.size());
  for (const TransferRecord& transfer : record.transfers) by_start.push_back(&transfer);
  std::stable_sort(
      by_start.begin(), by_start.end(),
      [](const TransferRecord* a, const TransferRecord* b) { return a->start < b->start; });
  IdVector<LinkId, SimTime> busy_until(links, SimTime(0));
  for (const TransferRecord* transfer : by_start) {
    for (LinkId link : topology_->route(transfer->from, transfer->to).links) {
      record.link_bytes[link] += transfer->bytes;
      const SimTime from = std::max(transfer->start, busy_until[link]);
      if (transfer->end <= from) continue;
      record.link_busy[link] += transfer->end - from;
      busy_until[link] = transfer->end;
    }
  }
}

}  // namespace doppler
