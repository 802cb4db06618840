#include "gpuexec/cuda_backend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "common/check.h"
#include "common/error.h"
#include "gpuexec/arena_plan.h"
#include "gpuexec/cpu_kernels.h"
#include "gpuexec/cublas_library.h"
#include "gpuexec/cuda_check.h"
#include "gpuexec/cuda_clocks.h"
#include "gpuexec/cuda_device.h"
#include "gpuexec/cuda_handles.h"
#include "gpuexec/cuda_kernels.h"
#include "gpuexec/cuda_launch.h"
#include "gpuexec/precedence.h"
#include "gpuexec/run_core.h"

namespace doppler {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what cuBLAS asks for on Hopper
constexpr std::int64_t kGraceNanoseconds = 10'000'000'000;  // for kernels that run at a time-out
constexpr std::int64_t kFloatBytes = sizeof(float);

class CudaBackend : public Backend {
 public:
  CudaBackend(const Topology& topology, const CudaOptions& options)
      : topology_(&topology), gpu_count_(cuda_gpu_count()) {
    if (gpu_count_ == 0) {
      throw SystemError(
          "cuda: no GPU that this process may use; look at nvidia-smi and CUDA_VISIBLE_DEVICES");
    }
    for (std::int32_t d = 0; d < topology.device_count(); ++d) {
      devices_.push_back(std::make_unique<CudaDevice>());
      CudaDevice& device = *devices_.back();
      device.gpu = d % gpu_count_;
      DP_CUDA(cudaSetDevice(device.gpu));
      device.compute.create();
      device.copy.create();
      device.done.create();
      device.staged.create();
      device.copy_in.create();
      device.cublas.create();
      device.workspace.allocate(kWorkspaceBytes);
      DP_CUBLAS(cublas_library().set_stream(device.cublas.get(), device.compute.get()));
      DP_CUBLAS(cublas_library().set_workspace(device.cublas.get(), device.workspace.get(),
                                               kWorkspaceBytes));
    }
    enable_peers(options);
  }
  ~CudaBackend() override {
    if (!poisoned_) return;
    // Freeing would wait for a kernel that does not end; the process is about to.
    for (auto& device : devices_) device.release();
    for (CudaEvent& event : transfer_done_) event.release();
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  std::string name() const override { return "cuda"; }
  int device_count() const override { return topology_->device_count(); }

  std::vector<MemoryShortage> load(const RunPlan& plan,
                                   const std::vector<OperationWork>& works) override {
    if (precedence_ == nullptr || precedence_of_ != plan.graph().content_hash()) {
      precedence_ = std::make_unique<Precedence>(plan.graph());
      precedence_of_ = plan.graph().content_hash();
    }
    plan_ = &plan;
    works_ = &works;
    std::vector<std::int64_t> bytes;
    for (const PlannedBuffer& buffer : plan.buffers()) bytes.push_back(buffer.bytes);
    IdVector<DeviceId, std::int64_t> scratch(devices_.size(), kPartialSums * kFloatBytes);
    for (std::int32_t o = 0; o < plan.operation_count(); ++o) {
      std::int64_t& most = scratch[plan.device_of(o)];
      most = std::max(most, works[static_cast<std::size_t>(o)].scratch_elements * kFloatBytes);
    }
    arena_ = plan_arena(plan, *precedence_, bytes, scratch);
    std::vector<MemoryShortage> shortages = reserve();
    if (!shortages.empty()) return shortages;
    prepare_transfers();
    fill_inputs();
    std::size_t most_reads = 0;
    for (std::int32_t o = 0; o < plan.operation_count(); ++o) {
      most_reads = std::max(most_reads, plan.reads(o).size());
    }
    read_addresses_.reserve(most_reads);
    return {};
  }

  void start_operation(std::int32_t operation, std::int64_t now) override {
    CudaDevice& device = state_of(plan_->device_of(operation));
    DP_CUDA(cudaSetDevice(device.gpu));
    launch(device, operation);
    DP_CUDA(cudaEventRecord(device.done.get(), device.compute.get()));
    device.operation = operation;
    device.began = now;
  }

  void start_transfer(std::int32_t transfer, std::int64_t now) override {
    const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
    CudaDevice& from = state_of(planned.from);
    CudaDevice& to = state_of(planned.to);
    const std::int32_t target = plan_->copy_buffer(transfer);
    const auto bytes =
        static_cast<std::size_t>(plan_->buffers()[static_cast<std::size_t>(target)].bytes);
    const float* source = address(plan_->output_buffer(planned.producer.value()));
    float* destination = address(target);
    DP_CUDA(cudaSetDevice(from.gpu));
    if (goes_through_host(from, to)) {
      send_through_host(from, to, transfer, source, destination, bytes);
    } else {
      send_directly(from, to, source, destination, bytes);
      DP_CUDA(cudaEventRecord(transfer_done_[static_cast<std::size_t>(transfer)].get(),
                              from.copy.get()));
    }
    from.sent[from.sent_end++] = {.transfer = transfer, .began = now};
  }

  void drive(RunCore& core, std::int64_t deadline) override {
    const std::lock_guard lock(core.mutex());
    for (auto& device : devices_) {
      device->operation = -1;
      device->sent_begin = device->sent_end = 0;
      device->last_staged = -1;
    }
    core.begin(now_nanoseconds());
    while (!core.finished()) {
      poll(core);
      const std::int64_t now = now_nanoseconds();
      if (now > deadline) core.stop();
      if (now > deadline + kGraceNanoseconds && !core.finished()) {
        poisoned_ = true;
        throw PoisonedError("cuda: a kernel still runs " +
                            std::to_string(kGraceNanoseconds / 1'000'000'000) +
                            " s after the time-out; the process must end to get rid of it");
      }
    }
  }

  std::vector<std::uint8_t> read_result(std::int32_t operation, std::int64_t bytes) override {
    std::vector<std::uint8_t> result(static_cast<std::size_t>(bytes));
    DP_CUDA(cudaSetDevice(state_of(plan_->device_of(operation)).gpu));
    DP_CUDA(cudaMemcpy(result.data(), address(plan_->output_buffer(operation)), result.size(),
                       cudaMemcpyDeviceToHost));
    return result;
  }

  const IdVector<DeviceId, std::int64_t>& arena_bytes() const override { return arena_.bytes; }

  // What the topology states, else an equal share of what the GPU had free.
  std::int64_t memory_bytes(DeviceId device) const override {
    if (const auto stated = topology_->device(device).memory_bytes) return *stated;
    const int gpu = devices_[device.index()]->gpu;
    std::int64_t sharers = 0;
    for (const auto& other : devices_) sharers += other->gpu == gpu ? 1 : 0;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    DP_CUDA(cudaSetDevice(gpu));
    DP_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    return static_cast<std::int64_t>(free_bytes / 20 * 19) / sharers;
  }

  std::string machine_state() override {
    std::string text;
    for (int gpu = 0; gpu < std::min(gpu_count_, device_count()); ++gpu) {
      text += (text.empty() ? "" : "; ") + describe_gpu(gpu);
    }
    return text;
  }

 private:
  CudaDevice& state_of(DeviceId device) { return *devices_[device.index()]; }

  float* address(std::int32_t buffer) const {
    const auto b = static_cast<std::size_t>(buffer);
    const CudaDevice& device = *devices_[plan_->buffers()[b].device.index()];
    return reinterpret_cast<float*>(device.arena.get() + arena_.offset[b]);
  }

  bool goes_through_host(const CudaDevice& from, const CudaDevice& to) const {
    return all_through_host_ ||
           (from.gpu != to.gpu &&
            peers_[static_cast<std::size_t>(from.gpu * gpu_count_ + to.gpu)] == 0);
  }

  static void send_directly(const CudaDevice& from, const CudaDevice& to, const float* source,
                            float* destination, std::size_t bytes) {
    if (from.gpu == to.gpu) {
      DP_CUDA(
          cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, from.copy.get()));
    } else {
      DP_CUDA(cudaMemcpyPeerAsync(destination, to.gpu, source, from.gpu, bytes, from.copy.get()));
    }
  }

  // Out on the source's stream, in on the destination's; the next one through the buffer waits
  // until it is empty again.
  void send_through_host(CudaDevice& from, CudaDevice& to, std::int32_t transfer,
                         const float* source, float* destination, std::size_t bytes) {
    cudaEvent_t done = transfer_done_[static_cast<std::size_t>(transfer)].get();
    if (from.last_staged >= 0) {
      cudaEvent_t before = transfer_done_[static_cast<std::size_t>(from.last_staged)].get();
      DP_CUDA(cudaStreamWaitEvent(from.copy.get(), before, 0));
    }
    from.last_staged = transfer;
    DP_CUDA(cudaMemcpyAsync(from.staging.get(), source, bytes, cudaMemcpyDeviceToHost,
                            from.copy.get()));
    DP_CUDA(cudaEventRecord(from.staged.get(), from.copy.get()));
    DP_CUDA(cudaSetDevice(to.gpu));
    DP_CUDA(cudaStreamWaitEvent(to.copy_in.get(), from.staged.get(), 0));
    DP_CUDA(cudaMemcpyAsync(destination, from.staging.get(), bytes, cudaMemcpyHostToDevice,
                            to.copy_in.get()));
    DP_CUDA(cudaEventRecord(done, to.copy_in.get()));
  }

  void enable_peers(const CudaOptions& options) {
    all_through_host_ = !options.peer_copies;
    peers_.assign(static_cast<std::size_t>(gpu_count_) * static_cast<std::size_t>(gpu_count_), 0);
    const int used = std::min(gpu_count_, device_count());
    for (int from = 0; from < used && options.peer_copies; ++from) {
      for (int to = 0; to < used; ++to) {
        if (from == to) continue;
        int can = 0;
        DP_CUDA(cudaDeviceCanAccessPeer(&can, from, to));
        if (can == 0) continue;
        DP_CUDA(cudaSetDevice(from));
        const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled) {
          cudaGetLastError();
        } else {
          DP_CUDA(error);
        }
        peers_[static_cast<std::size_t>(from * gpu_count_ + to)] = 1;
      }
    }
  }

