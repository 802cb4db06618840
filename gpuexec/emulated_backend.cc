#include "gpuexec/emulated_backend.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <sys/prctl.h>

#include "common/check.h"
#include "common/random.h"
#include "gpuexec/pause.h"
#include "gpuexec/run_core.h"

namespace doppler {
namespace {

constexpr std::uint32_t kOperationEnds = 0;
constexpr std::uint32_t kTransferEnds = 1;
constexpr std::uint32_t kFlowBegins = 2;  // fair sharing: the latency is over
constexpr std::uint32_t kEventBits = 2;
constexpr std::int64_t kTicksPerNanosecond = 1000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t to_nanoseconds(SimTime time) {
  return (time.ticks() + kTicksPerNanosecond / 2) / kTicksPerNanosecond;
}

// The kernel may be up to 50 microseconds late otherwise.
void ask_for_punctual_timers() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace

EmulatedBackend::EmulatedBackend(const CostTable& costs, const Topology& topology,
                                 Contention contention, const EmulatedOptions& options)
    : costs_(&costs),
      topology_(&topology),
      contention_(contention),
      options_(options),
      precedence_(costs.graph()),
      fair_(topology, costs.graph().edge_count()) {
  const std::size_t timers = costs.graph().operation_count() + costs.graph().edge_count();
  DP_CHECK_LT(timers, std::size_t{1} << (32 - kEventBits));
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int pacers =
      std::clamp(options.pacers > 0 ? options.pacers : cores / 2, 1, 2 * topology.device_count());
  for (int i = 0; i < pacers; ++i) pacers_.push_back(std::make_unique<Pacer>(timers));
  memory_.resize(topology.devices().size());
  try {
    for (std::size_t i = 1; i < pacers_.size(); ++i) {
      threads_.emplace_back([this, i] { run_pacer(i); });
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw SystemError(std::string("std::thread: ") + error.what());
  }
}

EmulatedBackend::~EmulatedBackend() {
  end_threads();
}

void EmulatedBackend::end_threads() {
  gate_.close();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<MemoryShortage> EmulatedBackend::load(const RunPlan& plan,
                                                  const std::vector<OperationWork>& /*works*/) {
  DP_CHECK(&plan.graph() == &costs_->graph());
  plan_ = &plan;
  const auto devices = static_cast<std::size_t>(device_count());
  const IdVector<DeviceId, std::int64_t> no_scratch(devices, 0);
  std::vector<std::int64_t> bytes;
  for (const PlannedBuffer& buffer : plan.buffers()) bytes.push_back(buffer.bytes);
  needed_bytes_ = plan_arena(plan, precedence_, bytes, no_scratch).bytes;
  std::vector<MemoryShortage> shortages;
  for (std::int32_t d = 0; d < device_count(); ++d) {
    const DeviceId device(d);
    const auto capacity = topology_->device(device).memory_bytes;
    if (capacity && needed_bytes_[device] > *capacity) {
      shortages.push_back(
          {.device = device, .needed_bytes = needed_bytes_[device], .available_bytes = *capacity});
    }
  }
  if (!shortages.empty()) return shortages;
  bytes.assign(bytes.size(), kDigestBytes);
  arena_ = plan_arena(plan, precedence_, bytes, no_scratch);
  for (std::size_t d = 0; d < devices; ++d) {
    memory_[d].assign(
        static_cast<std::size_t>(arena_.bytes[DeviceId(static_cast<int>(d))]) / sizeof(Digest),
        Digest());
  }
  began_.assign(static_cast<std::size_t>(plan.operation_count()) + plan.transfers().size(), 0);
  for (std::int32_t o : plan.entries()) {
    if (plan.is_given(o)) *at(o) = {.first = given_tensor(o), .second = 1};
  }
  for (auto b = static_cast<std::size_t>(plan.first_input_buffer()); b < plan.buffers().size();
       ++b) {
    const auto buffer = static_cast<std::int32_t>(b);
    *at(buffer) = {.first = input_tensor(plan.input_of(buffer)), .second = 2};
  }
  return {};
}

EmulatedBackend::Digest* EmulatedBackend::at(std::int32_t buffer) const {
  const auto b = static_cast<std::size_t>(buffer);
  const auto slot = static_cast<std::size_t>(arena_.offset[b]) / sizeof(Digest);
  return const_cast<Digest*>(memory_[plan_->buffers()[b].device.index()].data()) + slot;
}

void EmulatedBackend::compute(std::int32_t operation) const {
  Digest digest = {.first = mix_bits(static_cast<std::uint64_t>(operation) + 1), .second = 3};
  for (const PlannedRead& read : plan_->reads(operation)) {
    const Digest& input = *at(read.buffer);
    digest.first = mix_bits(digest.first + 0x9e3779b97f4a7c15ULL + input.first);
    digest.second = mix_bits(digest.second + 0x9e3779b97f4a7c15ULL + input.second);
  }
  *at(plan_->output_buffer(operation)) = digest;
}

void EmulatedBackend::copy(std::int32_t transfer) const {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  *at(plan_->copy_buffer(transfer)) = *at(plan_->output_buffer(planned.producer.value()));
}

std::vector<std::uint8_t> EmulatedBackend::read_result(std::int32_t operation,
                                                       std::int64_t /*bytes*/) {
  std::vector<std::uint8_t> bytes(sizeof(Digest));
  std::memcpy(bytes.data(), at(plan_->output_buffer(operation)), sizeof(Digest));
  return bytes;
}

void EmulatedBackend::wake(Pacer& pacer, std::int64_t time) {
  if (time >= pacer.next_time.load(std::memory_order_relaxed)) return;
  pacer.next_time.store(time, std::memory_order_relaxed);
  if (pacer.sleeping) pacer.wake.notify_one();
}

void EmulatedBackend::wake_all() {
  for (auto& pacer : pacers_) wake(*pacer, 0);
}

void EmulatedBackend::set_timer(std::size_t pacer, std::int64_t time, std::int32_t subject,
                                std::uint32_t event) {
  pacers_[pacer]->heap.push(time, static_cast<std::uint32_t>(subject) << kEventBits | event);
  wake(*pacers_[pacer], time);
}

void EmulatedBackend::start_operation(std::int32_t operation, std::int64_t now) {
  const DeviceId device = plan_->device_of(operation);
  began_[static_cast<std::size_t>(operation)] = now;
  const std::int64_t duration =
      options_.free_of_time ? 0 : to_nanoseconds(costs_->compute(OperationId(operation), device));
  set_timer(pacer_of(device), now + duration, operation, kOperationEnds);
}

void EmulatedBackend::start_transfer(std::int32_t transfer, std::int64_t now) {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  began_[static_cast<std::size_t>(plan_->copy_buffer(transfer))] = now;
  const Route& route = topology_->route(planned.from, planned.to);
  if (options_.free_of_time) {
    set_timer(pacer_of(planned.from), now, transfer, kTransferEnds);
  } else if (contention_ == Contention::kFair && planned.bytes > 0) {
    set_timer(0, now + to_nanoseconds(route.latency), transfer, kFlowBegins);
  } else {
    set_timer(pacer_of(planned.from), now + to_nanoseconds(route.transfer_time(planned.bytes)),
              transfer, kTransferEnds);
  }
}

void EmulatedBackend::finish_transfer(std::int32_t transfer, RunCore& core,
                                      std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  copy(transfer);
  const std::int64_t ended = now_nanoseconds();
  lock.lock();
  core.transfer_ended(transfer, began_[static_cast<std::size_t>(plan_->copy_buffer(transfer))],
                      ended, now_nanoseconds());
}

// Carries out what is due; whether there was anything.
bool EmulatedBackend::step(Pacer& pacer, RunCore& core, std::unique_lock<std::mutex>& lock) {
  const std::int64_t now = now_nanoseconds();
  const std::int64_t timer = pacer.heap.empty() ? kNever : pacer.heap.top_time();
  if (&pacer == pacers_[0].get() && next_fair_end() <= std::min(timer, now)) {
    fair_time_ = fair_.next_time();
    const std::int32_t transfer = fair_.end_next();
    if (fair_.changed()) fair_.share(fair_time_, 0);
    finish_transfer(transfer, core, lock);
    return true;
  }
  if (timer > now) return false;
  const std::uint32_t payload = pacer.heap.pop();
  const auto subject = static_cast<std::int32_t>(payload >> kEventBits);
  switch (payload & ((1U << kEventBits) - 1)) {
    case kFlowBegins: {
      const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(subject)];
      fair_time_ = std::max(fair_time_, (timer - origin_) * kTicksPerNanosecond);
      fair_.begin(subject, planned.from.index() * topology_->devices().size() + planned.to.index(),
                  static_cast<double>(planned.bytes), fair_time_);
      fair_.share(fair_time_, 0);
      break;
    }
    case kTransferEnds:
      finish_transfer(subject, core, lock);
      break;
    default: {
      lock.unlock();
      compute(subject);
      const std::int64_t ended = now_nanoseconds();
      lock.lock();
      core.operation_ended(subject, began_[static_cast<std::size_t>(subject)], ended,
                           now_nanoseconds());
    }
  }
  return true;
}

// In nanoseconds.
std::int64_t EmulatedBackend::next_fair_end() const {
  const std::int64_t next = fair_.next_time();
  return next == kNever ? kNever : origin_ + (next + kTicksPerNanosecond / 2) / kTicksPerNanosecond;
}

void EmulatedBackend::wait_for_next(std::size_t index, RunCore& core, std::int64_t deadline,
                                    std::unique_lock<std::mutex>& lock) {
  Pacer& pacer = *pacers_[index];
  std::int64_t next = pacer.heap.empty() ? kNever : pacer.heap.top_time();
  if (index == 0) next = std::min(next, next_fair_end());
  next = std::min(next, deadline);
  pacer.next_time.store(next, std::memory_order_relaxed);
  const std::int64_t until = next - options_.spin_nanoseconds;
  if (now_nanoseconds() < until) {
    pacer.sleeping = true;
    pacer.wake.wait_until(lock,
                          std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)));
    pacer.sleeping = false;
    return;
  }
  lock.unlock();
  while (now_nanoseconds() < pacer.next_time.load(std::memory_order_relaxed)) pause_briefly();
  lock.lock();
  if (now_nanoseconds() < deadline || core.finished()) return;
  core.stop();
  core.abandon();
}

// One run, as seen by one pacer.
void EmulatedBackend::pace(std::size_t index, RunCore& core, std::int64_t deadline) {
  std::unique_lock lock(core.mutex());
  while (!core.finished()) {
    if (!step(*pacers_[index], core, lock)) wait_for_next(index, core, deadline, lock);
  }
  wake_all();
}

void EmulatedBackend::run_pacer(std::size_t index) {
  ask_for_punctual_timers();
  std::uint64_t last_run = 0;
  while (RunCore* core = gate_.enter(last_run)) {
    pace(index, *core, deadline_);
    gate_.leave();
  }
}

void EmulatedBackend::drive(RunCore& core, std::int64_t deadline) {
  ask_for_punctual_timers();
  {
    // The pacers of the run before have left it.
    const std::lock_guard lock(core.mutex());
    for (auto& pacer : pacers_) {
      pacer->heap.clear();
      pacer->next_time.store(kNever, std::memory_order_relaxed);
    }
    fair_.reset();
    fair_time_ = 0;
    origin_ = now_nanoseconds();
    // Nothing is finished before it has begun; the others wait for the lock.
    deadline_ = deadline;
    gate_.open(core, threads_.size());
    origin_ = now_nanoseconds();
    core.begin(origin_);
  }
  pace(0, core, deadline);
  gate_.wait_until_left();
}

}  // namespace doppler
