// Model: an ML computation before it is cut: tensors with named indices and operations between
// them. sharding.h turns it into a Graph.
//
// An operation is a statement "OUT[i,k] = KIND A[i,j] B[j,k]". Indices that its inputs have and its
// output has not are summed over (a contraction: matmul, a row sum, ...). A tensor may be used
// under other index names than it was made with (axis by axis, extents must agree); each index has
// one extent in the whole model.
#ifndef DOPPLER_COMMON_MODEL_H_
#define DOPPLER_COMMON_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

// A tensor with the names that its axes have here: "W[d,f]".
struct TensorUse {
  std::string tensor;
  std::vector<std::string> indices;
  bool operator==(const TensorUse&) const = default;
};

struct ModelOperation {
  TensorUse output;
  std::string kind;
  std::vector<TensorUse> inputs;
  // FLOPs per point of the operation's whole index space. 0: 2 for a contraction of several inputs
  // (a multiply-add), else 1.
  double flops_per_point = 0;
  // Into how many blocks each index is cut; indices that are left out are whole. Empty: sharding
  // chooses.
  std::map<std::string, std::int32_t> partition;

  // Output indices, then those that are summed over, in order of appearance.
  std::vector<std::string> all_indices() const;
  std::vector<std::string> contracted_indices() const;
};

struct Model {
  std::string name;
  std::int64_t element_bytes = 4;
  std::map<std::string, std::int64_t> extents;  // of the indices
  std::vector<TensorUse> inputs;  // tensors that are there from the start: data and weights
  std::vector<ModelOperation> operations;  // each after those whose outputs it uses

  void add_input(std::string_view use);  // "W[d,f]"
  ModelOperation& add(std::string_view statement);
};

// "W[d,f]". Throws FormatError that says what is expected.
TensorUse parse_tensor_use(std::string_view text);
// "Y[b,o] = matmul X[b,i] W[i,o]".
ModelOperation parse_statement(std::string_view text);

// Throws FormatError naming operation and tensor: unknown or twice defined tensor, rank or extents
// that differ, an output index that no input has, an extent below 1, a partition into more blocks
// than the extent.
void check_model(const Model& model);

}  // namespace doppler

#endif  // DOPPLER_COMMON_MODEL_H_
