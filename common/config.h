// Config: what a run is asked to do. Typed, with defaults; common/config_schema.cc states key,
// range and effect of each field once, and reader, writer and documentation are made from that.
// Libraries receive the part that concerns them, never the whole and never YAML.
#ifndef DOPPLER_COMMON_CONFIG_H_
#define DOPPLER_COMMON_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/physical_options.h"

namespace doppler {

enum class SimulationMode { kReference, kPhysical };
// kSynchronous: batch k is played with version k - 1 - pipeline_depth, so that weights are a
// function of configuration and seed. kAsynchronous: workers play with the newest weights that they
// have, and an update trains on what came in, none of it older than max_staleness versions.
enum class TrainingMode { kSynchronous, kAsynchronous };
// Who computes the gradient with respect to the heads: the learner, by replaying every trajectory,
// or the worker that played them, a ticket at a time.
enum class GradientSource { kLearner, kWorkers };
// Whom imitation imitates. The first is a policy with ties, which the loss shares; the others are
// one placement a graph, made by the baseline of that name (kBest: by the best of them).
enum class Teacher { kCriticalPath, kHeft, kEtf, kPeft, kEnumOpt, kLocalSearch, kBest };
// kJoint: one softmax over all pairs of a candidate and a device, in place of two decisions.
// kTopological: a fixed traversal, the graph's topological order.
enum class SelectPolicy { kLearned, kCriticalPath, kJoint, kTopological };
// kOnePass: learned too, but all placements at once from the graph alone, whatever was placed
// before (as GDP does); for the number of devices that it was trained with. kPooled: learned too,
// from the operation's encoding and the means over its ancestors, its descendants and the rest (as
// Placeto does).
enum class PlacePolicy { kLearned, kEarliestStart, kOnePass, kPooled };
// When messages are passed: before an episode, or again at each of its steps, with what has been
// placed so far among the features.
enum class EncodeTime { kPerEpisode, kPerStep };
enum class Transport { kAuto, kIpc, kTcp };
// Who may take part in a run while it goes on: processes of the learner's machine, or of any.
enum class JoinFrom { kMachine, kNetwork };

struct RunConfig {
  std::string name = "run";
  std::uint64_t seed = 1;
  double budget_seconds =
      0;  // > 0: the whole run ends there, stages by their shares; 0: stages by their episodes
  std::int64_t workers = 0;  // worker processes per host; 0: one per core
};

// What is trained on: exactly one of both lists names something.
struct GraphConfig {
  std::vector<std::string> path;      // graph files; relative to the working folder
  std::vector<std::string> generate;  // or workloads to generate: "chain-mm"
};

struct SimulationConfig {
  SimulationMode mode = SimulationMode::kReference;
  std::int64_t devices = 4;  // kReference: how many; kPhysical: the topology says
  // kPhysical:
  std::string topology;  // a topology file; relative to the working folder
  Contention contention = Contention::kSerial;
  Dispatch dispatch = Dispatch::kFifo;
  MemoryRule memory = MemoryRule::kEnforce;
  double operation_noise = 0;                // coefficients of variation
  std::map<std::string, double> kind_noise;  // of the kinds of operation that have one of their own
  double transfer_noise = 0;
};

struct ModelConfig {
  std::int64_t hidden_width = 32;  // of the encoder
  std::int64_t message_rounds = 3;
  std::int64_t aggregate_rank = 8;  // of PLC's sums over the operations already on a device
  std::int64_t place_hidden = 16;   // of PLC's hidden layer
  bool identity_features = true;    // block coordinates and rank within the symmetry class
  bool operation_table = true;      // a learned term per operation of each trained graph
  bool device_table = false;        // and one per operation and device
  SelectPolicy select = SelectPolicy::kLearned;
  PlacePolicy place = PlacePolicy::kLearned;
  EncodeTime encode = EncodeTime::kPerEpisode;
  double epsilon = 0;              // chance of a uniformly random action while training
  std::string initial_checkpoint;  // weights to begin with, of any run with the same model; or none
};

struct StageConfig {
  bool enabled = true;
  std::int64_t episodes = 0;    // budget without run.budget_seconds
  double share_of_seconds = 0;  // of run.budget_seconds
  double learning_rate_start = 0;
  double learning_rate_end = 0;
  double entropy_start = 0;  // weight of the entropy bonus
  double entropy_end = 0;
  double self_imitation_start = 0;  // weight of imitating the best placement so far
  double self_imitation_end = 0;
  double transfer_weight_start = 0;  // of all transfers, beside the makespan (energy.h)
  double transfer_weight_end = 0;
};

// Stage III: on what the placements run, and how they are measured there (docs/execution.md).
struct ExecutionConfig {
  std::string backend = "cpu";        // of gpuexec
  std::int64_t warmup = 1;            // runs of an assignment that are not measured
  std::int64_t repeats = 3;           // that are; their median is its cost
  bool paired = true;                 // each measured run with one of a control before it
  double timeout_seconds = 5;         // of one run
  std::int64_t workers_per_host = 1;  // that measure; others would disturb them
  std::int64_t candidates = 4;        // placements of earlier stages and baselines, measured first
  std::int64_t final_repeats = 9;     // of each placement in the comparison at the end; 0: none
};

struct StagesConfig {
  Teacher teacher = Teacher::kCriticalPath;
  StageConfig imitation{.episodes = 2048,
                        .share_of_seconds = 0.02,
                        .learning_rate_start = 0.01,
                        .learning_rate_end = 0.01};
  StageConfig simulation{.episodes = 200000,
                         .share_of_seconds = 0.98,
                         .learning_rate_start = 0.02,
                         .learning_rate_end = 0.002,
                         .entropy_start = 0.1,
                         .entropy_end = 0.0,
                         .self_imitation_end = 0.3,
                         .transfer_weight_start = 0.2};
  StageConfig real{.enabled = false,
                   .episodes = 512,
                   .share_of_seconds = 0.5,
                   .learning_rate_start = 0.005,
                   .learning_rate_end = 0.001,
                   .entropy_start = 0.01,
                   .entropy_end = 0.0,
                   .self_imitation_end = 0.1};
};

// Local search from what the policy has found, after the last stage. Of seconds and evaluations
// (a graph each) the seconds count where both are given; both 0: none.
struct RefinementConfig {
  double seconds = 0;
  std::int64_t evaluations = 0;
};

struct LearnerConfig {
  TrainingMode mode = TrainingMode::kSynchronous;
  std::int64_t batch_episodes = 64;  // per update
  std::int64_t group_episodes = 8;   // per ticket
  std::int64_t pipeline_depth = 1;   // kSynchronous: batch k is played with version k - 1 - depth
  std::int64_t max_staleness = 4;    // kAsynchronous: versions that a trajectory may lie behind
  GradientSource gradients = GradientSource::kLearner;
  std::int64_t threads = 1;
  std::int64_t epochs = 1;  // gradient steps per batch
  double clip_ratio = 0.2;  // of the importance ratio of a decision
  double gradient_norm_limit = 1.0;
  double encoder_learning_rate_factor = 0.1;  // of the encoder against the per-operation table
  std::int64_t evaluate_every_updates = 50;   // greedy policy; 0: only at the end
};

struct CheckpointConfig {
  std::int64_t every_updates = 0;  // 0: by time alone
  double every_seconds = 30;
  std::int64_t keep = 3;  // newest ones kept, beside the best
};

struct ArchiveConfig {
  bool enabled = true;
  double decisions_per_second =
      100;  // full trajectories at most this often (improvements always); < 0: all
  std::int64_t segment_rows = 1000000;  // episode rows before a new segment begins
};

// How weight versions reach the hosts of other MPI ranks: each at its own pace, or all by one
// collective, which the slowest holds up.
enum class WeightsBy { kSends, kBroadcast };

struct NetworkConfig {
  Transport transport =
      Transport::kAuto;  // kAuto: ipc for workers on the learner's machine, tcp for others
  WeightsBy weights_by = WeightsBy::kSends;
  JoinFrom join = JoinFrom::kMachine;  // with `doppler actor --join`
};

struct Config {
  RunConfig run;
  GraphConfig graph;
  SimulationConfig simulation;
  ModelConfig model;
  StagesConfig stages;
  ExecutionConfig execution;
  RefinementConfig refinement;
  LearnerConfig learner;
  CheckpointConfig checkpoint;
  ArchiveConfig archive;
  NetworkConfig network;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_CONFIG_H_
