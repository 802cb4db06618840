// SearchState: the assignment that a local search changes, its total of transfers, and how to take
// the last move back.
#ifndef DOPPLER_SIM_SEARCH_STATE_H_
#define DOPPLER_SIM_SEARCH_STATE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/ids.h"

namespace doppler {

// Not thread-safe. The cost table must outlive it.
class SearchState {
 public:
  explicit SearchState(const CostTable& costs) : costs_(&costs) {}

  // Begins anew. [operations], every device allowed.
  void reset(Assignment assignment);

  const Assignment& assignment() const { return assignment_; }
  DeviceId device(OperationId operation) const { return assignment_[operation]; }
  // The sum over all edges of what each takes between its devices. It is the slope where the
  // makespan is flat: most moves change no makespan, and of those the ones that transfer less leave
  // more room for the next.
  std::int64_t transfer_ticks() const { return transfer_ticks_; }

  // Forgets the moves so far.
  void begin_move();
  // Part of a move. Nothing happens if `device` is not allowed or the operation is there already.
  void set(OperationId operation, DeviceId device);
  // Whether the move has changed anything.
  bool moved() const { return !changes_.empty(); }
  void undo_move();

 private:
  std::int64_t transfers_of(OperationId operation) const;

  const CostTable* costs_;
  Assignment assignment_;
  std::int64_t transfer_ticks_ = 0;
  std::int64_t transfer_ticks_before_ = 0;                 // the move
  std::vector<std::pair<OperationId, DeviceId>> changes_;  // where each was before, in order
};

}  // namespace doppler

#endif  // DOPPLER_SIM_SEARCH_STATE_H_
