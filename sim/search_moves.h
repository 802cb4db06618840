// SearchMoves: the moves of the local search and how often each is tried.
#ifndef DOPPLER_SIM_SEARCH_MOVES_H_
#define DOPPLER_SIM_SEARCH_MOVES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/cost_table.h"
#include "common/ids.h"
#include "common/random.h"
#include "sim/device_choices.h"
#include "sim/search_state.h"

namespace doppler {

enum class SearchMove : std::uint8_t {
  kReplace,          // one operation to another device
  kReplaceCritical,  // the same for one on the schedule's critical path
  kSwapAny,          // two operations swap their devices
  kSwapInGroup,      // the same for two of one symmetry group, which leaves every load as it is
  kJoinNeighbour,    // an operation goes where one of its neighbours is
  kMoveCluster,      // some connected operations of one device go to another together
  kRotateGroup,      // some operations of a group pass their devices on in a circle
  kDealGroup,        // a group is dealt out anew, one operation to each device in turn
  kSwapInGroups,     // in one group, two devices swap all that they have
  kSwapBehind,       // the same at all depths from one on, or at one depth
};
inline constexpr std::size_t kSearchMoveCount = 10;

// Not thread-safe. What it is given must outlive it.
class SearchMoves {
 public:
  SearchMoves(const CostTable& costs, const DeviceChoices& choices,
              const std::vector<std::vector<OperationId>>& groups, std::uint64_t seed);

  // Operations that the critical moves pick from; any free operation as long as this is empty.
  void set_critical(std::vector<OperationId> operations) { critical_ = std::move(operations); }

  // Draws a move and makes it. The state may be as before (SearchState::moved()), but not for ever.
  // There must be a free operation.
  void move(SearchState& state);
  // Tells whether the last move was an improvement. Moves that improve often are drawn more often.
  void learn(bool improved);

  RandomStream& random() { return random_; }

 private:
  struct Kind {
    double weight = 0;   // as tuned
    double success = 0;  // share of the last tries that improved, exponentially forgotten
  };

  SearchMove draw_kind();
  OperationId any_operation();
  OperationId critical_operation();
  OperationId critical_or_any_operation();
  OperationId neighbour(OperationId operation);  // the operation itself if it has none
  DeviceId other_device(OperationId operation, DeviceId device);
  std::vector<OperationId>& any_group();

  void replace(SearchState& state, OperationId operation);
  static void swap(SearchState& state, OperationId a, OperationId b);
  void swap_in_group(SearchState& state);
  void move_cluster(SearchState& state);
  void rotate_group(SearchState& state);
  void deal_group(SearchState& state);
  void swap_devices_of(SearchState& state, std::span<const OperationId> operations);
  void swap_behind(SearchState& state);

  const Graph* graph_;
  const DeviceChoices* choices_;
  const std::uint64_t device_count_;
  RandomStream random_;
  std::vector<std::vector<OperationId>> groups_;    // two free operations or more each
  std::vector<std::vector<OperationId>> by_depth_;  // all free operations
  std::vector<OperationId> critical_;
  std::vector<OperationId> cluster_;  // scratch
  std::array<Kind, kSearchMoveCount> kinds_;
  std::size_t last_kind_ = 0;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_SEARCH_MOVES_H_
