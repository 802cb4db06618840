// ExecutionRecorder: makes an Execution of what happens in a run, simulated or real. Whoever
// decides what runs when tells it; it finds out what everything waited for, and adds up busy times.
//
// Nothing is allocated between reset() and take(). Not thread-safe.
#ifndef DOPPLER_SIM_EXECUTION_RECORDER_H_
#define DOPPLER_SIM_EXECUTION_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/assignment.h"
#include "common/executor.h"
#include "common/ids.h"
#include "common/sim_time.h"
#include "common/topology.h"
#include "sim/memory_meter.h"

namespace doppler {

class ExecutionRecorder {
 public:
  // `topology` must outlive it.
  explicit ExecutionRecorder(const Topology& topology) : topology_(&topology) {}

  // A new run of so many operations, with so many transfers at most.
  void reset(std::size_t operation_count, std::size_t transfer_count);

  // The last of its inputs is there, by `cause`. Operations of which this is not told are ready at
  // time 0, by nothing.
  void ready(OperationId operation, Wait cause, SimTime now);
  // Its device takes it.
  void dispatched(OperationId operation, DeviceId device, SimTime now);
  void ran(OperationId operation, SimTime start, SimTime end);

  // Transfer `id` counts requests from 0. Of `request`, start, end and wait are not looked at.
  void requested(std::int32_t id, const TransferRecord& request);
  // It holds its route, which it may have waited for, and starts.
  void started(std::int32_t id, Wait wait, SimTime now);
  void sent(std::int32_t id, SimTime end);
  // Where it really started is known only now.
  void sent(std::int32_t id, SimTime start, SimTime end);

  // The record of a run that is over; `memory` has seen all of it. Feasibility is left to the
  // caller.
  Execution take(const Assignment& assignment, const MemoryMeter& memory, SimTime makespan);

 private:
  void add_up(const Assignment& assignment);

  const Topology* topology_;
  Execution record_;
  std::size_t request_count_ = 0;
  std::vector<Wait> cause_;                          // [operations], the last input
  IdVector<DeviceId, std::int32_t> last_operation_;  // [devices]
};

}  // namespace doppler

#endif  // DOPPLER_SIM_EXECUTION_RECORDER_H_
