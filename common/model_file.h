// Models as YAML files (docs/workloads.md):
//
//   name: two-layers
//   element_bytes: 2
//   indices: {b: 8192, i: 4096, h: 16384}
//   inputs:
//     - x[b,i]
//     - w[i,h]
//   operations:
//     - y[b,h] = matmul x[b,i] w[i,h]
//     - do: z[b,h] = relu y[b,h]
//       flops_per_point: 1
//       partition: {b: 4}
#ifndef DOPPLER_COMMON_MODEL_FILE_H_
#define DOPPLER_COMMON_MODEL_FILE_H_

#include <string>
#include <string_view>

#include "common/model.h"

namespace doppler {

// Throws ConfigError or FormatError "file:line:column: key: what is wrong; what to do". The model
// has been checked.
Model parse_model(std::string_view text, const std::string& file);
Model load_model(const std::string& path);

// Sets the partition of the operation that makes a tensor: "y:b=4,h=2". Throws ConfigError.
void set_partition(Model& model, const std::string& text);

}  // namespace doppler

#endif  // DOPPLER_COMMON_MODEL_FILE_H_
