// What `doppler doctor` asks of the place where a run is to lie.
#ifndef DOPPLER_LEARNER_DOCTOR_RUN_FOLDER_H_
#define DOPPLER_LEARNER_DOCTOR_RUN_FOLDER_H_

#include <string>

#include "common/doctor.h"

namespace doppler {

// Writing, locking, a log that is read while it grows, room. `run_dir` need not exist; what is
// tried lies in a folder that is removed again. `inspect`: the program that reads the log, since a
// process of its own has to.
Checks check_run_folder(const std::string& run_dir, const std::string& inspect);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_DOCTOR_RUN_FOLDER_H_
