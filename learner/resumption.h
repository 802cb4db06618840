// What `doppler resume` finds in a run folder, and when it refuses to go on.
#ifndef DOPPLER_LEARNER_RESUMPTION_H_
#define DOPPLER_LEARNER_RESUMPTION_H_

#include <memory>
#include <string>

#include "common/config.h"
#include "learner/checkpoint.h"
#include "learner/run_input.h"

namespace doppler {

// The newest valid checkpoint; null for a run that was killed before its first: it begins anew.
// Throws FormatError where checkpoints are lost, damaged or of other graphs than `inputs`.
std::unique_ptr<Checkpoint> load_resumed(const std::string& run_dir, const RunInputs& inputs);

// So that resume finds them from any folder.
void make_paths_absolute(Config& config);

// Throws ConfigError naming what makes `config` another run than the one that was trained.
void refuse_changed_config(const std::string& run_dir, const Checkpoint& resumed,
                           const Config& config);

// Whether the run had come to its end, and nothing has changed since.
bool is_finished(const std::string& run_dir, const Checkpoint& resumed, const Config& config);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RESUMPTION_H_
