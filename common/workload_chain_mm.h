// The ChainMM workload of the paper, A x B + C x (D x E) over matrices cut into blocks, in the cost
// convention of the paper's published files: compute ticks = multiply-adds of a block operation (a
// sum counts one per element), and transfer ticks = 4 x the multiply-adds, also for outputs much
// smaller than that. It is the files' fault, kept so that costs can be compared.
#ifndef DOPPLER_COMMON_WORKLOAD_CHAIN_MM_H_
#define DOPPLER_COMMON_WORKLOAD_CHAIN_MM_H_

#include <cstdint>

#include "common/graph.h"

namespace doppler {

// Counts of blocks along each axis. The defaults give the published graph: 76 operations, 80 edges,
// 36 inputs, with the same ids, and 7 symmetry classes.
struct ChainMmOptions {
  std::int32_t rows = 4;            // of A, C and the result
  std::int32_t columns = 2;         // of B, E and the result
  std::int32_t inner = 2;           // columns of A and C, rows of B and D
  std::int32_t inner_de = 4;        // columns of D, rows of E
  std::int64_t block_size = 10000;  // rows and columns of one block
};

// Every operation has a name, a group (D x E, C x DE, A x B, the sum, in this order), a role in it
// and block coordinates: (row, column, inner) for a block product, (row, column) for a sum. Throws
// ConfigError for a count below 1 or costs beyond the range of a SimTime.
Graph generate_chain_mm(const ChainMmOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKLOAD_CHAIN_MM_H_
