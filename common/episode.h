// Episode: the decision process that places one graph (paper, section 3). In each of m = |V| steps
// SEL selects an operation among the candidates (all of whose predecessors are placed) and PLC
// places it on a device. Actors use this class to decide, the learner to replay; both see the same
// candidates in the same order and the same features.
//
// It keeps an estimated schedule incrementally: a placed operation starts once its inputs have
// arrived at its device and the device has finished what was placed there before. One step costs
// O(in-degree x devices). Not thread-safe; the cost table must outlive it. No allocation after
// construction.
#ifndef DOPPLER_COMMON_EPISODE_H_
#define DOPPLER_COMMON_EPISODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/cost_table.h"
#include "common/ids.h"
#include "common/sim_time.h"

namespace doppler {

// The dynamic features Y[v, d] of placing operation v on device d (paper, appendix; semantics:
// "Episode"). Times are differences against the earliest start of v over all devices, divided by
// the graph's characteristic operation time and squashed to (-1, 1); so they depend neither on the
// unit of time nor on how far the episode has come.
enum class PlaceFeature : std::uint8_t {
  kLoad = 0,                   // compute already placed on d, above the least loaded device
  kPredecessorCompute = 1,     // compute of v's predecessors on d
  kPredecessorFirstStart = 2,  // earliest start of v's predecessors on d; 0 without any
  kPredecessorLastEnd = 3,     // latest end of v's predecessors on d; 0 without any
  kEarliestStart = 4,          // when v could start on d
  kInputsArrive = 5,           // when v's inputs would all have arrived on d
  kLocalInputs = 6,            // share of v's input transfer time that lies on d already, in 0..1
  kIsEarliest = 7,             // 1 on the devices where v can start earliest, else 0
  // Where devices or links differ (physical costs); else 0:
  kComputeExcess = 8,      // compute of v on d, above that on the fastest device for it
  kEarliestFinish = 9,     // when v could finish on d, above the earliest
  kIsEarliestFinish = 10,  // 1 on the devices where v can finish earliest, else 0
  kDeviceFree = 11,        // when what was placed on d before is done
  kTransferExcess = 12,    // of v's inputs to d, above the device that they reach soonest
  kReach = 13,             // of v's output from d to the others, above the best connected device
  kMemoryTaken = 14,       // share of d's memory that outputs take that were made or copied there
};
inline constexpr std::size_t kPlaceFeatureCount = 16;
// Those from here on are 0 unless the costs are physical.
inline constexpr std::size_t kUniformFeatureCount = 8;

class Episode {
 public:
  explicit Episode(const CostTable& costs);

  // Back to the state in which nothing is placed.
  void reset();

  const Graph& graph() const { return costs_->graph(); }
  bool done() const { return placed_count_ == costs_->graph().operation_count(); }
  std::size_t placed_count() const { return placed_count_; }
  // The operations that SEL may select, in an order that depends on the decisions so far alone: a
  // newly ready operation is appended, and the place of a selected one is taken by the last.
  std::span<const OperationId> candidates() const { return candidates_; }
  bool is_candidate(OperationId operation) const { return candidate_position_[operation] >= 0; }

  // Selects a candidate: earliest_start() and features() then speak of it, until place().
  void select(OperationId operation);
  OperationId selected() const { return selected_; }
  // Whether the selected operation may run on the device (pins, forbidden devices, devices without
  // a rate for it).
  bool allowed(std::size_t device) const { return costs_->all_allowed() || allowed_[device] != 0; }
  bool all_allowed() const { return costs_->all_allowed(); }
  // When the selected operation could start on each device; [devices]. SimTime::max() where it is
  // not allowed.
  std::span<const SimTime> earliest_start() const { return earliest_start_; }
  // [devices, kPlaceFeatureCount] row-major, of the selected operation; a row of zeros where it is
  // not allowed.
  std::span<const float> features() const { return features_; }
  // How many columns from the first on may differ from 0: kUniformFeatureCount or all.
  std::size_t used_features() const {
    return physical_ ? kPlaceFeatureCount : kUniformFeatureCount;
  }
  // Places the selected operation.
  void place(DeviceId device);

  // Of the placed operations.
  DeviceId device(OperationId operation) const { return device_[operation]; }
  SimTime estimated_makespan() const { return estimated_makespan_; }

 private:
  const CostTable* costs_;
  std::size_t devices_;
  float per_time_scale_;  // 1 / characteristic operation time, in 1 / ticks

  std::size_t placed_count_ = 0;
  std::vector<OperationId> candidates_;
  IdVector<OperationId, std::int32_t> candidate_position_;  // -1: not a candidate
  IdVector<OperationId, std::int32_t> waiting_inputs_;
  IdVector<OperationId, DeviceId> device_;
  IdVector<OperationId, SimTime> start_;
  IdVector<OperationId, SimTime> end_;
  std::vector<SimTime> device_free_;  // [devices]
  std::vector<SimTime> load_;         // [devices]
  SimTime estimated_makespan_;

  OperationId selected_;
  std::vector<std::uint8_t> allowed_;           // [devices]; kept only where something is forbidden
  std::vector<SimTime> earliest_start_;         // [devices]
  std::vector<SimTime> inputs_arrive_;          // [devices]
  std::vector<OperationId> first_predecessor_;  // [devices], by start; of those there
  std::vector<OperationId> last_predecessor_;   // [devices], by end; of those there
  std::vector<float> features_;                 // [devices, kPlaceFeatureCount]

  // Physical costs only.
  void add_physical_features(SimTime earliest);
  bool physical_;
  std::vector<std::int64_t> taken_bytes_;  // [devices]
  std::vector<SimTime> finish_;            // [devices], scratch
  std::vector<SimTime> input_transfer_;    // [devices], of the selected operation's inputs
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_EPISODE_H_
