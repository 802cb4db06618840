// The learned policies: the factorised heads of common/heads.h over the tables of one weight
// version.
#ifndef DOPPLER_ACTORS_LEARNED_POLICY_H_
#define DOPPLER_ACTORS_LEARNED_POLICY_H_

#include <vector>

#include "actors/policy.h"
#include "common/heads.h"

namespace doppler {

// How a learned policy turns probabilities into a choice.
struct Exploration {
  bool greedy = false;  // the most probable action; of equals the smallest id
  double epsilon = 0;   // with this probability an action uniformly at random instead
  bool operator==(const Exploration&) const = default;
};

class LearnedNodePolicy final : public NodePolicy {
 public:
  // The head must outlive it.
  LearnedNodePolicy(const SelectHead& head, const Exploration& exploration)
      : head_(&head), exploration_(exploration) {}
  OperationChoice select(const Episode& episode, RandomStream& random) override;

 private:
  const SelectHead* head_;
  Exploration exploration_;
};

class LearnedDevicePolicy final : public DevicePolicy {
 public:
  // Tables and weights must outlive it.
  LearnedDevicePolicy(const HeadShape& shape, const HeadTables& tables, const HeadWeights& weights,
                      std::size_t device_count, const Exploration& exploration);
  void begin_episode() override;
  DeviceChoice choose(const Episode& episode, RandomStream& random) override;
  void placed(OperationId operation, DeviceId device) override;
  // log(sum over the devices of exp(score)) of episode.selected().
  float log_total(const Episode& episode);

 private:
  PlaceHead head_;
  const HeadTables* tables_;
  const HeadWeights* weights_;
  Exploration exploration_;
  std::vector<float> scores_;         // [devices]
  std::vector<float> probabilities_;  // [devices]
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_LEARNED_POLICY_H_
