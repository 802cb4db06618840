// Checks a recorded execution against the rules of the physical simulator, from the record alone
// and by the plainest means.
#ifndef DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_
#define DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_

#include <span>
#include <string>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/topology.h"
#include "sim/physical_options.h"

namespace doppler::test {

// What a schedule is of.
struct ScheduleCase {
  const CostTable* costs;
  const Topology* topology;
  PhysicalOptions options;  // without noise
  Assignment assignment;
  std::span<const OperationId> order;
};

// The first rule that is broken, in words, or "".
std::string find_violation(const ScheduleCase& c, const Execution& execution);

}  // namespace doppler::test

#endif  // DOPPLER_TESTS_SUPPORT_SCHEDULE_CHECK_H_
