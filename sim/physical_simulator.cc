#include "sim/physical_simulator.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/time_rounding.h"

namespace doppler {
namespace {

// What a timer stands for.
constexpr std::uint32_t kOperationEnds = 0;
constexpr std::uint32_t kTransferEnds = 1;
constexpr std::uint32_t kFlowBegins = 2;  // fair sharing: the latency is over
constexpr std::uint32_t kEventBits = 2;

constexpr double kPenaltyPerOverflow = 10;

// The links of a mode that is not used need no room.
std::size_t capacity_for(bool used, const Graph& graph) {
  return used ? graph.edge_count() : 0;
}

}  // namespace

PhysicalSimulator::PhysicalSimulator(const CostTable& costs, const Topology& topology,
                                     const PhysicalOptions& options)
    : costs_(&costs),
      topology_(&topology),
      options_(options),
      operation_count_(static_cast<std::int32_t>(costs.graph().operation_count())),
      device_count_(costs.device_count()),
      flat_(costs.graph()),
      bytes_(costs.graph()),
      noise_(costs.graph(), options.noise),
      ready_(costs.graph(), costs.device_count(), options.dispatch),
      timers_(costs.graph().operation_count() + costs.graph().edge_count()),
      serial_(topology, capacity_for(options.contention == Contention::kSerial, costs.graph())),
      fair_(topology, capacity_for(options.contention == Contention::kFair, costs.graph())),
      memory_(costs.graph(), topology),
      recorder_(topology) {
  DP_CHECK_EQ(costs.device_count(), topology.device_count());
  const Graph& graph = costs.graph();
  DP_CHECK(graph.cost_unit() == CostUnit::kPhysical);
  DP_CHECK_LT(graph.operation_count(), std::size_t{1} << (32 - kEventBits));
  DP_CHECK_LT(graph.edge_count(), std::size_t{1} << (32 - kEventBits));
  const auto n = static_cast<std::size_t>(operation_count_);
  for (std::size_t i = 0; i < n; ++i) {
    const OperationId id(static_cast<std::int32_t>(i));
    is_given_.push_back(graph.in_degree(id) == 0 && graph.operation(id).kind == "input" ? 1 : 0);
  }
  const auto devices = static_cast<std::size_t>(device_count_);
  missing_inputs_.resize(n);
  busy_.resize(devices);
  delivery_.resize(devices);
  next_edge_.resize(flat_.destinations.size());
  transfers_.resize(flat_.destinations.size());
}

SimTime PhysicalSimulator::run(const Assignment& assignment, std::span<const OperationId> order) {
  has_memory_ = options_.memory == MemoryRule::kEnforce;
  has_record_ = false;
  return run_any(assignment, order);
}

Execution PhysicalSimulator::run_recorded(const Assignment& assignment,
                                          std::span<const OperationId> order) {
  has_memory_ = true;
  has_record_ = true;
  recorder_.reset(static_cast<std::size_t>(operation_count_), transfers_.size());
  run_any(assignment, order);
  Execution record = recorder_.take(assignment, memory_, SimTime(now_));
  record.feasible = feasible_;
  return record;
}

SimTime PhysicalSimulator::run_any(const Assignment& assignment,
                                   std::span<const OperationId> order) {
  has_noise_ = !noise_.quiet();
  reset(assignment, order);
  const bool detailed = has_noise_ || has_memory_ || has_record_;
  switch (options_.contention) {
    case Contention::kNone:
      detailed ? simulate<Contention::kNone, true>() : simulate<Contention::kNone, false>();
      break;
    case Contention::kSerial:
      detailed ? simulate<Contention::kSerial, true>() : simulate<Contention::kSerial, false>();
      break;
    case Contention::kFair:
      detailed ? simulate<Contention::kFair, true>() : simulate<Contention::kFair, false>();
      break;
  }
  DP_CHECK_EQ(finished_count_, operation_count_);
  const SimTime makespan(now_);  // the last event is the end of an operation
  feasible_ = true;
  double overflow = 0;
  if (has_memory_) {
    memory_.finish();
    overflow = memory_.largest_overflow_fraction();
    feasible_ = overflow <= 0 || options_.memory == MemoryRule::kReport;
  }
  return feasible_ ? makespan : scale_time(makespan, 1 + kPenaltyPerOverflow * overflow);
}

void PhysicalSimulator::reset(const Assignment& assignment, std::span<const OperationId> order) {
  DP_CHECK_EQ(assignment.size(), static_cast<std::size_t>(operation_count_));
  devices_ = assignment.raw().data();
  std::uint32_t largest = 0;  // a negative id is a large one
  for (std::int32_t i = 0; i < operation_count_; ++i) {
    largest = std::max(largest, static_cast<std::uint32_t>(devices_[i].value()));
  }
  DP_CHECK_LT(largest, static_cast<std::uint32_t>(device_count_));
  if (!costs_->all_allowed()) {
    for (std::int32_t i = 0; i < operation_count_; ++i) {
      DP_CHECK(costs_->allowed(OperationId(i), devices_[i]));
    }
  }
  std::copy(flat_.in_degree.begin(), flat_.in_degree.end(), missing_inputs_.begin());
  std::fill(busy_.begin(), busy_.end(), std::uint8_t{0});
  std::fill(delivery_.begin(), delivery_.end(), Delivery());
  transfer_count_ = 0;
  finished_count_ = 0;
  now_ = 0;
  timers_.clear();
  ready_.reset(assignment, order, options_.seed);
  if (options_.contention == Contention::kSerial) serial_.reset();
  if (options_.contention == Contention::kFair) fair_.reset();
  if (has_memory_) memory_.reset(assignment);
}

inline void PhysicalSimulator::set_timer(std::int64_t time, std::int32_t subject,
                                         std::uint32_t event) {
  timers_.push(time, static_cast<std::uint32_t>(subject) << kEventBits | event);
}

template <Contention Mode, bool Detailed>
void PhysicalSimulator::simulate() {
  start_entries<Mode, Detailed>();
  while (true) {
    if constexpr (Mode == Contention::kFair) {
      if (end_fair_transfer<Mode, Detailed>()) continue;
    }
    if (timers_.empty()) return;
    now_ = timers_.top_time();
    const std::uint32_t payload = timers_.pop();
    const auto subject = static_cast<std::int32_t>(payload >> kEventBits);
    const std::uint32_t event = payload & ((1U << kEventBits) - 1);
    if (event == kOperationEnds) {
      end_operation<Mode, Detailed>(subject);
    } else if (Mode == Contention::kNone) {
      std::int32_t id = subject;
      do {
        end_transfer<Mode, Detailed>(id++);
      } while (id < transfer_count_ && transfers_[static_cast<std::size_t>(id)].joins_previous);
    } else if (Mode != Contention::kFair || event == kTransferEnds) {
      end_transfer<Mode, Detailed>(subject);
    } else {
      begin_flow(subject);
    }
  }
}

// Carries out the end of a shared transfer if that is the next event. Shares are recomputed once
// all events of the present instant are done.
template <Contention Mode, bool Detailed>
bool PhysicalSimulator::end_fair_transfer() {
  if (fair_.changed() && fair_.next_time() > now_ &&
      (timers_.empty() || timers_.top_time() > now_)) {
    fair_.share(now_, timers_.take_sequence());
  }
  const std::int64_t time = fair_.next_time();
  if (time == std::numeric_limits<std::int64_t>::max()) return false;
  if (!timers_.empty() &&
      (timers_.top_time() < time ||
       (timers_.top_time() == time && timers_.top_sequence() < fair_.next_sequence()))) {
    return false;
  }
  now_ = time;
  end_transfer<Mode, Detailed>(fair_.end_next());
  return true;
}

template <Contention Mode, bool Detailed>
void PhysicalSimulator::start_entries() {
  for (std::int32_t operation : flat_.entries) {
    const auto device = static_cast<std::size_t>(device_of(operation));
    if (is_given_[static_cast<std::size_t>(operation)] == 0) {
      ready_.push(operation, device);
      continue;
    }
    if constexpr (Detailed) {
      if (has_memory_) memory_.operation_starts(OperationId(operation));
    }
    release_output<Mode, Detailed>(operation);
  }
  for (std::int32_t operation : flat_.entries) {
    dispatch<Detailed>(static_cast<std::size_t>(device_of(operation)));
  }
}

// The output of an operation is there.
template <Contention Mode, bool Detailed>
inline void PhysicalSimulator::release_output(std::int32_t operation) {
  ++finished_count_;
  const auto index = static_cast<std::size_t>(operation);
  const std::int32_t own = device_of(operation);
  const std::int32_t first_transfer = transfer_count_;
  [[maybe_unused]] int local_readers = 0;
  if constexpr (Detailed) {
    if (has_memory_) {
      // Inputs are freed before copies are allocated, so readers and transfers are counted first.
      int transfers = 0;
      for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
        const std::int32_t to = device_of(flat_.destinations[static_cast<std::size_t>(e)]);
        std::int32_t& producer = delivery_[static_cast<std::size_t>(to)].producer;
        if (to == own) {
          ++local_readers;
        } else if (producer != operation) {
          producer = operation;
          ++transfers;
        }
      }
      std::fill(delivery_.begin(), delivery_.end(), Delivery());
      memory_.operation_ends(OperationId(operation), local_readers, transfers);
    }
  }
  for (std::int32_t e = flat_.out_offsets[index]; e < flat_.out_offsets[index + 1]; ++e) {
    const std::int32_t destination = flat_.destinations[static_cast<std::size_t>(e)];
    const std::int32_t to = device_of(destination);
    if (to == own) {
      arrive<Detailed>(destination, Wait::Kind::kOperation, operation);
      continue;
    }
    Delivery& delivery = delivery_[static_cast<std::size_t>(to)];
    next_edge_[static_cast<std::size_t>(e)] = -1;
    if (delivery.producer == operation) {
      next_edge_[static_cast<std::size_t>(delivery.last_edge)] = e;
    } else {
      delivery.producer = operation;
      request_transfer<Mode, Detailed>(operation, e, to, first_transfer);
    }
    delivery.last_edge = e;
  }
}

