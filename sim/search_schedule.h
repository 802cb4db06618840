// SearchSchedule: into which rounds a local search divides its budget, and how hot each begins.
#ifndef DOPPLER_SIM_SEARCH_SCHEDULE_H_
#define DOPPLER_SIM_SEARCH_SCHEDULE_H_

#include <cstddef>

namespace doppler {

// Temperatures in units of a *slot*: what an operation has of the schedule on average, makespan x
// devices / operations. It says how much a move changes, whatever the size of the graph.
struct SearchTemperatures {
  double first = 0;
  double last = 0;
};

// The first half of the rounds begins from the starts (the hotter, the longer a round is: only slow
// cooling gains from more heat), the rest from the best so far, each cooler than the one before:
// the early ones leave the valley, the last ones go to its bottom. Immutable.
class SearchSchedule {
 public:
  // kFind: from starts that are far from good. kRefine: all rounds begin from the best so far,
  // which is near to good; heat would only lead away from it.
  enum class Aim { kFind, kRefine };

  // For that many evaluations on each thread (an estimate will do) and that many operations with a
  // choice of devices.
  SearchSchedule(double evaluations, std::size_t free_operations, Aim aim = Aim::kFind);

  int rounds() const { return rounds_; }
  bool from_starts(int round) const { return round < rounds_from_starts_; }
  SearchTemperatures temperatures(int round) const;

 private:
  int rounds_;
  int rounds_from_starts_;
  double first_temperature_;  // of the rounds from the starts
};

}  // namespace doppler

#endif  // DOPPLER_SIM_SEARCH_SCHEDULE_H_
