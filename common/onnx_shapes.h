// Shape inference for the operators of ONNX that networks are made of.
//
// Follows the operators' definitions of the ONNX project, all operator set versions at once: where
// a later version turned an attribute into an input, both are read. What a node contradicts itself
// in (a convolution over the wrong number of channels) is an error; what cannot be known stays
// unknown.
#ifndef DOPPLER_COMMON_ONNX_SHAPES_H_
#define DOPPLER_COMMON_ONNX_SHAPES_H_

#include <string>
#include <vector>

#include "common/onnx_tensor_info.h"

namespace doppler {

// Whether infer_onnx_shapes() knows the operator (of ONNX' own domain).
bool knows_onnx_operator(const std::string& operator_type);

// Shapes and element types of the node's outputs ([outputs]; constant and values are not set).
std::vector<OnnxTensorInfo> infer_onnx_shapes(const OnnxNodeView& node);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_SHAPES_H_
