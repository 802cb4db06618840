#include "gpuexec/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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
#include "gpuexec/cuda_handles.h"
#include "gpuexec/cuda_kernels.h"
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
      devices_.push_back(std::make_unique<DeviceState>());
      DeviceState& device = *devices_.back();
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
    return {};
  }

  void start_operation(std::int32_t operation, std::int64_t now) override {
    DeviceState& device = state_of(plan_->device_of(operation));
    DP_CUDA(cudaSetDevice(device.gpu));
    launch(device, operation);
    DP_CUDA(cudaEventRecord(device.done.get(), device.compute.get()));
    device.operation = operation;
    device.began = now;
  }

  void start_transfer(std::int32_t transfer, std::int64_t now) override {
    const PlannedTransfer& planned = plan_->transfers()[static_cast<std::size_t>(transfer)];
    DeviceState& from = state_of(planned.from);
    DeviceState& to = state_of(planned.to);
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
  struct Sent {
    std::int32_t transfer = -1;
    std::int64_t began = 0;
  };
  struct DeviceState {
    int gpu = 0;
    CudaStream compute;
    CudaStream copy;
    CudaStream copy_in;  // of what comes through the host
    CudaEvent done;      // of the operation that runs
    CudaEvent staged;    // the newest tensor is in the staging buffer
    CublasHandle cublas;
    DeviceMemory workspace;
    DeviceMemory arena;
    PinnedMemory staging;  // where copies to some device go through the host
    std::int32_t operation = -1;
    std::int64_t began = 0;
    std::vector<Sent> sent;  // [transfers from here], in the order of the stream
    std::size_t sent_begin = 0;
    std::size_t sent_end = 0;
    std::int32_t last_staged = -1;  // the newest transfer through the staging buffer
  };

  DeviceState& state_of(DeviceId device) { return *devices_[device.index()]; }

  float* address(std::int32_t buffer) const {
    const auto b = static_cast<std::size_t>(buffer);
    const DeviceState& device = *devices_[plan_->buffers()[b].device.index()];
    return reinterpret_cast<float*>(device.arena.get() + arena_.offset[b]);
  }

  bool goes_through_host(const DeviceState& from, const DeviceState& to) const {
    return all_through_host_ ||
           (from.gpu != to.gpu &&
            peers_[static_cast<std::size_t>(from.gpu * gpu_count_ + to.gpu)] == 0);
  }

  static void send_directly(const DeviceState& from, const DeviceState& to, const float* source,
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
  void send_through_host(DeviceState& from, DeviceState& to, std::int32_t transfer,
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
      DeviceState& state = state_of(device);
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
      const DeviceState& from = state_of(transfer.from);
      if (t >= transfer_done_.size()) {
        transfer_done_.emplace_back();
        transfer_gpu_.push_back(-1);
      }
      const DeviceState& to = state_of(transfer.to);
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
        const Sent sent = device->sent[device->sent_begin];
        if (!is_over(transfer_done_[static_cast<std::size_t>(sent.transfer)].get())) break;
        ++device->sent_begin;
        const std::int64_t now = now_nanoseconds();
        core.transfer_ended(sent.transfer, sent.began, now, now);
      }
    }
  }

  // Puts an operation on the compute stream of its device, which is the current one.
  void launch(DeviceState& device, std::int32_t operation) {
    const OperationWork& work = (*works_)[static_cast<std::size_t>(operation)];
    const auto reads = plan_->reads(operation);
    const std::int32_t buffer = plan_->output_buffer(operation);
    float* output = address(buffer);
    const DeviceId id = plan_->device_of(operation);
    auto* scratch = reinterpret_cast<float*>(device.arena.get() + arena_.scratch[id]);
    cudaStream_t stream = device.compute.get();
    switch (work.kind) {
      case WorkKind::kProduct:
        launch_product(device, work, reads, output, scratch);
        break;
      case WorkKind::kCombine:
      case WorkKind::kCopy:
        launch_pieces(stream, work, reads, output);
        break;
      case WorkKind::kSoftmax:
        launch_softmax(stream, address(reads[0].buffer), output, work.output_elements / work.axis,
                       work.axis);
        break;
      case WorkKind::kNormalise:
        launch_normalise(stream, address(reads[0].buffer), output, work.output_elements / work.axis,
                         work.axis);
        break;
      case WorkKind::kSynthetic:
        launch_synthetic(stream, work, reads, output, scratch);
        break;
    }
    DP_CUDA(cudaGetLastError());
    const std::int64_t rest =
        float_count(plan_->buffers()[static_cast<std::size_t>(buffer)].bytes) -
        work.output_elements;
    if (rest > 0) {
      DP_CUDA(cudaMemsetAsync(output + work.output_elements, 0,
                              static_cast<std::size_t>(rest * kFloatBytes), stream));
    }
  }

  // As gather_operand() of cpu_kernels.cc.
  const float* gather_operand(cudaStream_t stream, const OperationWork& work,
                              std::span<const PlannedRead> reads, std::size_t first,
                              std::size_t last, float*& scratch) const {
    if (last - first == 1 && work.expansion == 1) return address(reads[first].buffer);
    const float* operand = scratch;
    for (int e = 0; e < work.expansion; ++e) {
      for (std::size_t r = first; r < last; ++r) {
        DP_CUDA(cudaMemcpyAsync(scratch, address(reads[r].buffer),
                                static_cast<std::size_t>(work.read_elements[r] * kFloatBytes),
                                cudaMemcpyDeviceToDevice, stream));
        scratch += work.read_elements[r];
      }
    }
    return operand;
  }

  void launch_product(DeviceState& device, const OperationWork& work,
                      std::span<const PlannedRead> reads, float* output, float* scratch) const {
    cudaStream_t stream = device.compute.get();
    const float* left = gather_operand(stream, work, reads, 0, work.left_reads, scratch);
    const float* right =
        gather_operand(stream, work, reads, work.left_reads, reads.size(), scratch);
    float* target = work.expansion == 1 ? output : scratch;
    const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(work.inner)));
    const float beta = 0;
    const auto m = static_cast<int>(work.rows);
    const auto n = static_cast<int>(work.columns);
    const auto k = static_cast<int>(work.inner);
    // cuBLAS is column-major: the transposes, in the other order.
    DP_CUBLAS(cublas_library().sgemm_strided_batched(
        device.cublas.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, right, n,
        work.inner * work.columns, left, k, work.rows * work.inner, &beta, target, n,
        work.rows * work.columns, static_cast<int>(work.batch)));
    if (work.expansion > 1) {
      launch_fold(stream, target, output, work.output_elements, work.expansion);
    }
  }

  void launch_pieces(cudaStream_t stream, const OperationWork& work,
                     std::span<const PlannedRead> reads, float* output) const {
    for (std::size_t first = 0; first < work.pieces.size(); first += kMostPieces) {
      const std::size_t last = std::min(work.pieces.size(), first + kMostPieces);
      PieceList list;
      list.continues = first > 0;
      for (std::size_t p = first; p < last; ++p) {
        const OperandPiece& piece = work.pieces[p];
        list.pieces[list.count++] = {.source = address(reads[piece.read].buffer) + piece.source,
                                     .target = piece.target,
                                     .length = piece.length,
                                     .period = piece.period,
                                     .first = piece.first};
      }
      const Function function = last == work.pieces.size() ? work.function : Function::kNone;
      launch_combine(stream, list, work.combination, function, output, work.output_elements);
    }
  }

  void launch_synthetic(cudaStream_t stream, const OperationWork& work,
                        std::span<const PlannedRead> reads, float* output, float* scratch) const {
    const float share = 1.0F / static_cast<float>(std::max<std::size_t>(1, reads.size()));
    if (reads.empty()) {
      DP_CUDA(cudaMemsetAsync(
          output, 0, static_cast<std::size_t>(work.output_elements * kFloatBytes), stream));
    }
    for (std::size_t r = 0; r < reads.size(); ++r) {
      launch_gather_share(stream, address(reads[r].buffer), work.read_elements[r], share, r == 0,
                          output, work.output_elements);
    }
    const auto turns = static_cast<std::int64_t>(work.flops_per_element / 2 + 0.5);
    if (turns > 0) launch_turns(stream, output, work.output_elements, turns);
    for (std::size_t r = 0; r < reads.size(); ++r) {
      const std::int64_t more = work.read_elements[r] - work.output_elements;
      if (more <= 0) continue;
      launch_add_sum(stream, address(reads[r].buffer) + work.output_elements, more, scratch,
                     output);
    }
  }

  const Topology* topology_;
  int gpu_count_;
  bool poisoned_ = false;
  bool all_through_host_ = false;
  std::vector<std::uint8_t> peers_;  // [GPUs, GPUs], whether copies go directly
  std::vector<std::unique_ptr<DeviceState>> devices_;
  std::unique_ptr<Precedence> precedence_;
  std::uint64_t precedence_of_ = 0;
  const RunPlan* plan_ = nullptr;
  const std::vector<OperationWork>* works_ = nullptr;
  ArenaPlan arena_;
  std::vector<CudaEvent> transfer_done_;  // [transfers], grows
  std::vector<int> transfer_gpu_;         // where each was made
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

