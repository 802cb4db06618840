// The joint policy: one softmax over all pairs of a candidate and a device (an ablation of the
// paper's factorised action). Its choice is drawn in two steps, which comes to the same: the
// operation by the sum over its devices, then the device, by LearnedDevicePolicy.
#ifndef DOPPLER_ACTORS_JOINT_POLICY_H_
#define DOPPLER_ACTORS_JOINT_POLICY_H_

#include <vector>

#include "actors/learned_policy.h"

namespace doppler {

class JointNodePolicy final : public NodePolicy {
 public:
  // `episode` is the one that is played: its selection is moved over the candidates. It, the tables
  // and the device policy of the same episodes must outlive this one.
  JointNodePolicy(Episode& episode, const HeadTables& tables, LearnedDevicePolicy& device_policy,
                  const Exploration& exploration);
  OperationChoice select(const Episode& episode, RandomStream& random) override;

 private:
  Episode* episode_;
  const HeadTables* tables_;
  LearnedDevicePolicy* device_policy_;
  Exploration exploration_;
  std::vector<float> scores_;         // [candidates]
  std::vector<float> probabilities_;  // [candidates]
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_JOINT_POLICY_H_
