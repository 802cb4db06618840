// What NVIDIA's management library says of a GPU, where there is that library.
#ifndef DOPPLER_GPUEXEC_CUDA_CLOCKS_H_
#define DOPPLER_GPUEXEC_CUDA_CLOCKS_H_

#include <string>

namespace doppler {

// "NVIDIA H100 (0000:17:00.0), 1980 MHz, memory 2619 MHz, 45 C"; without the library its name
// alone.
std::string describe_gpu(int gpu);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CUDA_CLOCKS_H_