double time_plain_cublas(std::int64_t n) {
  constexpr int kCalls = 20;
  CudaStream stream;
  stream.create();
  CublasHandle cublas;
  cublas.create();
  DeviceMemory memory;
  const auto elements = static_cast<std::size_t>(n * n);
  memory.allocate(3 * elements * sizeof(float));
  auto* a = reinterpret_cast<float*>(memory.get());
  DP_CUDA(cudaMemset(a, 0, 3 * elements * sizeof(float)));
  DP_CUDA(cudaDeviceSynchronize());
  DP_CUBLAS(cublas_library().set_stream(cublas.get(), stream.get()));
  const float alpha = 1;
  const float beta = 0;
  const int size = static_cast<int>(n);
  std::int64_t began = 0;
  for (int call = -3; call < kCalls; ++call) {  // three to warm up
    if (call == 0) {
      DP_CUDA(cudaStreamSynchronize(stream.get()));
      began = now_nanoseconds();
    }
    DP_CUBLAS(cublas_library().sgemm(cublas.get(), CUBLAS_OP_N, CUBLAS_OP_N, size, size, size,
                                     &alpha, a, size, a + elements, size, &beta, a + 2 * elements,
                                     size));
  }
  DP_CUDA(cudaStreamSynchronize(stream.get()));
  return static_cast<double>(now_nanoseconds() - began) * 1e-9 / kCalls;
}

void poison_cuda_context() {
  CudaStream stream;
  stream.create();
  launch_fault(stream.get());
  DP_CUDA(cudaGetLastError());
  DP_CUDA(cudaStreamSynchronize(stream.get()));
}

}  // namespace doppler
