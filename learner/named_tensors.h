// Tensors of LibTorch as the plain arrays of a checkpoint, and back. Private to the learner.
#ifndef DOPPLER_LEARNER_NAMED_TENSORS_H_
#define DOPPLER_LEARNER_NAMED_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "common/error.h"
#include "learner/checkpoint.h"

namespace doppler {

// Empty for a tensor that the model does not have.
inline std::vector<float> to_vector(const torch::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const torch::Tensor flat = tensor.detach().contiguous().view({-1});
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

inline torch::Tensor from_vector(const std::vector<float>& values, torch::IntArrayRef shape) {
  return torch::from_blob(const_cast<float*>(values.data()), shape).clone();
}

inline NamedTensor to_named(const std::string& name, const torch::Tensor& tensor) {
  return {name, tensor.sizes().vec(), to_vector(tensor)};
}

inline std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

inline const NamedTensor* find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

// Checks before it changes anything.
inline void check_fits(const std::string& name, const torch::Tensor& into,
                       const NamedTensor* from) {
  if (from == nullptr) {
    throw FormatError("the checkpoint has no tensor \"" + name +
                      "\"; it was written with another model configuration");
  }
  if (from->shape != into.sizes().vec()) {
    throw FormatError("tensor \"" + name + "\" is " + shape_text(from->shape) +
                      " in the checkpoint and " + shape_text(into.sizes().vec()) +
                      " in this model; use the configuration that the checkpoint was written with");
  }
}

inline void copy_into(torch::Tensor into, const NamedTensor& from) {
  torch::NoGradGuard no_grad;
  into.copy_(from_vector(from.values, from.shape));
}

}  // namespace doppler

#endif  // DOPPLER_LEARNER_NAMED_TENSORS_H_
