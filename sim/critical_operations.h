// The operations that a schedule's makespan hangs on.
#ifndef DOPPLER_SIM_CRITICAL_OPERATIONS_H_
#define DOPPLER_SIM_CRITICAL_OPERATIONS_H_

#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/executor.h"
#include "common/ids.h"

namespace doppler {

// From the operation that ends last back to a start: before each operation stands what it waited
// for, which is its last input or the operation before it on its device, whichever came later. Only
// start and end of the record are read, and transfers are taken to need what they need alone, so
// that it is an estimate where transfers meet.
std::vector<OperationId> critical_operations(const CostTable& costs, const Assignment& assignment,
                                             const Execution& execution);

}  // namespace doppler

#endif  // DOPPLER_SIM_CRITICAL_OPERATIONS_H_
