// How many files a process may have open. The learner needs one for each worker.
#ifndef DOPPLER_COMMON_OPEN_FILES_H_
#define DOPPLER_COMMON_OPEN_FILES_H_

#include <cstdint>
#include <string>

namespace doppler {

// Raises the limit as far as the system allows without privileges. Throws SystemError when that is
// less than `needed`, saying for what (`purpose`: "a learner of 64 workers").
void allow_open_files(std::uint64_t needed, const std::string& purpose);

}  // namespace doppler

#endif  // DOPPLER_COMMON_OPEN_FILES_H_
