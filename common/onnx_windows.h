// Sliding windows: what convolutions and poolings of ONNX have in common.
#ifndef DOPPLER_COMMON_ONNX_WINDOWS_H_
#define DOPPLER_COMMON_ONNX_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "common/onnx_tensor_info.h"

namespace doppler {

// The spatial extents of the output of a window with extents `kernel` over `spatial`, by the
// attributes strides, pads, dilations, auto_pad and ceil_mode.
std::vector<std::int64_t> slide_window(const OnnxNodeView& node,
                                       const std::vector<std::int64_t>& spatial,
                                       const std::vector<std::int64_t>& kernel);

// The same for a transposed convolution (with output_padding and output_shape).
std::vector<std::int64_t> unslide_window(const OnnxNodeView& node,
                                         const std::vector<std::int64_t>& spatial,
                                         const std::vector<std::int64_t>& kernel);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_WINDOWS_H_
