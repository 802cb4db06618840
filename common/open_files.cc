#include "common/open_files.h"

#include <sys/resource.h>

#include "common/error.h"

namespace doppler {

void allow_open_files(std::uint64_t needed, const std::string& purpose) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = raised.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= needed) return;
  throw SystemError("only " + std::to_string(limit.rlim_cur) + " files may be open at a time, " +
                    purpose + " needs " + std::to_string(needed) + "; raise the limit (ulimit -n " +
                    std::to_string(needed) + ", and ulimit -Hn), or start fewer workers");
}

}  // namespace doppler
