// Adam (Kingma and Ba, 2015) over named parameters, each with its own factor on the learning rate.
// Ours rather than LibTorch's, because its state must restore by name, bit for bit, across LibTorch
// versions whose optimizer archives differ. Private to the learner.
#ifndef DOPPLER_LEARNER_ADAM_H_
#define DOPPLER_LEARNER_ADAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "learner/checkpoint.h"

namespace doppler {

struct AdamSlot {
  std::string name;
  torch::Tensor parameter;
  double learning_rate_factor = 1.0;
  torch::Tensor mean;      // of the gradient, same shape as the parameter
  torch::Tensor variance;  // uncentred
};

class Adam {
 public:
  void add(std::string name, torch::Tensor parameter, double learning_rate_factor);
  // Uses the gradient that each parameter holds; one without is left alone.
  void step(double learning_rate);

  // Scales all gradients down to a norm of `limit` (0: any) and returns what it was before.
  double limit_gradient(double limit);

  // Of the optimizer, without the parameters.
  std::vector<NamedTensor> state() const;
  // Throws FormatError naming the first tensor whose name or shape differs; nothing is changed
  // then.
  void restore(const std::vector<NamedTensor>& parameters, const std::vector<NamedTensor>& state);

  const std::vector<AdamSlot>& slots() const { return slots_; }

 private:
  std::vector<AdamSlot> slots_;
  std::int64_t step_count_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_ADAM_H_
