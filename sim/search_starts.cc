#include "sim/search_starts.h"

#include <utility>

#include "common/assignment_text.h"
#include "common/error.h"
#include "common/text_file.h"

namespace doppler {

std::vector<SearchStart> read_search_starts(const std::string& path, const CostTable& costs) {
  std::vector<SearchStart> starts;
  if (path.empty()) return starts;
  const std::string name = input_name(path);
  for (Assignment& assignment : parse_assignments(
           read_text_file(path), name, costs.graph().operation_count(), costs.device_count())) {
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      const OperationId operation(static_cast<std::int32_t>(i));
      if (costs.allowed(operation, assignment[operation])) continue;
      throw ConfigError(name + ": assignment " + std::to_string(starts.size() + 1) +
                        ": operation " + std::to_string(i) + " may not run on device " +
                        std::to_string(assignment[operation].value()) +
                        ": the graph pins it elsewhere or forbids it there");
    }
    starts.push_back({std::move(assignment), {}});
  }
  return starts;
}

}  // namespace doppler
