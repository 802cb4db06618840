// Task graphs of numerical algorithms and of chance: the workloads that are no tensor programs.
// FLOPs and bytes.
#ifndef DOPPLER_COMMON_WORKLOAD_DAGS_H_
#define DOPPLER_COMMON_WORKLOAD_DAGS_H_

#include <cstdint>

#include "common/graph.h"

namespace doppler {

// Radix-2 butterflies over 2^log2_blocks blocks of `block` complex points: log2_blocks stages after
// the FFTs within the blocks.
Graph fft_graph(std::int64_t log2_blocks, std::int64_t block);

// Tiled Cholesky factorisation of a matrix of tiles x tiles tiles of size x size doubles: POTRF,
// TRSM, SYRK, GEMM.
Graph cholesky_graph(std::int64_t tiles, std::int64_t size);

// Gaussian elimination by block columns: a pivot task and an update of every later column in each
// step.
Graph gaussian_elimination_graph(std::int64_t columns, std::int64_t size);

struct RandomLayeredSize {
  std::int64_t operations = 1000;
  std::int64_t layers = 30;
  std::int64_t edges_per_operation = 2;  // on average, from earlier layers, mostly the one before
  // Mean transfer time over mean compute time, in hundredths, at 10 TFLOP/s and 10 GB/s.
  std::int64_t ccr_percent = 100;
};
// Throws ConfigError for sizes that make no sense.
Graph random_layered_graph(const RandomLayeredSize& size, std::uint64_t seed);

}  // namespace doppler

#endif  // DOPPLER_COMMON_WORKLOAD_DAGS_H_
