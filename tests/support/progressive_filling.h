// Max-min fair sharing, solved a second time and on its own: each flow by itself, in the plainest
// way and in long double. For comparison with sim/fair_links.h, of which it shares nothing.
#ifndef DOPPLER_TESTS_SUPPORT_PROGRESSIVE_FILLING_H_
#define DOPPLER_TESTS_SUPPORT_PROGRESSIVE_FILLING_H_

#include <cstddef>
#include <vector>

namespace doppler::test {

struct Flow {
  long double begin = 0;  // seconds
  long double bytes = 0;
  std::vector<std::size_t> resources;  // that it crosses, each once
};

// The rate of each flow (bytes per second) while exactly these flows are under way.
std::vector<long double> max_min_rates(const std::vector<const Flow*>& flows,
                                       const std::vector<long double>& capacities);

// When each flow ends, in seconds.
std::vector<long double> flow_ends(const std::vector<Flow>& flows,
                                   const std::vector<long double>& capacities);

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_PROGRESSIVE_FILLING_H_
