// The numbers of small constant tensors: shapes are computed in ONNX graphs by operations like any
// other (Shape, Gather, Concat, ...), and only who follows them knows what Reshape makes.
#ifndef DOPPLER_COMMON_ONNX_VALUES_H_
#define DOPPLER_COMMON_ONNX_VALUES_H_

#include <optional>
#include <vector>

#include "common/onnx_tensor_info.h"

namespace doppler {

// The numbers of the node's first output, whose shape and type are `output`; none if they are not
// known, or more than kMostOnnxValues.
std::optional<std::vector<double>> fold_onnx_values(const OnnxNodeView& node,
                                                    const OnnxTensorInfo& output);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_VALUES_H_
