// OperationWork: what an operation really does when it is executed: which kernel, on what shapes.
//
// Graphs state kinds, FLOPs and bytes, and perhaps the shape of an output; they are no programs.
// Here each operation gets a meaning of that size over 32-bit floats, whatever its element type:
//   product   of two matrices or of two stacks of them, [batch, rows, inner] x [batch, inner,
//             columns], times 1 / sqrt(inner) so that numbers keep their size. Where elements have
//             two bytes (or one), a float stands for two of them (or four): operands are repeated
//             to their full number of elements, and of the result the parts are averaged
//   combine   the operands, each of the length of the output (or shorter, then repeated), added (or
//             multiplied, divided, ...) and passed through a function; a longer one counts as
//             several
//   softmax, normalise  over the last axis of the output's shape
//   copy      the operands one after the other, repeated as far as the output is long
//   synthetic reads everything, writes the output, and does the stated FLOPs: for kinds that are
//             not known and shapes that do not fit
// What an operation reads are the first bytes of its producers' outputs, as its edges state.
#ifndef DOPPLER_GPUEXEC_OPERATION_WORK_H_
#define DOPPLER_GPUEXEC_OPERATION_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/graph.h"

namespace doppler {

enum class WorkKind : std::uint8_t {
  kProduct,
  kCombine,
  kSoftmax,
  kNormalise,
  kCopy,
  kSynthetic,
};

enum class Combination : std::uint8_t { kSum, kDifference, kProduct, kQuotient, kMaximum };

enum class Function : std::uint8_t {
  kNone,
  kRelu,
  kGelu,  // x sigmoid(1.702 x)
  kSilu,  // x sigmoid(x)
  kSigmoid,
  kTanh,
  kExp,  // of at most 1, so that no graph overflows
  kSquare,
  kRsqrt,  // 1 / sqrt(|x| + kSmall)
};

inline constexpr float kSmall = 1e-3F;  // quotients are a / (|b| + kSmall)

// A part of an operand: elements of the output that combine with elements of a read.
struct OperandPiece {
  std::size_t read = 0;     // index among the operation's reads
  std::int64_t source = 0;  // its first element there
  std::int64_t target = 0;  // the element of the output that this one goes to
  std::int64_t length = 0;  // of the output, in elements
  std::int64_t period = 0;  // > 0: the source is so long, and repeated
  bool first = false;       // of the first operand, which begins the result
};

struct OperationWork {
  WorkKind kind = WorkKind::kSynthetic;
  std::int64_t output_elements = 0;
  std::vector<std::int64_t> read_elements;  // of each read, in the order of RunPlan::reads()
  // kProduct.
  std::int64_t batch = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  int expansion = 1;           // elements a float stands for
  std::size_t left_reads = 0;  // the first reads make up the left operand, the others the right one
  // kCombine, kCopy.
  std::vector<OperandPiece> pieces;
  Combination combination = Combination::kSum;
  Function function = Function::kNone;
  // kSoftmax, kNormalise: the length of the last axis.
  std::int64_t axis = 0;
  // kSynthetic: FLOPs for each element of the output.
  double flops_per_element = 0;
  // Floats that it needs besides its operands: a product whose operands come in pieces or
  // expanded.
  std::int64_t scratch_elements = 0;
};

// Of each operation, whatever the assignment.
std::vector<OperationWork> operation_works(const Graph& graph);

// Names of the tensors that are there from the start: what they hold depends on nothing else.
inline std::uint64_t input_tensor(std::int32_t input) {
  return static_cast<std::uint64_t>(input) * 2;
}
inline std::uint64_t given_tensor(std::int32_t operation) {
  return static_cast<std::uint64_t>(operation) * 2 + 1;
}

// How many floats lie in that many bytes: at least one.
inline std::int64_t float_count(std::int64_t bytes) {
  return bytes < 4 ? 1 : bytes / 4;
}

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_OPERATION_WORK_H_
