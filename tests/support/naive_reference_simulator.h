// The reference mode written down literally, one event at a time, as slow as it likes to be. It
// shares nothing with sim/reference_simulator.cc but the vocabulary; tests hold the two equal.
#ifndef DOPPLER_TESTS_SUPPORT_NAIVE_REFERENCE_SIMULATOR_H_
#define DOPPLER_TESTS_SUPPORT_NAIVE_REFERENCE_SIMULATOR_H_

#include "common/assignment.h"
#include "common/executor.h"
#include "common/graph.h"

namespace doppler::test {

Execution simulate_naively(const Graph& graph, int device_count, const Assignment& assignment);

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_NAIVE_REFERENCE_SIMULATOR_H_