  std::vector<MemoryShortage> reserve() {
    std::vector<MemoryShortage> shortages;
    for (std::int32_t d = 0; d < device_count(); ++d) {
      const DeviceId device(d);
      const auto stated = topology_->device(device).memory_bytes;
      if (stated && arena_.bytes[device] > *stated) {
        shortages.push_back(
            {.device = device, .needed_bytes = arena_.bytes[device], .available_bytes = *stated});
      }
    }
    if (!shortages.empty()) return shortages;
    for (std::int32_t d = 0; d < device_count(); ++d) {
      const DeviceId device(d);
      CudaDevice& state = state_of(device);
      const auto needed = static_cast<std::size_t>(arena_.bytes[device]);
      if (needed <= state.arena.size()) continue;
      DP_CUDA(cudaSetDevice(state.gpu));
      state.arena.release();  // before the new one, or both would have to fit
      if (state.arena.try_allocate(needed)) continue;
      std::size_t free_bytes = 0;
      std::size_t total_bytes = 0;
      DP_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
      return {{.device = device,
               .needed_bytes = arena_.bytes[device],
               .available_bytes = static_cast<std::int64_t>(free_bytes)}};
    }
    return {};
  }

  void prepare_transfers() {
    std::vector<std::size_t> counts(devices_.size(), 0);
    std::vector<std::size_t> staged_bytes(devices_.size(), 0);
    for (std::size_t t = 0; t < plan_->transfers().size(); ++t) {
      const PlannedTransfer& transfer = plan_->transfers()[t];
      ++counts[transfer.from.index()];
      const CudaDevice& from = state_of(transfer.from);
      if (t >= transfer_done_.size()) {
        transfer_done_.emplace_back();
        transfer_gpu_.push_back(-1);
      }
      const CudaDevice& to = state_of(transfer.to);
      const bool staged = goes_through_host(from, to);
      // An event belongs to the GPU that it is recorded on.
      const int gpu = staged ? to.gpu : from.gpu;
      if (transfer_gpu_[t] != gpu) {
        DP_CUDA(cudaSetDevice(gpu));
        transfer_done_[t].create();
        transfer_gpu_[t] = gpu;
      }
      if (staged) {
        std::size_t& most = staged_bytes[transfer.from.index()];
        const auto buffer = static_cast<std::size_t>(plan_->copy_buffer(static_cast<int>(t)));
        most = std::max(most, static_cast<std::size_t>(plan_->buffers()[buffer].bytes));
      }
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      devices_[d]->sent.resize(counts[d]);
      if (staged_bytes[d] <= devices_[d]->staging.size()) continue;
      DP_CUDA(cudaSetDevice(devices_[d]->gpu));
      devices_[d]->staging.allocate(staged_bytes[d]);
    }
  }

