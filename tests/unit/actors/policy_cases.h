// What the tests of policies share: a graph, and how often they draw.
#ifndef DOPPLER_TESTS_UNIT_ACTORS_POLICY_CASES_H_
#define DOPPLER_TESTS_UNIT_ACTORS_POLICY_CASES_H_

#include "tests/support/tiny_graphs.h"

namespace doppler::test {

inline constexpr int kDraws = 20000;
// Five standard deviations of a frequency over kDraws draws are at most 5 x 0.5 / sqrt(20000).
inline constexpr double kTolerance = 0.018;

// Two independent operations and a third behind both.
inline Graph fork() {
  return make_graph("fork", {{4, 1}, {2, 1}, {3, 1}}, {{0, 2}, {1, 2}});
}

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_UNIT_ACTORS_POLICY_CASES_H_
