// Where the programs of this installation are: beside the one that runs.
#ifndef DOPPLER_COMMON_PROGRAM_PATH_H_
#define DOPPLER_COMMON_PROGRAM_PATH_H_

#include <string>

namespace doppler {

// Full path of `name` in the folder of the running executable. Throws SystemError when it is not
// there.
std::string sibling_program(const std::string& name);

}  // namespace doppler

#endif  // DOPPLER_COMMON_PROGRAM_PATH_H_