  void fill_inputs() {
    std::vector<float> values;
    const auto fill = [&](std::uint64_t tensor, std::int32_t buffer) {
      const PlannedBuffer& planned = plan_->buffers()[static_cast<std::size_t>(buffer)];
      const std::int64_t count = float_count(planned.bytes);
      values.resize(static_cast<std::size_t>(count));
      fill_tensor(tensor, values.data(), count);
      DP_CUDA(cudaSetDevice(state_of(planned.device).gpu));
      DP_CUDA(cudaMemcpy(address(buffer), values.data(), values.size() * sizeof(float),
                         cudaMemcpyHostToDevice));
    };
    for (std::int32_t o : plan_->entries()) {
      if (plan_->is_given(o)) fill(given_tensor(o), plan_->output_buffer(o));
    }
    for (auto b = static_cast<std::size_t>(plan_->first_input_buffer());
         b < plan_->buffers().size(); ++b) {
      const auto buffer = static_cast<std::int32_t>(b);
      fill(input_tensor(plan_->input_of(buffer)), buffer);
    }
    // Copies from pageable memory may still be under way, on another stream than the kernels.
    for (auto& device : devices_) {
      DP_CUDA(cudaSetDevice(device->gpu));
      DP_CUDA(cudaDeviceSynchronize());
    }
  }

