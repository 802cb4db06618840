// Assignment: the device of every operation, and the result of carrying one out.
#ifndef DOPPLER_COMMON_ASSIGNMENT_H_
#define DOPPLER_COMMON_ASSIGNMENT_H_

#include <vector>

#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

using Assignment = IdVector<OperationId, DeviceId>;  // [operations]

}  // namespace doppler

#endif  // DOPPLER_COMMON_ASSIGNMENT_H_
