// Experiments of calibration: small graphs that are executed like any other, so that what is
// measured is what the executor sees, its own share included. Times are the lower quartile of many:
// others on the machine can only make samples slower.
#ifndef DOPPLER_GPUEXEC_CALIBRATION_EXPERIMENT_H_
#define DOPPLER_GPUEXEC_CALIBRATION_EXPERIMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/cost_table.h"
#include "common/executor.h"
#include "common/graph.h"
#include "common/physical_options.h"
#include "common/topology.h"
#include "gpuexec/backend.h"
#include "gpuexec/calibration_fit.h"

namespace doppler {

// What to measure: an operation by kind and size.
struct OperationSample {
  std::string kind;
  double flops = 0;
  std::int64_t output_bytes = 0;
  std::vector<std::int64_t> output_shape;
  std::vector<std::int64_t> read_bytes;
  double bytes() const;  // read and written
};

// Matrix products, sums, functions, copies and synthetic operations, over four orders of magnitude
// up to `largest_elements` (at least 4096) an operand.
std::vector<OperationSample> default_samples(std::int64_t largest_elements);
// The kinds and sizes of a graph, at most `most` of them, spread over all.
std::vector<OperationSample> samples_like(const Graph& graph, std::size_t most);

using BackendMaker =
    std::function<std::unique_ptr<Backend>(const CostTable& costs, const Topology& topology)>;

class CalibrationExperiment {
 public:
  // `skeleton` says which devices there are; its figures count where `make_backend` makes emulated
  // ones. It must outlive this. Each run may take `timeout_seconds`; longer throws SystemError.
  // Before each it rests for `pause_seconds`.
  CalibrationExperiment(const Topology& skeleton, Contention contention, BackendMaker make_backend,
                        double timeout_seconds, double pause_seconds = 0);

  // What `sample` takes on each device, [devices] seconds from the start of one operation to the
  // start of the next, while all devices are busy with the same.
  std::vector<double> time_operation(const OperationSample& sample) const;

  // From the end of an operation on `from` to the start of its consumer on `to`, and back,
  // of tensors that go to and fro.
  struct ThereAndBack {
    double there_seconds = 0;
    double back_seconds = 0;
  };
  ThereAndBack time_transfer(DeviceId from, DeviceId to, std::int64_t bytes) const;

  // How long `pairs` (from, to) take that all send `count` tensors of `bytes` at once, from the
  // start to the last arrival.
  double time_burst(const std::vector<std::pair<DeviceId, DeviceId>>& pairs, std::int64_t bytes,
                    int count) const;

  // Of a device, as the backend says; 0: not known.
  std::int64_t memory_bytes(DeviceId device) const;

 private:
  std::vector<Execution> run(const Graph& graph, const Assignment& assignment, int runs) const;

  const Topology* skeleton_;
  Contention contention_;
  BackendMaker make_backend_;
  double timeout_seconds_;
  double pause_seconds_;
};

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CALIBRATION_EXPERIMENT_H_