template <Contention Mode, bool Detailed>
inline void PhysicalSimulator::end_operation(std::int32_t operation) {
  const auto device = static_cast<std::size_t>(device_of(operation));
  release_output<Mode, Detailed>(operation);
  busy_[device] = 0;
  dispatch<Detailed>(device);
}

template <bool Detailed>
inline void PhysicalSimulator::arrive(std::int32_t operation, [[maybe_unused]] Wait::Kind cause,
                                      [[maybe_unused]] std::int32_t index) {
  if (--missing_inputs_[static_cast<std::size_t>(operation)] != 0) return;
  if constexpr (Detailed) {
    if (has_record_) {
      recorder_.ready(OperationId(operation), {.kind = cause, .index = index}, SimTime(now_));
    }
  }
  ready_.push(operation, static_cast<std::size_t>(device_of(operation)));
}

template <bool Detailed>
inline void PhysicalSimulator::dispatch(std::size_t device) {
  if (busy_[device] != 0) return;
  const std::int32_t operation = ready_.pop(device);
  if (operation < 0) return;
  busy_[device] = 1;
  SimTime duration = costs_->compute(OperationId(operation), DeviceId(static_cast<int>(device)));
  if constexpr (Detailed) {
    if (has_noise_) {
      duration = scale_time(duration, noise_.operation_factor(options_.seed, operation));
    }
    operation_starts(operation, duration, device);
  }
  set_timer(now_ + duration.ticks(), operation, kOperationEnds);
}

