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
      memory_(costs.graph(), topology),
      recorder_(topology) {
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
  ready_.reset(plan.assignment(), order, options_.seed);
  serial_.reset();
  memory_.reset(plan.assignment());
  recorder_.reset(n, plan.transfers().size());
  request_of_.assign(plan.transfers().size(), -1);
  transfer_of_.assign(plan.transfers().size(), -1);
}

void RunCore::begin(std::int64_t now) {
  origin_ = last_end_ = now;
  for (std::int32_t operation : plan_->entries()) {
    if (!plan_->is_given(operation)) {
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
  recorder_.ran(OperationId(operation), since_begin(began), since_begin(ended));
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
  request_of_[static_cast<std::size_t>(transfer)] = request;
  transfer_of_[static_cast<std::size_t>(request)] = transfer;
  TransferRecord record;
  record.producer = planned.producer;
  record.first_edge = planned.first_edge;
  record.from = planned.from;
  record.to = planned.to;
  record.bytes = planned.bytes;
  record.requested = since_begin(now);
  record.alone_time = topology_->route(planned.from, planned.to).transfer_time(planned.bytes);
  recorder_.requested(request, record);
  if (options_.contention == Contention::kSerial && !serial_.try_start(request, pair_of(planned))) {
    return;
  }
  start_transfer(transfer, {.kind = Wait::Kind::kOperation, .index = planned.producer.value()},
                 now);
}

void RunCore::start_transfer(std::int32_t transfer, Wait wait, std::int64_t now) {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  memory_.transfer_starts(planned.to, planned.bytes);
  recorder_.started(request_of_[static_cast<std::size_t>(transfer)], wait, since_begin(now));
  if (stopped_) return;
  ++under_way_;
  backend_->start_transfer(transfer, now);
}

void RunCore::transfer_ended(std::int32_t transfer, std::int64_t began, std::int64_t ended,
                             std::int64_t now) {
  --under_way_;
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  const std::int32_t request = request_of_[static_cast<std::size_t>(transfer)];
  recorder_.sent(request, since_begin(began), since_begin(ended));
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
  if (--missing_inputs_[static_cast<std::size_t>(operation)] != 0) return;
  recorder_.ready(OperationId(operation), cause, since_begin(now));
  ready_.push(operation, plan_->device_of(operation).index());
}

void RunCore::dispatch(std::size_t device, std::int64_t now) {
  if (busy_[device] != 0 || stopped_) return;
  const std::int32_t operation = ready_.pop(device);
  if (operation < 0) return;
  busy_[device] = 1;
  memory_.operation_starts(OperationId(operation));
  recorder_.dispatched(OperationId(operation), DeviceId(static_cast<std::int32_t>(device)),
                       since_begin(now));
  ++under_way_;
  backend_->start_operation(operation, now);
}

Execution RunCore::take_record() {
  DP_CHECK(complete());
  memory_.finish();
  return recorder_.take(plan_->assignment(), memory_, makespan());
}

}  // namespace doppler