  static bool is_over(cudaEvent_t event) {
    const cudaError_t state = cudaEventQuery(event);
    if (state == cudaErrorNotReady) {
      cudaGetLastError();  // it counts as an error, which the check after a launch would find
      return false;
    }
    check_cuda(state, "cudaEventQuery", __FILE__, __LINE__);
    return true;
  }

  void poll(RunCore& core) {
    for (auto& device : devices_) {
      if (device->operation >= 0 && is_over(device->done.get())) {
        const std::int64_t now = now_nanoseconds();
        const std::int32_t ended = std::exchange(device->operation, -1);
        core.operation_ended(ended, device->began, now, now);
      }
      while (device->sent_begin < device->sent_end) {
        const CudaSent sent = device->sent[device->sent_begin];
        if (!is_over(transfer_done_[static_cast<std::size_t>(sent.transfer)].get())) break;
        ++device->sent_begin;
        const std::int64_t now = now_nanoseconds();
        core.transfer_ended(sent.transfer, sent.began, now, now);
      }
    }
  }

  // Puts an operation on the compute stream of its device, which is the current one.
  void launch(CudaDevice& device, std::int32_t operation) {
    const OperationWork& work = (*works_)[static_cast<std::size_t>(operation)];
    read_addresses_.clear();
    for (const PlannedRead& read : plan_->reads(operation)) {
      read_addresses_.push_back(address(read.buffer));
    }
    const std::int32_t buffer = plan_->output_buffer(operation);
    float* output = address(buffer);
    const DeviceId id = plan_->device_of(operation);
    auto* scratch = reinterpret_cast<float*>(device.arena.get() + arena_.scratch[id]);
    launch_operation(device.compute.get(), device.cublas.get(), work, read_addresses_, output,
                     scratch);
    const std::int64_t rest =
        float_count(plan_->buffers()[static_cast<std::size_t>(buffer)].bytes) -
        work.output_elements;
    if (rest > 0) {
      DP_CUDA(cudaMemsetAsync(output + work.output_elements, 0,
                              static_cast<std::size_t>(rest * kFloatBytes), device.compute.get()));
    }
  }

  const Topology* topology_;
  int gpu_count_;
  bool poisoned_ = false;
  bool all_through_host_ = false;
  std::vector<std::uint8_t> peers_;  // [GPUs, GPUs], whether copies go directly
  std::vector<std::unique_ptr<CudaDevice>> devices_;
  std::unique_ptr<Precedence> precedence_;
  std::uint64_t precedence_of_ = 0;
  const RunPlan* plan_ = nullptr;
  const std::vector<OperationWork>* works_ = nullptr;
  ArenaPlan arena_;
  std::vector<const float*> read_addresses_;  // of the operation that is launched
  std::vector<CudaEvent> transfer_done_;      // [transfers], grows
  std::vector<int> transfer_gpu_;             // where each was made
};

}  // namespace

int cuda_gpu_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    cudaGetLastError();
    return 0;
  }
  DP_CUDA(error);
  return count;
}

std::unique_ptr<Backend> make_cuda_backend(const Topology& topology, const CudaOptions& options) {
  return std::make_unique<CudaBackend>(topology, options);
}

}  // namespace doppler