double PhysicalSimulator::transfer_factor(const Transfer& transfer) const {
  if (!has_noise_) return 1;
  return noise_.transfer_factor(options_.seed, transfer.producer,
                                flat_.destinations[static_cast<std::size_t>(transfer.first_edge)]);
}

template <Contention Mode, bool Detailed>
inline void PhysicalSimulator::request_transfer(std::int32_t operation, std::int32_t edge,
                                                std::int32_t to, std::int32_t first_of_operation) {
  const std::int32_t from = device_of(operation);
  const std::int32_t id = transfer_count_++;
  Transfer& transfer = transfers_[static_cast<std::size_t>(id)];
  transfer.producer = operation;
  transfer.first_edge = edge;
  transfer.pair = from * device_count_ + to;
  transfer.to = to;
  transfer.joins_previous = false;
  if (bytes_.equal(operation)) {
    transfer.duration = costs_->transfer(EdgeId(edge), DeviceId(from), DeviceId(to)).ticks();
  } else {
    transfer.duration = topology_->route(DeviceId(from), DeviceId(to))
                            .transfer_time(bytes_.of(operation, edge, to, devices_))
                            .ticks();
  }
  if constexpr (Detailed) {
    if (has_noise_) {
      transfer.duration = scale_time(SimTime(transfer.duration), transfer_factor(transfer)).ticks();
    }
    if (has_record_) {
      TransferRecord record;
      record.producer = OperationId(operation);
      record.first_edge = EdgeId(edge);
      record.from = DeviceId(from);
      record.to = DeviceId(to);
      record.bytes = bytes_.of(operation, edge, to, devices_);
      record.requested = SimTime(now_);
      record.alone_time = SimTime(transfer.duration);
      recorder_.requested(id, record);
    }
  }
  if constexpr (Mode == Contention::kSerial) {
    if (!serial_.try_start(id, static_cast<std::size_t>(transfer.pair))) return;
  }
  if constexpr (Detailed) {
    transfer_starts(id, {.kind = Wait::Kind::kOperation, .index = operation});
  }
  if constexpr (Mode == Contention::kFair) {
    const std::int64_t before = latency(id);
    if (before == 0 && transfer.duration > 0) {
      begin_flow(id);
    } else {
      const bool flows = transfer.duration > before;
      set_timer(now_ + before, id, flows ? kFlowBegins : kTransferEnds);
    }
  } else {
    if constexpr (Mode == Contention::kNone) {
      // Nothing can come between transfers that are requested together and end together.
      if (id > first_of_operation &&
          transfers_[static_cast<std::size_t>(id - 1)].duration == transfer.duration) {
        transfer.joins_previous = true;
        return;
      }
    }
    set_timer(now_ + transfer.duration, id, kTransferEnds);
  }
}

