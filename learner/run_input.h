// RunInput: a graph of a run with all that is derived from it before anything is trained: its
// machine, its levels, what classical scheduling makes of it, and the placement that a baseline
// teaches.
#ifndef DOPPLER_LEARNER_RUN_INPUT_H_
#define DOPPLER_LEARNER_RUN_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/graph.h"
#include "common/levels.h"
#include "common/plan.h"
#include "common/topology.h"
#include "learner/checkpoint.h"
#include "sim/baselines.h"
#include "sim/machine.h"

namespace doppler {

struct RunInput {
  std::string source;  // file or workload
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<Levels> levels;
};

struct RunInputs {
  std::unique_ptr<Topology> topology;  // physical mode
  std::vector<RunInput> graphs;        // in the order of the configuration
};

// Reads or generates what the configuration names; warnings go to the log. Throws what the readers
// throw.
RunInputs load_run_inputs(const Config& config);

// How hard the baselines of a report try.
BaselineOptions run_input_baseline_options(const RunInput& input, std::uint64_t seed);

// Name, baselines and bound. Searches and samples get fewer tries on large graphs, so that this
// takes seconds on any.
GraphState describe_run_input(const RunInput& input, std::uint64_t seed);

// What every baseline but a mean of random placements makes of the graph, where it is feasible: the
// best first, each with an order that an episode can follow.
std::vector<BestPlacement> baseline_placements(const RunInput& input, std::uint64_t seed);

// What the teacher does with the graph; nothing where it is a policy.
std::optional<Plan> teacher_plan(Teacher teacher, const RunInput& input, std::uint64_t seed);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_INPUT_H_
