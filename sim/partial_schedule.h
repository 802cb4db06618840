// PartialSchedule: an estimated schedule that list schedulers build up, one operation after the
// other. Devices run one operation at a time; a transfer takes the time of the cost table and meets
// no other.
#ifndef DOPPLER_SIM_PARTIAL_SCHEDULE_H_
#define DOPPLER_SIM_PARTIAL_SCHEDULE_H_

#include <utility>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

// Operations are placed after all their predecessors. Not thread-safe. The cost table must outlive
// it.
class PartialSchedule {
 public:
  explicit PartialSchedule(const CostTable& costs);

  // When the last input of `operation` would be there, were it placed on `device`.
  SimTime inputs_ready(OperationId operation, DeviceId device) const;
  // The earliest start behind everything that `device` has to do so far.
  SimTime earliest_start(OperationId operation, DeviceId device) const;
  // The earliest start in a gap between what `device` has to do, or behind it (insertion).
  SimTime earliest_inserted_start(OperationId operation, DeviceId device) const;

  void place(OperationId operation, DeviceId device, SimTime start);

  SimTime end(OperationId operation) const { return end_[operation]; }
  const Assignment& assignment() const { return assignment_; }
  const std::vector<OperationId>& order() const { return order_; }  // of the placements
  SimTime makespan() const { return makespan_; }

 private:
  using Interval = std::pair<SimTime, SimTime>;  // [start, end)

  const CostTable* costs_;
  Assignment assignment_;                    // [operations]
  IdVector<OperationId, SimTime> end_;       // [operations]
  std::vector<std::vector<Interval>> busy_;  // [devices], by start
  std::vector<OperationId> order_;
  SimTime makespan_;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_PARTIAL_SCHEDULE_H_
