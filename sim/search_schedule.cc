#include "sim/search_schedule.h"

#include <algorithm>
#include <cmath>

namespace doppler {
namespace {

// Tuned on the paper's four graphs from 300 to 1,500,000 evaluations.

// A round has at least that many evaluations for each operation, and that many in all.
constexpr double kLeastPerOperation = 150;
constexpr double kLeastInAll = 1000;
constexpr int kMaxRounds = 8;

// The first temperature of a round of the least length; it grows with a power of the length.
constexpr double kCoolestStart = 0.3;
constexpr double kHottestStart = 1.2;
constexpr double kHeatPower = 0.7;
constexpr double kLast = 2.5e-4;

// Rounds from the best: from a share of the starts' temperature down to this.
constexpr double kReheatShare = 0.5;
constexpr double kCoolestReheat = 0.03;
constexpr double kLastOfReheat = 3e-5;

}  // namespace

SearchSchedule::SearchSchedule(double evaluations, std::size_t free_operations, Aim aim) {
  const double least =
      std::max(kLeastInAll, kLeastPerOperation * static_cast<double>(free_operations));
  rounds_ = static_cast<int>(std::clamp(evaluations / least, 1.0, static_cast<double>(kMaxRounds)));
  rounds_from_starts_ = aim == Aim::kRefine ? 0 : std::max(1, rounds_ / 2);
  const double length = std::max(1.0, evaluations / rounds_ / least);
  first_temperature_ = std::min(kHottestStart, kCoolestStart * std::pow(length, kHeatPower));
}

SearchTemperatures SearchSchedule::temperatures(int round) const {
  if (from_starts(round)) return {.first = first_temperature_, .last = kLast};
  const double hottest = kReheatShare * first_temperature_;
  const int reheats = rounds_ - rounds_from_starts_;
  const double share = static_cast<double>(round - rounds_from_starts_ + 1) / reheats;
  return {.first = hottest * std::pow(kCoolestReheat / hottest, share), .last = kLastOfReheat};
}

}  // namespace doppler
