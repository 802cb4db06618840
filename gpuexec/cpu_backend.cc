#include "gpuexec/cpu_backend.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "common/check.h"
#include "gpuexec/cpu_kernels.h"
#include "gpuexec/pause.h"
#include "gpuexec/run_core.h"

namespace doppler {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// The calling thread on the index-th of the cores that this process may use.
void pin_thread(std::size_t index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;  // then it is not pinned
  const auto count = static_cast<std::size_t>(CPU_COUNT(&allowed));
  if (count == 0) return;
  std::size_t nth = index % count;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || nth-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

// Denormals would make the time of an operation depend on its numbers.
void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace

void CpuBackend::Release::operator()(void* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): from aligned_alloc
}

CpuBackend::CpuBackend(const Topology& topology, const CpuOptions& options)
    : topology_(&topology), options_(options) {
  const std::size_t devices = topology.devices().size();
  memory_.resize(devices);
  reserved_.assign(devices, 0);
  for (std::size_t i = 0; i < 2 * devices; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->copies = i >= devices;
  }
  try {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i]->thread = std::thread([this, i] { run_worker(*workers_[i], i); });
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw SystemError(std::string("std::thread: ") + error.what());
  }
}

CpuBackend::~CpuBackend() {
  end_threads();
}

void CpuBackend::end_threads() {
  gate_.close();
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

std::vector<MemoryShortage> CpuBackend::load(const RunPlan& plan,
                                             const std::vector<OperationWork>& works) {
  DP_CHECK_EQ(plan.device_count(), device_count());
  if (precedence_ == nullptr || precedence_of_ != plan.graph().content_hash()) {
    precedence_ = std::make_unique<Precedence>(plan.graph());
    precedence_of_ = plan.graph().content_hash();
  }
  plan_ = &plan;
  works_ = &works;
  std::vector<std::int64_t> bytes;
  for (const PlannedBuffer& buffer : plan.buffers()) bytes.push_back(buffer.bytes);
  IdVector<DeviceId, std::int64_t> scratch(static_cast<std::size_t>(device_count()), 0);
  for (std::int32_t o = 0; o < plan.operation_count(); ++o) {
    std::int64_t& most = scratch[plan.device_of(o)];
    most = std::max(most, works[static_cast<std::size_t>(o)].scratch_elements *
                              static_cast<std::int64_t>(sizeof(float)));
  }
  arena_ = plan_arena(plan, *precedence_, bytes, scratch);
  std::vector<MemoryShortage> shortages;
  for (std::int32_t d = 0; d < device_count(); ++d) {
    const DeviceId device(d);
    // Without a limit, the system would grant the memory and end the process when it is used.
    const std::int64_t capacity = memory_bytes(device);
    if (capacity > 0 && arena_.bytes[device] > capacity) {
      shortages.push_back(
          {.device = device, .needed_bytes = arena_.bytes[device], .available_bytes = capacity});
    }
  }
  if (!shortages.empty()) return shortages;
  for (std::int32_t d = 0; d < device_count(); ++d) {
    const DeviceId device(d);
    try {
      reserve(device, arena_.bytes[device]);
    } catch (const std::bad_alloc&) {
      return {{.device = device, .needed_bytes = arena_.bytes[device], .available_bytes = 0}};
    }
  }
  read_addresses_.clear();
  first_read_.clear();
  for (std::int32_t o = 0; o < plan.operation_count(); ++o) {
    first_read_.push_back(read_addresses_.size());
    for (const PlannedRead& read : plan.reads(o)) read_addresses_.push_back(address(read.buffer));
  }
  fill_inputs();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = *workers_[i];
    // A device has one operation; an engine at most all transfers at once.
    worker.queue.assign(worker.copies ? plan.transfers().size() + 1 : 2, -1);
    worker.head = worker.count = 0;
  }
  return {};
}

void CpuBackend::reserve(DeviceId device, std::int64_t bytes) {
  std::int64_t& reserved = reserved_[device.index()];
  if (bytes <= reserved && memory_[device.index()] != nullptr) return;
  memory_[device.index()].reset();  // before the new one, or both would have to fit
  reserved = 0;
  const std::size_t size = (static_cast<std::size_t>(bytes) + kHugePage) / kHugePage * kHugePage;
  auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(kHugePage, size));
  if (memory == nullptr) throw std::bad_alloc();
  memory_[device.index()].reset(memory);
  static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));  // only a wish
  reserved = bytes;
}

float* CpuBackend::address(std::int32_t buffer) const {
  const auto b = static_cast<std::size_t>(buffer);
  std::uint8_t* base = memory_[plan_->buffers()[b].device.index()].get();
  return reinterpret_cast<float*>(base + arena_.offset[b]);
}

void CpuBackend::fill_inputs() const {
  const auto fill = [this](std::uint64_t tensor, std::int32_t buffer) {
    fill_tensor(tensor, address(buffer),
                float_count(plan_->buffers()[static_cast<std::size_t>(buffer)].bytes));
  };
  for (std::int32_t o : plan_->entries()) {
    if (plan_->is_given(o)) fill(given_tensor(o), plan_->output_buffer(o));
  }
  for (auto b = static_cast<std::size_t>(plan_->first_input_buffer()); b < plan_->buffers().size();
       ++b) {
    const auto buffer = static_cast<std::int32_t>(b);
    fill(input_tensor(plan_->input_of(buffer)), buffer);
  }
}

