#include "gpuexec/cuda_clocks.h"

#include <array>
#include <cstddef>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "gpuexec/cuda_check.h"

namespace doppler {
namespace {

// The few calls of NVML that are needed, by their documented signatures; the library comes with the
// driver, not with the toolkit.
class Nvml {
 public:
  Nvml() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) return;
    find("nvmlInit_v2", init_);
    find("nvmlDeviceGetHandleByPciBusId_v2", handle_by_bus_);
    find("nvmlDeviceGetTemperature", temperature_);
    find("nvmlDeviceGetClockInfo", clock_);
    works_ = init_ != nullptr && handle_by_bus_ != nullptr && temperature_ != nullptr &&
             clock_ != nullptr && init_() == kSuccess;
  }
  // The library stays loaded: others in the process may use it.

  std::string describe(const char* bus_id) const {
    Device device = nullptr;
    if (!works_ || handle_by_bus_(bus_id, &device) != kSuccess) return "";
    std::string text;
    unsigned value = 0;
    if (clock_(device, kProcessorClock, &value) == kSuccess) {
      text += ", " + std::to_string(value) + " MHz";
    }
    if (clock_(device, kMemoryClock, &value) == kSuccess) {
      text += ", memory " + std::to_string(value) + " MHz";
    }
    if (temperature_(device, kProcessorSensor, &value) == kSuccess) {
      text += ", " + std::to_string(value) + " C";
    }
    return text;
  }

 private:
  using Device = void*;
  static constexpr int kSuccess = 0;
  static constexpr int kProcessorClock = 1;  // NVML_CLOCK_SM
  static constexpr int kMemoryClock = 2;     // NVML_CLOCK_MEM
  static constexpr int kProcessorSensor = 0;

  template <typename F>
  void find(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  bool works_ = false;
  int (*init_)() = nullptr;
  int (*handle_by_bus_)(const char*, Device*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
};

}  // namespace

std::string describe_gpu(int gpu) {
  static const Nvml nvml;
  cudaDeviceProp properties{};
  DP_CUDA(cudaGetDeviceProperties(&properties, gpu));
  std::array<char, 32> bus_id{};
  DP_CUDA(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), gpu));
  return std::string(properties.name) + " (" + bus_id.data() + ")" + nvml.describe(bus_id.data());
}

}  // namespace doppler
