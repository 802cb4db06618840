// The end of a run with a real stage: learned placements and all baselines, measured in turn on the
// machine of the learner, whose workers have nothing to do by then. Part of the program, which
// joins learner, baselines and real execution.
#ifndef DOPPLER_LEARNER_FINAL_COMPARISON_H_
#define DOPPLER_LEARNER_FINAL_COMPARISON_H_

#include <functional>
#include <vector>

#include "common/config.h"
#include "common/topology.h"
#include "learner/measured_comparison.h"
#include "learner/run_input.h"

namespace doppler {

// `before_round(i)` is called before each of config.execution.final_repeats rounds and ends the
// measurement by returning false. Throws SystemError where this machine lacks what the backend
// needs, GPUs for instance.
MeasuredComparison compare_for_real(const Config& config, const RunInput& input,
                                    const Topology& topology,
                                    const std::vector<LearnedPlacement>& learned,
                                    const std::function<bool(int)>& before_round);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_FINAL_COMPARISON_H_