void CpuBackend::push(Worker& worker, std::int32_t item) {
  DP_CHECK_LT(worker.count, worker.queue.size());
  worker.queue[(worker.head + worker.count++) % worker.queue.size()] = item;
  worker.poked.store(true, std::memory_order_release);
  worker.wake.notify_one();
}

void CpuBackend::start_operation(std::int32_t operation, std::int64_t /*now*/) {
  push(*workers_[plan_->device_of(operation).index()], operation);
}

void CpuBackend::start_transfer(std::int32_t transfer, std::int64_t /*now*/) {
  const auto devices = static_cast<std::size_t>(device_count());
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  push(*workers_[devices + planned.from.index()], transfer);
}

void CpuBackend::run_worker(Worker& worker, std::size_t index) {
  flush_denormals();
  if (options_.pin_threads && !worker.copies) pin_thread(index);
  std::uint64_t last_run = 0;
  while (RunCore* core = gate_.enter(last_run)) {
    std::exception_ptr failure;
    try {
      work_through(worker, *core);
    } catch (...) {
      failure = std::current_exception();
      const std::lock_guard lock(core->mutex());
      core->stop();
      core->abandon();
      wake_all();
    }
    gate_.leave(std::move(failure));
  }
}

// One run.
void CpuBackend::work_through(Worker& worker, RunCore& core) {
  std::unique_lock lock(core.mutex());
  while (true) {
    if (worker.count == 0 && !core.finished()) {
      worker.poked.store(false, std::memory_order_relaxed);
      lock.unlock();
      const std::int64_t until = now_nanoseconds() + options_.spin_nanoseconds;
      while (!worker.poked.load(std::memory_order_acquire) && now_nanoseconds() < until) {
        pause_briefly();
      }
      lock.lock();
      worker.wake.wait(lock, [&] { return worker.count > 0 || core.finished(); });
    }
    if (worker.count == 0) return;
    const std::int32_t item = worker.queue[worker.head];
    worker.head = (worker.head + 1) % worker.queue.size();
    --worker.count;
    lock.unlock();
    const std::int64_t began = now_nanoseconds();
    worker.copies ? run_transfer(item) : run_operation(item);
    const std::int64_t ended = now_nanoseconds();
    lock.lock();
    const std::int64_t now = now_nanoseconds();
    if (worker.copies) {
      core.transfer_ended(item, began, ended, now);
    } else {
      core.operation_ended(item, began, ended, now);
    }
    if (core.finished()) wake_all();
  }
}

void CpuBackend::wake_all() {
  for (auto& worker : workers_) {
    worker->poked.store(true, std::memory_order_release);
    worker->wake.notify_one();
  }
}

void CpuBackend::run_operation(std::int32_t operation) const {
  const auto o = static_cast<std::size_t>(operation);
  const OperationWork& work = (*works_)[o];
  const std::int32_t buffer = plan_->output_buffer(operation);
  const DeviceId device = plan_->device_of(operation);
  std::uint8_t* scratch = memory_[device.index()].get() + arena_.scratch[device];
  run_work(work, {read_addresses_.data() + first_read_[o], work.read_elements.size()},
           address(buffer), float_count(plan_->buffers()[static_cast<std::size_t>(buffer)].bytes),
           reinterpret_cast<float*>(scratch));
}

void CpuBackend::run_transfer(std::int32_t transfer) const {
  const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
  const std::int32_t target = plan_->copy_buffer(transfer);
  const auto bytes =
      static_cast<std::size_t>(plan_->buffers()[static_cast<std::size_t>(target)].bytes);
  std::memcpy(address(target), address(plan_->output_buffer(planned.producer.value())), bytes);
}

void CpuBackend::drive(RunCore& core, std::int64_t deadline) {
  {
    const std::lock_guard lock(core.mutex());
    for (auto& worker : workers_) {
      worker->head = worker->count = 0;
      worker->poked.store(false, std::memory_order_relaxed);
    }
  }
  gate_.open(core, workers_.size());
  {
    const std::lock_guard lock(core.mutex());
    core.begin(now_nanoseconds());
    if (core.finished()) wake_all();
  }
  if (!gate_.left_by(deadline)) {
    const std::lock_guard lock(core.mutex());
    core.stop();
    wake_all();
  }
  gate_.wait_until_left();
}

std::int64_t CpuBackend::memory_bytes(DeviceId device) const {
  if (const auto stated = topology_->device(device).memory_bytes) return *stated;
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return pages <= 0 || page <= 0 ? 0 : pages * page / 10 * 9 / device_count();
}

std::vector<std::uint8_t> CpuBackend::read_result(std::int32_t operation, std::int64_t bytes) {
  const auto* data =
      reinterpret_cast<const std::uint8_t*>(address(plan_->output_buffer(operation)));
  return {data, data + bytes};
}

}  // namespace doppler
