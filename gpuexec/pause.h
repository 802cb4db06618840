// A moment of a loop that waits for another thread.
#ifndef DOPPLER_GPUEXEC_PAUSE_H_
#define DOPPLER_GPUEXEC_PAUSE_H_

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace doppler {

inline void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_PAUSE_H_
