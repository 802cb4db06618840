#include "gpuexec/fidelity.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "gpuexec/statistics.h"

namespace doppler {
namespace {

constexpr double kDisturbance = 0.1;

}  // namespace

FidelityMeasurement measure_fidelity(GraphRunner& runner,
                                     std::span<const SpreadAssignment> assignments,
                                     const TurnOptions& options) {
  std::vector<TurnPlacement> placements;
  for (const SpreadAssignment& spread : assignments) placements.push_back({spread.assignment, {}});
  const std::vector<TurnTimes> times = measure_in_turn(runner, placements, options);
  FidelityMeasurement measured;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!times[i].failure.empty()) {
      measured.left_out.push_back("assignment " + std::to_string(i + 1) + ": " + times[i].failure);
    }
    if (times[i].seconds.empty()) continue;
    const MedianInterval interval = median_interval(times[i].seconds);
    FidelityPoint point{.simulated_seconds = assignments[i].simulated.seconds(),
                        .measured_seconds = median(times[i].seconds),
                        .low_seconds = interval.low,
                        .high_seconds = interval.high};
    const double fastest = *std::ranges::min_element(times[i].seconds);
    point.disturbed = point.measured_seconds > (1 + kDisturbance) * fastest;
    measured.points.push_back(point);
  }
  return measured;
}

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
