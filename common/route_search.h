// Cheapest paths through a topology; topology.h states the rule.
#ifndef DOPPLER_COMMON_ROUTE_SEARCH_H_
#define DOPPLER_COMMON_ROUTE_SEARCH_H_

#include <vector>

#include "common/topology.h"

namespace doppler {

// The route of every pair of devices, [devices, devices] row-major. `parts` must be valid but for
// unreachable pairs: those throw ConfigError that names one. O(devices x distinct bandwidths x
// links x log links).
std::vector<Route> find_routes(const TopologyParts& parts);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ROUTE_SEARCH_H_
