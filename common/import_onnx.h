// ONNX models: the nodes of the graph with FLOPs and bytes from inferred shapes.
//
// Becomes a physical graph. Operations are the nodes, in the order of the file, without those that
// only compute constants (weights by ConstantOfShape, shapes by Shape and Gather): their results
// and the initialisers are input tensors of the operations that read them, as are the inputs of the
// model. Symbolic dimensions need a size by ImportOptions::dimensions.
#ifndef DOPPLER_COMMON_IMPORT_ONNX_H_
#define DOPPLER_COMMON_IMPORT_ONNX_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

Imported import_onnx(std::string_view content, const std::string& file,
                     const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_ONNX_H_
