// Checkpoint: everything that a resumed run needs to continue as if it had never stopped. Plain
// data; how it lies on disk is checkpoint_store.h's matter, docs/formats.md describes it.
#ifndef DOPPLER_LEARNER_CHECKPOINT_H_
#define DOPPLER_LEARNER_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/assignment.h"
#include "common/ids.h"
#include "common/sim_time.h"
#include "common/stage.h"
#include "learner/episode_counts.h"

namespace doppler {

struct NamedTensor {
  std::string name;  // as in the network: "encoder.rounds.0.forward.weight"
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
  bool operator==(const NamedTensor&) const = default;
};

struct NamedTime {
  std::string name;
  SimTime time;
  bool operator==(const NamedTime&) const = default;
};

// The best assignment seen for one graph, with what reproduces it.
struct BestPlacement {
  SimTime makespan = SimTime::max();
  std::uint64_t episode = 0;
  std::uint64_t seed = 0;
  std::string found_by;            // "policy sample", "policy greedy", ...
  Assignment assignment;           // [operations]; empty: none yet
  std::vector<OperationId> order;  // SEL's; [operations] or empty
  bool operator==(const BestPlacement&) const = default;
};

struct GraphState {
  std::string name;
  std::uint64_t content_hash = 0;
  std::int64_t operation_count = 0;
  BestPlacement best;
  BestPlacement greedy;              // of the newest evaluation in simulation
  BestPlacement measured;            // the best of a real stage; picoseconds of the machine
  std::vector<NamedTime> baselines;  // makespans
  SimTime lower_bound;
  bool operator==(const GraphState&) const = default;
};

struct WeightVersion {
  std::uint64_t version = 0;
  std::vector<std::byte> bytes;  // an encoded WeightSnapshot
  bool operator==(const WeightVersion&) const = default;
};

struct Checkpoint {
  std::string config_yaml;  // effective configuration
  std::uint64_t config_hash = 0;
  std::uint32_t lineage = 0;  // of the process that wrote it
  Stage stage = Stage::kImitation;
  std::uint64_t stage_update = 0;  // updates done in this stage
  std::uint64_t update = 0;        // updates done in all; the weight version
  std::uint64_t next_episode = 0;  // first episode that no trained batch holds
  std::uint64_t next_ticket = 0;
  double elapsed_seconds = 0;  // of training, over all lineages
  double stage_elapsed_seconds = 0;
  EpisodeCounts counts;
  double learning_rate = 0;
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor>
      optimizer;  // "<parameter>/exp_avg", "<parameter>/exp_avg_sq", "<parameter>/step"
  std::vector<WeightVersion> recent_versions;  // those that open tickets may name, ascending
  std::vector<GraphState> graphs;
  std::string archive_segment;     // being written when this was saved
  std::uint64_t archive_rows = 0;  // committed in it
  bool operator==(const Checkpoint&) const = default;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_CHECKPOINT_H_
