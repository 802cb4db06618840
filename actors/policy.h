// The two decisions of an episode, and the policies that take them. NodePolicy is SEL in the paper,
// DevicePolicy PLC.
//
// A policy is told of the beginning of each episode and of each placement, so it may keep state
// within an episode; it keeps none across episodes. Randomness comes from the stream that is handed
// in and from nowhere else. Not thread-safe.
#ifndef DOPPLER_ACTORS_POLICY_H_
#define DOPPLER_ACTORS_POLICY_H_

#include "common/episode.h"
#include "common/ids.h"
#include "common/random.h"

namespace doppler {

struct OperationChoice {
  OperationId operation;
  float log_probability = 0;  // 0 for a policy without one
};

struct DeviceChoice {
  DeviceId device;
  float log_probability = 0;
};

class NodePolicy {
 public:
  virtual ~NodePolicy() = default;
  virtual void begin_episode() {}
  // One of episode.candidates().
  virtual OperationChoice select(const Episode& episode, RandomStream& random) = 0;
};

class DevicePolicy {
 public:
  virtual ~DevicePolicy() = default;
  virtual void begin_episode() {}
  // A device for episode.selected().
  virtual DeviceChoice choose(const Episode& episode, RandomStream& random) = 0;
  virtual void placed(OperationId /*operation*/, DeviceId /*device*/) {}
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_POLICY_H_
