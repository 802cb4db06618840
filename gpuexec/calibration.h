// Calibration: makes a topology of what a backend is measured to do, so that simulations of it come
// true.
//
//   operations  time by kind and size on each device while all of them are busy, and the cost model
//               fitted to it: launch overhead, memory bandwidth, rate by kind
//   links       latency and bandwidth of each pair in both directions, alone
//   contention  the two directions of a pair at once: where they take clearly longer than alone,
//               they get a shared group with the capacity that was seen. One device to all others,
//               and all others to one: where that takes as long as one after the other, it has one
//               copy engine. All pairs at once: where that takes clearly longer than links, engines
//               and groups explain, all links get one more group
//   memory      as the backend says
#ifndef DOPPLER_GPUEXEC_CALIBRATION_H_
#define DOPPLER_GPUEXEC_CALIBRATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/topology.h"
#include "gpuexec/calibration_experiment.h"
#include "gpuexec/calibration_fit.h"

namespace doppler {

struct CalibrationOptions {
  std::vector<OperationSample> samples;  // at least one
  std::int64_t largest_transfer_bytes = 1 << 24;
  std::function<void(const std::string&)> on_progress = {};  // what is measured now
};

struct OperationCheck {
  DeviceId device;
  OperationTime measured;
  double predicted_seconds = 0;
};
struct TransferCheck {
  DeviceId from;
  DeviceId to;
  TransferTime measured;
  double predicted_seconds = 0;
};

struct Calibration {
  TopologyParts parts;
  std::vector<OperationCheck> operations;  // measured against fitted
  std::vector<TransferCheck> transfers;
  std::vector<std::string> findings;  // about contention, for people
};

// `skeleton` names devices; the result has links of their own between all pairs.
Calibration calibrate(const CalibrationExperiment& experiment, const Topology& skeleton,
                      const CalibrationOptions& options);

// The median of |predicted - measured| / measured.
double median_error(const std::vector<OperationCheck>& checks);
double median_error(const std::vector<TransferCheck>& checks);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CALIBRATION_H_
