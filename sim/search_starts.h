// Where a search of the command line begins: assignments of a file.
#ifndef DOPPLER_SIM_SEARCH_STARTS_H_
#define DOPPLER_SIM_SEARCH_STARTS_H_

#include <string>
#include <vector>

#include "common/cost_table.h"
#include "sim/local_search.h"

namespace doppler {

// Those of the file `path` ("-": standard input); none where it is empty. Throws FormatError, and
// ConfigError where an operation is on a device that it may not run on.
std::vector<SearchStart> read_search_starts(const std::string& path, const CostTable& costs);

}  // namespace doppler

#endif  // DOPPLER_SIM_SEARCH_STARTS_H_
