// What the driver defines, for engines that bring their own main().
#include "tests/fuzz/fuzz_target.h"

namespace doppler::fuzz {

std::string& last_outcome() {
  static std::string outcome;
  return outcome;
}

}  // namespace doppler::fuzz
