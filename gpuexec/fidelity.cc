#include "gpuexec/fidelity.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "gpuexec/statistics.h"

namespace doppler {

FidelityReport judge_fidelity(const std::vector<FidelityPoint>& points) {
  std::vector<double> simulated;
  std::vector<double> measured;
  std::vector<double> errors;
  std::vector<double> ratios;
  FidelityReport report;
  for (const FidelityPoint& point : points) {
    simulated.push_back(point.simulated_seconds);
    measured.push_back(point.measured_seconds);
    ratios.push_back(point.simulated_seconds / point.measured_seconds);
    errors.push_back(std::abs(ratios.back() - 1));
    report.disturbed += point.disturbed ? 1 : 0;
  }
  report.count = points.size();
  report.pearson = pearson(simulated, measured);
  report.spearman = spearman(simulated, measured);
  report.median_error = median(errors);
  report.median_ratio = median(ratios);
  std::sort(errors.begin(), errors.end());
  report.error_p90 = errors[(errors.size() * 9 + 9) / 10 - 1];  // as many are at most that
  report.largest_error = errors.back();
  return report;
}

std::string fidelity_csv(const std::vector<FidelityPoint>& points) {
  std::ostringstream text;
  text << "simulated_seconds,measured_seconds,low_seconds,high_seconds,disturbed\n"
       << std::setprecision(9);
  for (const FidelityPoint& point : points) {
    text << point.simulated_seconds << ',' << point.measured_seconds << ',' << point.low_seconds
         << ',' << point.high_seconds << ',' << (point.disturbed ? 1 : 0) << '\n';
  }
  return text.str();
}

}  // namespace doppler
