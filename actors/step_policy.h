// Policies whose encoder passes messages at each step of an episode, with what has been placed so
// far (common/step_encoder.h).
#ifndef DOPPLER_ACTORS_STEP_POLICY_H_
#define DOPPLER_ACTORS_STEP_POLICY_H_

#include <memory>
#include <vector>

#include "actors/learned_policy.h"
#include "common/config.h"
#include "common/levels.h"
#include "common/step_encoder.h"

namespace doppler {

// PLC, and the encoder's keeper: it tells the encoder what is placed.
class StepDevicePolicy final : public DevicePolicy {
 public:
  // marks: the encoder is told which operation is to be placed before it is placed, which a policy
  // that selects by the encoding cannot know. learns: rows of the encoding decide; else the
  // earliest start. The tables, weights, levels and graph must outlive it.
  StepDevicePolicy(const HeadShape& shape, const HeadTables& tables, const HeadWeights& weights,
                   const Graph& graph, const Levels& levels, std::size_t device_count, bool marks,
                   bool learns, const Exploration& exploration);
  void begin_episode() override;
  DeviceChoice choose(const Episode& episode, RandomStream& random) override;
  void placed(OperationId operation, DeviceId device) override;
  StepEncoder& encoder() { return encoder_; }

 private:
  StepEncoder encoder_;
  const HeadTables* tables_;
  const HeadWeights* weights_;
  std::size_t row_width_;
  bool marks_;
  bool learns_;
  HeadTables rows_;  // each operation's row when it is placed
  std::unique_ptr<DevicePolicy> decides_;
};

// SEL by the encoder of the device policy of the same episodes, which must outlive it.
class StepNodePolicy final : public NodePolicy {
 public:
  StepNodePolicy(StepDevicePolicy& device_policy, const Exploration& exploration)
      : device_policy_(&device_policy), exploration_(exploration) {}
  OperationChoice select(const Episode& episode, RandomStream& random) override;

 private:
  StepDevicePolicy* device_policy_;
  Exploration exploration_;
  std::vector<float> scores_;         // [candidates]
  std::vector<float> probabilities_;  // [candidates]
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_STEP_POLICY_H_
