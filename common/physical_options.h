// How the physical simulator fills what graph and topology leave open. Each field has an effect and
// a price.
#ifndef DOPPLER_COMMON_PHYSICAL_OPTIONS_H_
#define DOPPLER_COMMON_PHYSICAL_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>

namespace doppler {

// What transfers do to each other.
enum class Contention : std::uint8_t {
  kNone,    // nothing: each takes the time that it takes alone. Fastest, and too optimistic
  kSerial,  // a transfer holds every link, shared group and copy engine of its route; others wait
  kFair,    // all run at once with max-min fair shares of links and groups. Several times slower
};

// Which of its ready operations an idle device takes.
enum class Dispatch : std::uint8_t {
  kFifo,      // the one that became ready first
  kPriority,  // the one that stands first in the order given to run()
  kRandom,    // any, all equally likely, a function of the seed
};

enum class MemoryRule : std::uint8_t {
  kReport,   // peaks are reported and have no effect
  kEnforce,  // an assignment over capacity is infeasible and costs more
};

// Log-normal factors with mean 1 on durations. The factor of an operation depends on the seed and
// the operation alone, that of a transfer on the seed, its producer and its first consumer: an
// episode is replayed by its seed.
struct NoiseOptions {
  // Coefficients of variation (standard deviation / mean), not negative.
  double operation_cv = 0;                             // of kinds that are not listed
  std::map<std::string, double> operation_cv_by_kind;  // by Operation::kind
  double transfer_cv = 0;
};

struct PhysicalOptions {
  Contention contention = Contention::kSerial;
  Dispatch dispatch = Dispatch::kFifo;
  MemoryRule memory = MemoryRule::kReport;
  NoiseOptions noise;
  std::uint64_t seed = 0;  // of noise and random dispatch
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_PHYSICAL_OPTIONS_H_
