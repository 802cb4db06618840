// LibTorch's own threads, which our parallelism replaces.
#ifndef DOPPLER_LEARNER_TORCH_THREADS_H_
#define DOPPLER_LEARNER_TORCH_THREADS_H_

namespace doppler {

// Call first thing in main.
void limit_torch_threads(int count);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TORCH_THREADS_H_
