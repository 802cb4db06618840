// Demonstrations: what policies imitate of themselves.
#ifndef DOPPLER_LEARNER_DEMONSTRATIONS_H_
#define DOPPLER_LEARNER_DEMONSTRATIONS_H_

#include <cstdint>
#include <optional>

#include "common/stage.h"
#include "common/trajectory.h"
#include "learner/checkpoint.h"

namespace doppler {

// The best placement of a graph as decisions that can be imitated: in the real stage the best that
// was measured, if any. Nothing where there is none that a policy's order belongs to. Of the state
// that a checkpoint holds, so that a resumed run learns the same.
std::optional<Trajectory> demonstration(const GraphState& state, std::uint32_t graph, Stage stage);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_DEMONSTRATIONS_H_
