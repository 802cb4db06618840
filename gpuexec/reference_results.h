// What a graph computes, carried out operation after operation by the plainest loops: what the
// results of backends that carry data are compared with.
#ifndef DOPPLER_GPUEXEC_REFERENCE_RESULTS_H_
#define DOPPLER_GPUEXEC_REFERENCE_RESULTS_H_

#include <vector>

#include "common/graph.h"

namespace doppler {

// The output of each operation that nobody reads, in operation order. Sums are in double precision.
// Needs memory for all tensors, and time: a product of n x n matrices takes n^3 steps.
std::vector<std::vector<float>> reference_results(const Graph& graph);

// The largest difference between two results, over the largest magnitude of the expected one; 0 for
// equal ones, also where both are 0. Infinite where one of them is no number or their lengths
// differ.
double relative_error(const std::vector<float>& expected, const std::vector<float>& actual);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_REFERENCE_RESULTS_H_
