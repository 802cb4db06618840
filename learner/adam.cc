#include "learner/adam.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "learner/named_tensors.h"

namespace doppler {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

// The number of steps is kept as two floats, each exact: a float alone counts to 2^24.
constexpr std::int64_t kStepsOfOneFloat = 1000000;

}  // namespace

void Adam::add(std::string name, torch::Tensor parameter, double learning_rate_factor) {
  AdamSlot slot;
  slot.name = std::move(name);
  slot.mean = torch::zeros_like(parameter).detach();
  slot.variance = torch::zeros_like(parameter).detach();
  slot.parameter = std::move(parameter);
  slot.learning_rate_factor = learning_rate_factor;
  slots_.push_back(std::move(slot));
}

void Adam::step(double learning_rate) {
  torch::NoGradGuard no_grad;
  ++step_count_;
  const auto count = static_cast<double>(step_count_);
  const double mean_correction = 1.0 - std::pow(kBeta1, count);
  const double variance_correction = 1.0 - std::pow(kBeta2, count);
  for (AdamSlot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    const auto rate =
        static_cast<float>(learning_rate * slot.learning_rate_factor / mean_correction);
    const auto per_correction = static_cast<float>(1.0 / variance_correction);
    const torch::Tensor gradient = slot.parameter.grad().contiguous();
    const float* g = gradient.data_ptr<float>();
    float* m = slot.mean.data_ptr<float>();
    float* v = slot.variance.data_ptr<float>();
    float* p = slot.parameter.data_ptr<float>();
    const std::int64_t size = slot.parameter.numel();
    for (std::int64_t i = 0; i < size; ++i) {
      m[i] = static_cast<float>(kBeta1) * m[i] + static_cast<float>(1.0 - kBeta1) * g[i];
      v[i] = static_cast<float>(kBeta2) * v[i] + static_cast<float>(1.0 - kBeta2) * g[i] * g[i];
      p[i] -= rate * m[i] / (std::sqrt(v[i] * per_correction) + static_cast<float>(kEpsilon));
    }
  }
}

double Adam::limit_gradient(double limit) {
  double square_sum = 0;
  for (const AdamSlot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    const double norm = slot.parameter.grad().norm().item<double>();
    square_sum += norm * norm;
  }
  const double norm = std::sqrt(square_sum);
  if (limit > 0 && norm > limit) {
    torch::NoGradGuard no_grad;
    for (AdamSlot& slot : slots_) {
      if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().mul_(limit / norm);
    }
  }
  return norm;
}

std::vector<NamedTensor> Adam::state() const {
  std::vector<NamedTensor> result;
  for (const AdamSlot& slot : slots_) {
    result.push_back(to_named(slot.name + "/exp_avg", slot.mean));
    result.push_back(to_named(slot.name + "/exp_avg_sq", slot.variance));
  }
  result.push_back({"step",
                    {2},
                    {static_cast<float>(step_count_ / kStepsOfOneFloat),
                     static_cast<float>(step_count_ % kStepsOfOneFloat)}});
  return result;
}

void Adam::restore(const std::vector<NamedTensor>& parameters,
                   const std::vector<NamedTensor>& state) {
  for (const AdamSlot& slot : slots_) {
    check_fits(slot.name, slot.parameter, find(parameters, slot.name));
    check_fits(slot.name, slot.mean, find(state, slot.name + "/exp_avg"));
    check_fits(slot.name, slot.variance, find(state, slot.name + "/exp_avg_sq"));
  }
  const NamedTensor* step = find(state, "step");
  check_fits("step", torch::zeros({2}), step);
  for (const NamedTensor& tensor : parameters) {
    const bool known = std::any_of(slots_.begin(), slots_.end(),
                                   [&](const AdamSlot& slot) { return slot.name == tensor.name; });
    if (!known) {
      throw FormatError("the checkpoint has a tensor \"" + tensor.name +
                        "\" that this model has not; it was written with another configuration");
    }
  }
  for (AdamSlot& slot : slots_) {
    copy_into(slot.parameter, *find(parameters, slot.name));
    copy_into(slot.mean, *find(state, slot.name + "/exp_avg"));
    copy_into(slot.variance, *find(state, slot.name + "/exp_avg_sq"));
  }
  step_count_ = static_cast<std::int64_t>(step->values[0]) * kStepsOfOneFloat +
                static_cast<std::int64_t>(step->values[1]);
}

}  // namespace doppler
