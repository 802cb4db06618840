#include "learner/initial_checkpoint.h"

#include <filesystem>
#include <string>
#include <vector>

#include "common/error.h"
#include "learner/checkpoint_store.h"
#include "learner/trainer.h"

namespace doppler {

std::unique_ptr<Checkpoint> load_initial(const Config& config, const RunInputs& inputs) {
  const std::string& path = config.model.initial_checkpoint;
  if (!std::filesystem::is_regular_file(path)) {
    throw ConfigError("model.initial_checkpoint: there is no file " + path +
                      "; a run keeps its checkpoints in RUN_DIR/checkpoints");
  }
  auto checkpoint = std::make_unique<Checkpoint>(CheckpointStore::load(path));
  std::vector<TrainingGraph> graphs;
  for (const RunInput& input : inputs.graphs) {
    graphs.push_back({&input.machine->costs(), input.levels.get()});
  }
  try {
    Trainer(config.model, config.learner, config.stages.teacher, graphs, config.run.seed)
        .adopt(*checkpoint);
  } catch (const FormatError& error) {
    throw FormatError(path + ": " + error.what());
  }
  return checkpoint;
}

}  // namespace doppler
