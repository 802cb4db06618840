// Checks a recorded execution against the rules of the physical simulator, from the record alone
// and by the plainest means.
#ifndef DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_
#define DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_

#include <span>
#include <string>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "tests/support/progressive_filling.h"

namespace doppler::test {

// What a schedule is of.
struct ScheduleCase {
  const CostTable* costs;
  const Topology* topology;
  PhysicalOptions options;  // without noise
  Assignment assignment;
  std::span<const OperationId> order;
};

// The flows of a recorded execution with fair sharing, and what they share: links, then groups.
std::vector<Flow> fair_flows(const Topology& topology, const Execution& execution);
std::vector<long double> fair_capacities(const Topology& topology);

// The first rule that is broken, in words, or "".
std::string find_violation(const ScheduleCase& c, const Execution& execution);

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_
