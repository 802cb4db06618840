// Lower bounds of the makespan: no assignment can be faster.
//
// What they assume of an execution, and no more: a device runs one operation at a time; an
// operation takes at least its least compute time over the devices that it may run on; it starts
// after all its predecessors have ended, and at least the transfer time of the edge later where the
// predecessor ran elsewhere. So they hold for every simulator of this project, whatever its
// contention, dispatch or memory, as long as nothing is drawn at random.
#ifndef DOPPLER_SIM_LOWER_BOUNDS_H_
#define DOPPLER_SIM_LOWER_BOUNDS_H_

#include <vector>

#include "common/cost_table.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

struct LowerBounds {
  SimTime critical_path;  // longest path, each operation on its fastest device, no transfers
  SimTime work;           // all of that work, spread evenly over the devices, rounded up
  SimTime communication;  // longest path where transfers are counted that cannot be avoided
  SimTime windows;        // work that has to fit between what comes before and behind it
  SimTime largest;        // of all above
  // Of assignments that fit into memory: `largest`, or more where operations need the devices with
  // more of it; SimTime::max() where some operation fits nowhere, so that no assignment fits.
  //
  // Proof. While an operation runs, its device holds its output, its input tensors, and of each
  // predecessor the output or the copy that came over the edge, so no less than the smaller of
  // both. An operation that needs more than a device's capacity cannot run there. What does not fit
  // into the capacities up to c runs on the devices S beyond c: it is work for |S| machines, each
  // operation at its least time in S, between its head and its tail.
  SimTime within_memory;
};

LowerBounds lower_bounds(const CostTable& costs);

// The earliest start of each operation (head) and the least time from its end to the makespan
// (tail), in any execution of any assignment.
//
// Proof for heads, by induction in topological order. Let v start at s on device d, and let L be
// its predecessors that ran on d. Each other predecessor p sent its output: s >= e(p) := head(p) +
// compute(p) + transfer(p, v), with the least compute and transfer times that are allowed. Those in
// L ran one after the other, so s >= F(L), the makespan of one machine with release times head and
// lengths compute (first come, first served is optimal there, and F grows with its set). Let E be
// the largest e outside L. All p with e(p) > E are in L, so s >= max(E, F({p : e(p) > E})): for
// predecessors by falling e, s >= the smallest over k of max(e(p[k + 1]), F({p[1] .. p[k]})).
// Predecessors that can never be on v's device are outside L for every k, those that can never be
// elsewhere have e = infinity. Tails are the same with time reversed: the operations that follow on
// the same device run one after the other, the longest tail first; the others wait for a transfer.
struct HeadsAndTails {
  IdVector<OperationId, SimTime> head;  // [operations]
  IdVector<OperationId, SimTime> tail;  // [operations]
};

HeadsAndTails heads_and_tails(const CostTable& costs);

}  // namespace doppler

#endif  // DOPPLER_SIM_LOWER_BOUNDS_H_
