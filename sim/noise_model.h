// NoiseModel: the factors by which durations deviate, each a function of the seed and of what it
// belongs to; NoiseOptions says which. Immutable; any number of threads may read it.
#ifndef DOPPLER_SIM_NOISE_MODEL_H_
#define DOPPLER_SIM_NOISE_MODEL_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/graph.h"
#include "common/physical_options.h"
#include "common/random.h"

namespace doppler {

class NoiseModel {
 public:
  NoiseModel(const Graph& graph, const NoiseOptions& options)
      : transfer_sigma_(sigma(options.transfer_cv)), quiet_(transfer_sigma_ == 0) {
    for (const Operation& operation : graph.operations()) {
      const auto at = options.operation_cv_by_kind.find(operation.kind);
      const bool listed = at != options.operation_cv_by_kind.end();
      operation_sigma_.push_back(sigma(listed ? at->second : options.operation_cv));
      quiet_ = quiet_ && operation_sigma_.back() == 0;
    }
  }

  // Whether all factors are 1.
  bool quiet() const { return quiet_; }

  double operation_factor(std::uint64_t seed, std::int32_t operation) const {
    return factor({seed, 1, static_cast<std::uint64_t>(operation)},
                  operation_sigma_[static_cast<std::size_t>(operation)]);
  }
  double transfer_factor(std::uint64_t seed, std::int32_t producer, std::int32_t consumer) const {
    return factor(
        {seed, 2, static_cast<std::uint64_t>(producer), static_cast<std::uint64_t>(consumer)},
        transfer_sigma_);
  }

 private:
  // The log-normal with mean 1 and this coefficient of variation is exp(N(-sigma^2 / 2, sigma)).
  static double sigma(double cv) { return std::sqrt(std::log1p(cv * cv)); }
  static double factor(std::initializer_list<std::uint64_t> key, double sigma) {
    if (sigma == 0) return 1;
    return std::exp(sigma * RandomStream(derive_seed(key)).next_normal() - sigma * sigma / 2);
  }

  std::vector<double> operation_sigma_;  // [operations]
  double transfer_sigma_;
  bool quiet_;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_NOISE_MODEL_H_
