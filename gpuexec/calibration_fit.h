// Fits of the topology's cost model to measured times, robust against spoilt samples: parameters
// are chosen among those that pairs or single samples imply, so that the sum of absolute relative
// errors is least. A quarter of wild samples moves nothing.
#ifndef DOPPLER_GPUEXEC_CALIBRATION_FIT_H_
#define DOPPLER_GPUEXEC_CALIBRATION_FIT_H_

#include <map>
#include <string>
#include <vector>

namespace doppler {

// What operations of one kind and size take on a device.
struct OperationTime {
  std::string kind;
  double flops = 0;
  double bytes = 0;  // read and written
  double seconds = 0;
};

// seconds = overhead + max(flops / rate of the kind, bytes / memory bandwidth), as CostTable has
// it.
struct OperationFit {
  double overhead_seconds = 0;
  double memory_bandwidth_bytes_per_second = 0;  // 0: no operation is bound by bytes
  std::map<std::string, double> rate_by_kind;    // FLOP/s
  double predict(const std::string& kind, double flops, double bytes) const;
};

// At least one sample.
OperationFit fit_operations(const std::vector<OperationTime>& samples);

struct TransferTime {
  double bytes = 0;
  double seconds = 0;
};

// seconds = latency + bytes / bandwidth.
struct TransferFit {
  double latency_seconds = 0;
  double bandwidth_bytes_per_second = 0;
  double predict(double bytes) const {
    return latency_seconds + bytes / bandwidth_bytes_per_second;
  }
};

// At least two samples of different sizes.
TransferFit fit_transfers(const std::vector<TransferTime>& samples);

}  // namespace doppler

#endif  // DOPPLER_GPUEXEC_CALIBRATION_FIT_H_
