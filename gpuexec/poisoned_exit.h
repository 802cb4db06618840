// The exit code of programs whose backend is beyond use, so that whoever started them can tell that
// a new process may work.
#ifndef DOPPLER_GPUEXEC_POISONED_EXIT_H_
#define DOPPLER_GPUEXEC_POISONED_EXIT_H_

#include <cstdio>
#include <cstdlib>

#include "gpuexec/backend.h"

namespace doppler {

// What `program` returns. Where it throws PoisonedError, the process ends with a line on stderr and
// kPoisonedExitCode, at once: whatever else would be freed may wait for a kernel that never ends.
template <typename Program>
int with_poisoned_exit_code(const Program& program) {
  try {
    return program();
  } catch (const PoisonedError& error) {
    std::fprintf(stderr, "doppler: %s\n", error.what());
    std::fflush(nullptr);
    std::_Exit(kPoisonedExitCode);
  }
}

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_POISONED_EXIT_H_
