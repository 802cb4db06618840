// HeadGradients: a gradient with respect to the tables and weights of the heads, of the same shapes
// as these. HeadGradient (head_gradient.h) computes them; workers send them.
#ifndef DOPPLER_COMMON_HEAD_GRADIENTS_H_
#define DOPPLER_COMMON_HEAD_GRADIENTS_H_

#include <cstddef>

#include "common/heads.h"

namespace doppler {

struct HeadGradients {
  HeadTables tables;
  HeadWeights weights;

  // All zero.
  void reset(const HeadShape& shape, std::size_t operation_count);
  // Of the same shapes.
  void add(const HeadGradients& other);
  void scale(float factor);
  bool operator==(const HeadGradients&) const = default;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_HEAD_GRADIENTS_H_
