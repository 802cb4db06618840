// Fidelity: how well simulations tell what is measured.
#ifndef DOPPLER_GPUEXEC_FIDELITY_H_
#define DOPPLER_GPUEXEC_FIDELITY_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpuexec/graph_runner.h"
#include "gpuexec/spread_assignments.h"
#include "gpuexec/turns.h"

namespace doppler {

struct FidelityPoint {
  double simulated_seconds = 0;
  double measured_seconds = 0;
  double low_seconds = 0;  // of the measured median's interval
  double high_seconds = 0;
  // Its median is more than a tenth above the fastest of its runs: somebody else used the machine.
  bool disturbed = false;
};

struct FidelityMeasurement {
  std::vector<FidelityPoint> points;  // of what could be measured, in the order given
  std::vector<std::string> left_out;  // a line for each that could not
};

// Measures the assignments in turn, so that what disturbs the machine for some seconds spoils one
// run of some of them, and moves no median.
FidelityMeasurement measure_fidelity(GraphRunner& runner,
                                     std::span<const SpreadAssignment> assignments,
                                     const TurnOptions& options);

struct FidelityReport {
  std::size_t count = 0;
  double pearson = 0;
  double spearman = 0;
  // Of |simulated - measured| / measured.
  double median_error = 0;
  double error_p90 = 0;
  double largest_error = 0;
  double median_ratio = 0;  // of simulated / measured: below 1 the simulation is too optimistic
  std::size_t disturbed = 0;
};

// At least two points.
FidelityReport judge_fidelity(const std::vector<FidelityPoint>& points);

// A header and a line for each point.
std::string fidelity_csv(const std::vector<FidelityPoint>& points);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_FIDELITY_H_
