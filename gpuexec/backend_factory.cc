#include "gpuexec/backend_factory.h"

#include "common/error.h"
#include "common/nearest_name.h"
#include "gpuexec/cpu_backend.h"
#include "gpuexec/emulated_backend.h"
#ifdef DP_HAVE_CUDA
#include "gpuexec/cuda_backend.h"
#endif

namespace doppler {

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {"emulated", "cpu"};
#ifdef DP_HAVE_CUDA
  names.emplace_back("cuda");
#endif
  return names;
}

std::unique_ptr<Backend> make_backend(const std::string& name, const CostTable& costs,
                                      const Topology& topology, Contention contention) {
  if (name == "emulated") {
    return std::make_unique<EmulatedBackend>(costs, topology, contention, EmulatedOptions());
  }
  if (name == "cpu") return std::make_unique<CpuBackend>(topology, CpuOptions());
#ifdef DP_HAVE_CUDA
  if (name == "cuda") return make_cuda_backend(topology);
#else
  if (name == "cuda") {
    throw ConfigError(
        "backend cuda: this build is without it; configure with -DDP_WITH_CUDA=ON where the CUDA "
        "Toolkit is");
  }
#endif
  throw ConfigError("'" + name + "' is no backend" + suggest_name(name, backend_names()));
}

}  // namespace doppler
