// Joins the parts of a run and runs it: graphs and their machines, the learner's loop, this node's
// workers and the links to the hosts of other ranks, the stages after training, the summary.
#ifndef DOPPLER_LEARNER_RUN_ASSEMBLY_H_
#define DOPPLER_LEARNER_RUN_ASSEMBLY_H_

#include <chrono>
#include <cstdint>

#include "common/config.h"
#include "common/mpi_link.h"
#include "common/worker_supervisor.h"
#include "learner/checkpoint.h"
#include "learner/run_folder.h"
#include "learner/run_input.h"
#include "learner/train_options.h"
#include "learner/training_run.h"

namespace doppler {

// All of it read and found good.
struct RunParts {
  const TrainOptions& options;  // with the run's folder
  const Config& config;
  const RunInputs& inputs;
  const Checkpoint* resumed;  // null for a run that begins
  const Checkpoint* initial;  // what that begins with; null: weights that follow from the seed
  SupervisionLimits limits;
  std::chrono::steady_clock::time_point process_start;  // budgets of seconds count from here
};

// Worker processes of this node.
std::uint32_t local_worker_count(const Config& config);

// Returns when the run is done or was asked to stop (stop_signal.h); every rank above 0 is served
// until its end. The summary is written to the folder and to standard output. Throws SystemError,
// at the end, where files of the run lost anything.
RunOutcome run_training(const RunParts& parts, MpiSession& session, RunFolder& folder);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_ASSEMBLY_H_
