#include "learner/closing_stages.h"

#include <stop_token>

#include <fmt/format.h>

#include "common/error.h"
#include "common/log.h"
#include "common/reference_cost.h"
#include "learner/stop_signal.h"

namespace doppler {

Refinement refine_graph(const Config& config, const RunInput& input, std::size_t graph_count,
                        int threads, const std::vector<BestPlacement>& starts,
                        const ShowProgress& show_progress) {
  const RefinementBudget budget{
      .seconds = config.refinement.seconds / static_cast<double>(graph_count),
      .evaluations = config.refinement.evaluations};
  if (budget.seconds <= 0) threads = 1;
  std::stop_source stop;
  return refine(
      *input.machine, starts, budget, threads, config.run.seed, stop.get_token(),
      [&](const SearchProgress& progress) {
        if (stop_signal() != 0) stop.request_stop();
        show_progress(
            progress.fraction,
            fmt::format(
                "refinement {:>9} evaluations  best {:.6g}  {}", progress.evaluations,
                displayed_cost(progress.best, input.graph->cost_unit() == CostUnit::kPhysical),
                input.graph->name()));
      });
}

std::optional<MeasuredComparison> compare_graph(const Config& config, const RunInputs& inputs,
                                                std::size_t graph,
                                                const std::vector<LearnedPlacement>& learned,
                                                const ShowProgress& show_progress) {
  const auto rounds = static_cast<double>(config.execution.final_repeats);
  try {
    return compare_for_real(
        config, inputs.graphs[graph], *inputs.topology, learned, [&](int round) {
          show_progress(round / rounds, fmt::format("comparison, round {} of {}  {}", round + 1,
                                                    rounds, inputs.graphs[graph].graph->name()));
          return stop_signal() == 0;
        });
  } catch (const SystemError& error) {
    log_warning(
        "the placements cannot be compared on the learner's machine: {}; doppler execute on one "
        "of the workers' measures best/assignment.json",
        error.what());
    return std::nullopt;
  }
}

}  // namespace doppler
