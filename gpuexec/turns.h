// Measurement in turn: placements of one graph run one after the other, round after round, so that
// whatever drifts on the machine (clocks, other programs) meets all of them alike. What two of them
// take is then compared within rounds.
#ifndef DOPPLER_GPUEXEC_TURNS_H_
#define DOPPLER_GPUEXEC_TURNS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/statistics.h"

namespace doppler {

struct TurnPlacement {
  Assignment assignment;           // [operations]
  std::vector<OperationId> order;  // as in Executor::run()
};

struct TurnTimes {
  std::vector<double> seconds;  // [rounds]; empty where it failed
  std::string failure;          // "out of memory" or "timed out", else empty
};

// Each placement is loaded, run once unmeasured and once measured in every round. One that fails is
// left out from then on. `before_round` is told the number of each round, from 0, and may end the
// measurement by returning false.
std::vector<TurnTimes> measure_in_turn(GraphRunner& runner,
                                       std::span<const TurnPlacement> placements, int rounds,
                                       double timeout_seconds,
                                       const std::function<bool(int)>& before_round = {});

// Of the ratio a / b within rounds: its median, and an interval for it. Both must have as many
// rounds, at least one.
struct PairedRatio {
  double median = 1;
  MedianInterval interval;
};
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_TURNS_H_
