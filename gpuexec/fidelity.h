// Fidelity: how well simulations tell what is measured.
#ifndef DOPPLER_GPUEXEC_FIDELITY_H_
#define DOPPLER_GPUEXEC_FIDELITY_H_

#include <cstddef>
#include <string>
#include <vector>

namespace doppler {

struct FidelityPoint {
  double simulated_seconds = 0;
  double measured_seconds = 0;
  double low_seconds = 0;  // of the measured median's interval
  double high_seconds = 0;
  bool disturbed = false;
};

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
