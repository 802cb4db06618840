// Executor: carries an assignment out, in simulation or for real. The seam between the policies and
// the machine.
#ifndef DOPPLER_COMMON_EXECUTOR_H_
#define DOPPLER_COMMON_EXECUTOR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

// Why something started when it did, and no sooner: the last thing that it had to wait for. That
// ended at the very time of the start, so that following the waits back from the last operation
// gives a path without gaps from time 0 to the makespan.
struct Wait {
  enum class Kind : std::uint8_t {
    kNothing,      // it started at time 0
    kOperation,    // its input: the operation `index`, on the same device (transfers: the source)
    kTransfer,     // its input: the transfer `index`
    kDevice,       // its device, taken by the operation `index`
    kLink,         // a link of its route, held by the transfer `index`; `resource` is a LinkId
    kSharedGroup,  // the same for a shared group; `resource` is a SharedGroupId
    kCopyEngine,   // the same for a copy engine; `resource` is the DeviceId that it belongs to
  };
  Kind kind = Kind::kNothing;
  std::int32_t index = -1;
  std::int32_t resource = -1;
  bool operator==(const Wait&) const = default;
};

// One tensor to one device. It runs over the route of its pair of devices (Topology::route).
struct TransferRecord {
  OperationId producer;
  EdgeId first_edge;  // to its first consumer there
  DeviceId from;
  DeviceId to;
  std::int64_t bytes = 0;
  SimTime requested;   // the producer's end
  SimTime start;       // it holds its route from here on
  SimTime end;         // the tensor is there
  SimTime alone_time;  // what it would take with the route to itself, noise included
  Wait wait;           // before start
  bool operator==(const TransferRecord&) const = default;
};

// What happened. Filled on request (a Gantt chart, a trace); evaluations alone need only the
// makespan. Executors that know no transfers, links or memory leave those parts empty.
struct Execution {
  SimTime makespan;
  IdVector<OperationId, SimTime> start;  // [operations]
  IdVector<OperationId, SimTime> end;    // [operations]

  IdVector<OperationId, SimTime> ready;     // [operations], when the last input was there
  IdVector<OperationId, Wait> wait;         // [operations], before start
  std::vector<TransferRecord> transfers;    // in the order in which they were requested
  IdVector<DeviceId, SimTime> device_busy;  // [devices]
  // [links], while at least one transfer was under way on it.
  IdVector<LinkId, SimTime> link_busy;
  IdVector<LinkId, std::int64_t> link_bytes;           // [links]
  IdVector<DeviceId, std::int64_t> peak_memory_bytes;  // [devices]
  IdVector<DeviceId, std::int64_t> allocated_bytes;    // [devices], over the whole run
  IdVector<DeviceId, std::int64_t> freed_bytes;        // [devices], equal to it at the end
  double largest_overflow_fraction = 0;  // of memory: (peak - capacity) / capacity, 0 if all fits
  bool feasible = true;                  // false: memory is enforced and was not enough
};

// What a measured cost rests on.
struct MeasuredTime {
  double seconds = 0;         // the median of the runs that count
  std::uint32_t repeats = 0;  // how many do
  double spread_seconds = 0;  // standard deviation of one run, estimated; 0 of a single one
  bool operator==(const MeasuredTime&) const = default;
};

class Executor {
 public:
  virtual ~Executor() = default;

  // The cost of `assignment` ([operations], every device in range and allowed): its makespan, or
  // more where the executor penalises an infeasible one. `order` is the order in which SEL selected
  // the operations, for executors that dispatch by priority; it may be empty. Not thread-safe: one
  // executor a thread.
  virtual SimTime run(const Assignment& assignment, std::span<const OperationId> order) = 0;

  // The same, with the record of it.
  virtual Execution run_recorded(const Assignment& assignment,
                                 std::span<const OperationId> order) = 0;

  // Whether the last run could be carried out as it is; an infeasible one is never kept as best.
  virtual bool feasible() const { return true; }

  // Of the last run, where it was carried out for real and to its end.
  virtual std::optional<MeasuredTime> measured() const { return std::nullopt; }
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_EXECUTOR_H_
