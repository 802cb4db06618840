// `doppler train --verify-resume K M`: whether a run of this configuration, on this machine, ends
// with the same bits when its learner is killed and resumed. One run makes K + M updates; another
// is killed by SIGKILL after K, resumed and stopped after K + M; weights and optimizer of both are
// compared bit for bit.
#ifndef DOPPLER_LEARNER_VERIFY_RESUME_H_
#define DOPPLER_LEARNER_VERIFY_RESUME_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppler {

struct ResumeTrial {
  std::vector<std::string> configuration;  // CONFIG and the flags that change it
  std::string folder;                      // for both runs; must not exist
  std::uint64_t updates_before = 0;        // K
  std::uint64_t updates_after = 0;         // M
};

// Text for people where all is equal. Throws SystemError where it is not, naming the first tensor
// that differs, or where a run fails, with what it said.
std::string verify_resume(const ResumeTrial& trial);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_VERIFY_RESUME_H_
