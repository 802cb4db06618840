// JoinedHost: takes part in a run that somebody else began. Finds it by its folder, gets weights
// over ZeroMQ and keeps workers alive that play with them. Loads no MPI, no LibTorch, no HDF5.
#ifndef DOPPLER_ACTORS_JOINED_HOST_H_
#define DOPPLER_ACTORS_JOINED_HOST_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/worker_supervisor.h"

namespace doppler {

struct JoinOptions {
  std::string run_dir;
  std::uint32_t workers = 1;
  std::string machine;  // name of this one, for people
  // For a learner that is not there yet, or not any more.
  std::chrono::seconds patience{600};
  std::chrono::seconds drain{60};  // for what is being played when it is asked to leave
  SupervisionLimits limits;
};

enum class JoinOutcome {
  kRunEnded,  // the learner said so
  kLeft,      // it was asked to
};

// Until the run ends or leave_requested() says so. Goes over to the run's next life when its
// learner is killed and resumed. Throws ConfigError when there is no run or it refuses, SystemError
// when the learner stays away.
JoinOutcome take_part(const JoinOptions& options, const std::function<bool()>& leave_requested);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_JOINED_HOST_H_