// How long a transfer is under way before its bytes flow.
std::int64_t PhysicalSimulator::latency(std::int32_t id) const {
  const Transfer& transfer = transfers_[static_cast<std::size_t>(id)];
  const Route& route =
      topology_->route(DeviceId(transfer.pair / device_count_), DeviceId(transfer.to));
  if (!has_noise_) return route.latency.ticks();
  return scale_time(route.latency, transfer_factor(transfer)).ticks();
}

void PhysicalSimulator::begin_flow(std::int32_t id) {
  const Transfer& transfer = transfers_[static_cast<std::size_t>(id)];
  const std::int64_t bytes = bytes_of(transfer);
  fair_.begin(id, static_cast<std::size_t>(transfer.pair),
              static_cast<double>(bytes) * transfer_factor(transfer), now_);
}

template <Contention Mode, bool Detailed>
inline void PhysicalSimulator::end_transfer(std::int32_t id) {
  const Transfer& transfer = transfers_[static_cast<std::size_t>(id)];
  const std::int32_t to = transfer.to;
  const std::int32_t first_edge = transfer.first_edge;
  if constexpr (Detailed) {
    if (has_memory_) memory_.transfer_ends(id, OperationId(transfer.producer));
    if (has_record_) recorder_.sent(id, SimTime(now_));
  }
  if constexpr (Mode == Contention::kSerial) {
    serial_.finish(static_cast<std::size_t>(transfer.pair),
                   [&](std::int32_t started, std::int32_t resource) {
                     if constexpr (Detailed)
                       transfer_starts(started, serial_.describe(resource, id));
                     set_timer(now_ + transfers_[static_cast<std::size_t>(started)].duration,
                               started, kTransferEnds);
                   });
  }
  [[maybe_unused]] std::int64_t bytes = 0;
  if constexpr (Detailed) {
    bytes = bytes_of(transfer);
  }
  for (std::int32_t e = first_edge; e >= 0; e = next_edge_[static_cast<std::size_t>(e)]) {
    const std::int32_t destination = flat_.destinations[static_cast<std::size_t>(e)];
    if constexpr (Detailed) {
      if (has_memory_) memory_.copy_is_read(EdgeId(e), id, bytes);
    }
    arrive<Detailed>(destination, Wait::Kind::kTransfer, id);
  }
  dispatch<Detailed>(static_cast<std::size_t>(to));
}

// Detailed runs: the route is taken from now on.
void PhysicalSimulator::transfer_starts(std::int32_t id, Wait wait) {
  const Transfer& transfer = transfers_[static_cast<std::size_t>(id)];
  const std::int64_t bytes = bytes_of(transfer);
  if (has_memory_) memory_.transfer_starts(DeviceId(transfer.to), bytes);
  if (has_record_) recorder_.started(id, wait, SimTime(now_));
}

// Detailed runs.
void PhysicalSimulator::operation_starts(std::int32_t operation, SimTime duration,
                                         std::size_t device) {
  const OperationId id(operation);
  if (has_memory_) memory_.operation_starts(id);
  if (!has_record_) return;
  recorder_.dispatched(id, DeviceId(static_cast<std::int32_t>(device)), SimTime(now_));
  recorder_.ran(id, SimTime(now_), SimTime(now_) + duration);
}

}  // namespace doppler
