// Figures of devices that machines are commonly made of, for importers that learn no more than a
// name. The same as in configs/topologies/, where their sources stand.
#ifndef DOPPLER_COMMON_DEVICE_CATALOG_H_
#define DOPPLER_COMMON_DEVICE_CATALOG_H_

#include <span>
#include <string>

#include "common/topology.h"

namespace doppler {

// "p100", "v100", "a100", "h100".
std::span<const std::string> catalog_kinds();

// A device of that kind, without a name. Throws ConfigError for a kind that is not listed.
Device catalog_device(const std::string& kind);

}  // namespace doppler

#endif  // DOPPLER_COMMON_DEVICE_CATALOG_H_
