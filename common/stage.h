// The stages of training (paper, section 4): imitation of a teacher, policy gradient on the
// simulator, policy gradient on the machine.
#ifndef DOPPLER_COMMON_STAGE_H_
#define DOPPLER_COMMON_STAGE_H_

#include <cstdint>

namespace doppler {

enum class Stage : std::uint8_t { kImitation = 1, kSimulation = 2, kReal = 3 };

constexpr const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::kImitation:
      return "imitation";
    case Stage::kSimulation:
      return "simulation";
    case Stage::kReal:
      return "real";
  }
  return "unknown";
}

}  // namespace doppler

#endif  // DOPPLER_COMMON_STAGE_H_
