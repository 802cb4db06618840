// TrainOptions: what the command lines of `doppler train` and `doppler resume` say.
#ifndef DOPPLER_LEARNER_TRAIN_OPTIONS_H_
#define DOPPLER_LEARNER_TRAIN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppler {

struct TrainOptions {
  bool resume = false;
  std::string config_path;    // train alone
  std::string run_dir;        // train: empty where none was given
  std::int64_t workers = -1;  // per host; -1: none was given
  std::vector<std::string> overrides;
  bool allow_changed_config = false;
  bool json = false;
  bool quiet = false;
  std::vector<std::uint64_t> verify_resume;  // empty, or updates before and after
  std::uint64_t stop_after_updates = 0;      // 0: does not
  std::uint64_t kill_after_updates = 0;
};

// `doppler-train resume RUN_DIR ...` or `doppler-train CONFIG ...`. Throws what parse_flags() of
// common/cli.h throws.
TrainOptions parse_train_options(int argc, char** argv);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TRAIN_OPTIONS_H_
