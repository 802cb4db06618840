// The checkpoint of another run that a new run begins with (model.initial_checkpoint).
#ifndef DOPPLER_LEARNER_INITIAL_CHECKPOINT_H_
#define DOPPLER_LEARNER_INITIAL_CHECKPOINT_H_

#include <memory>

#include "common/config.h"
#include "learner/checkpoint.h"
#include "learner/run_input.h"

namespace doppler {

// Changes nothing on disk. Throws ConfigError where there is no such file, FormatError where it
// does not fit the model.
std::unique_ptr<Checkpoint> load_initial(const Config& config, const RunInputs& inputs);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_INITIAL_CHECKPOINT_H_
