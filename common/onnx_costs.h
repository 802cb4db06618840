// What the operators of ONNX cost: FLOPs (a multiply-add counts 2) and the kind of operation by
// which a topology may rate them. The table is in docs/graph_formats.md; an independent count holds
// it (tests/integration/onnx_flops_test.py).
#ifndef DOPPLER_COMMON_ONNX_COSTS_H_
#define DOPPLER_COMMON_ONNX_COSTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/onnx_tensor_info.h"

namespace doppler {

// None where the operator or a shape that it depends on is not known.
std::optional<double> count_onnx_flops(const OnnxNodeView& node,
                                       const std::vector<OnnxTensorInfo>& outputs);

// "matmul", "conv", "add", "elementwise", "softmax", "normalization", "pool", "reduce", "copy",
// "recurrent"; for what is not known the operator's own name.
std::string onnx_operation_kind(const std::string& operator_type);

// The first input that says how to do it instead of what to do it with (the shape of a Reshape, the
// pads of a Pad): such constants are no tensors that anything waits for. None: all are data.
std::optional<std::size_t> first_onnx_parameter(const std::string& operator_type);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ONNX_COSTS_H_
