// What a run does with each graph when its training is over: searches on from what was learned, and
// measures the placements in turn. On the learner's machine; the stop signals (stop_signal.h) cut
// both short.
#ifndef DOPPLER_LEARNER_CLOSING_STAGES_H_
#define DOPPLER_LEARNER_CLOSING_STAGES_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "learner/final_comparison.h"
#include "learner/refinement.h"
#include "learner/run_input.h"

namespace doppler {

// Told how far (0 to 1) and a line for people.
using ShowProgress = std::function<void(double, const std::string&)>;

// A graph's share of refinement.seconds, or refinement.evaluations, of a run of `graph_count`
// graphs. By evaluations the result hangs on the number of threads; one gives the same everywhere,
// so `threads` counts for seconds alone.
Refinement refine_graph(const Config& config, const RunInput& input, std::size_t graph_count,
                        int threads, const std::vector<BestPlacement>& starts,
                        const ShowProgress& show_progress);

// Nothing where this machine cannot run what the workers' machines can.
std::optional<MeasuredComparison> compare_graph(const Config& config, const RunInputs& inputs,
                                                std::size_t graph,
                                                const std::vector<LearnedPlacement>& learned,
                                                const ShowProgress& show_progress);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_CLOSING_STAGES_H_
