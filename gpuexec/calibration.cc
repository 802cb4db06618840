#include "gpuexec/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gpuexec/statistics.h"

namespace doppler {
namespace {

using Pair = std::pair<DeviceId, DeviceId>;

constexpr double kClearly = 1.25;         // longer than this many times what was expected
constexpr int kBurst = 4;                 // tensors of each pair
constexpr const char* kAnyKind = "task";  // whose rate holds for kinds that were not measured

std::string percent(double fraction) {
  return std::to_string(static_cast<int>(std::lround(100 * fraction))) + " %";
}

class Calibrator {
 public:
  Calibrator(const CalibrationExperiment& experiment, const Topology& skeleton,
             const CalibrationOptions& options)
      : experiment_(experiment), options_(options), devices_(skeleton.device_count()) {
    result_.parts.name = skeleton.name() + "-calibrated";
    result_.parts.devices = skeleton.devices();
    for (Device& device : result_.parts.devices) {
      device.copy_engines_in = device.copy_engines_out = std::nullopt;
      device.forwards = false;
    }
  }

  Calibration run() {
    measure_operations();
    if (devices_ > 1) {
      measure_links();
      measure_contention();
    }
    for (int d = 0; d < devices_; ++d) {
      const std::int64_t bytes = experiment_.memory_bytes(DeviceId(d));
      if (bytes > 0) result_.parts.devices[static_cast<std::size_t>(d)].memory_bytes = bytes;
    }
    return std::move(result_);
  }

 private:
  void progress(const std::string& what) const {
    if (options_.on_progress) options_.on_progress(what);
  }

  void measure_operations() {
    std::vector<std::vector<OperationTime>> times(static_cast<std::size_t>(devices_));
    for (const OperationSample& sample : options_.samples) {
      progress(sample.kind + ", " + std::to_string(sample.output_bytes) + " bytes");
      const std::vector<double> seconds = experiment_.time_operation(sample);
      for (std::size_t d = 0; d < seconds.size(); ++d) {
        times[d].push_back({.kind = sample.kind,
                            .flops = sample.flops,
                            .bytes = sample.bytes(),
                            .seconds = seconds[d]});
      }
    }
    for (std::size_t d = 0; d < times.size(); ++d) {
      const OperationFit fit = fit_operations(times[d]);
      Device& device = result_.parts.devices[d];
      device.launch_overhead_seconds = fit.overhead_seconds;
      device.memory_bandwidth_bytes_per_second = fit.memory_bandwidth_bytes_per_second;
      device.flops_per_second_by_kind = fit.rate_by_kind;
      const auto any = fit.rate_by_kind.find(kAnyKind);
      if (any != fit.rate_by_kind.end()) {
        device.flops_per_second = any->second;
      } else {
        std::vector<double> rates;
        for (const auto& [kind, rate] : fit.rate_by_kind) rates.push_back(rate);
        device.flops_per_second = median(rates);
      }
      for (const OperationTime& time : times[d]) {
        result_.operations.push_back(
            {.device = DeviceId(static_cast<std::int32_t>(d)),
             .measured = time,
             .predicted_seconds = fit.predict(time.kind, time.flops, time.bytes)});
      }
    }
  }

  void add_link(DeviceId from, DeviceId to, const std::vector<TransferTime>& times) {
    const TransferFit fit = fit_transfers(times);
    link_of_[{from, to}] = result_.parts.links.size();
    result_.parts.links.push_back({.from = NodeId(from.value()),
                                   .to = NodeId(to.value()),
                                   .latency_seconds = fit.latency_seconds,
                                   .bandwidth_bytes_per_second = fit.bandwidth_bytes_per_second,
                                   .groups = {}});
    for (const TransferTime& time : times) {
      result_.transfers.push_back(
          {.from = from, .to = to, .measured = time, .predicted_seconds = fit.predict(time.bytes)});
    }
  }

  void measure_links() {
    for (int a = 0; a < devices_; ++a) {
      for (int b = a + 1; b < devices_; ++b) {
        progress("transfers between devices " + std::to_string(a) + " and " + std::to_string(b));
        std::vector<TransferTime> there;
        std::vector<TransferTime> back;
        for (std::int64_t bytes = 4096; bytes <= options_.largest_transfer_bytes; bytes *= 4) {
          const auto times = experiment_.time_transfer(DeviceId(a), DeviceId(b), bytes);
          there.push_back({.bytes = static_cast<double>(bytes), .seconds = times.there_seconds});
          back.push_back({.bytes = static_cast<double>(bytes), .seconds = times.back_seconds});
        }
        add_link(DeviceId(a), DeviceId(b), there);
        add_link(DeviceId(b), DeviceId(a), back);
      }
    }
  }

  double burst(const std::vector<Pair>& pairs) const {
    return experiment_.time_burst(pairs, options_.largest_transfer_bytes, kBurst);
  }
  double burst_bytes(std::size_t pairs) const {
    return static_cast<double>(options_.largest_transfer_bytes) * kBurst *
           static_cast<double>(pairs);
  }
  void share(const std::string& name, const std::vector<Pair>& pairs, double seconds) {
    const SharedGroupId group(static_cast<std::int32_t>(result_.parts.groups.size()));
    result_.parts.groups.push_back(
        {.name = name, .capacity_bytes_per_second = burst_bytes(pairs.size()) / seconds});
    for (const Pair& pair : pairs) {
      result_.parts.links[link_of_.at(pair)].groups.push_back(group);
    }
  }

  void measure_contention() {
    std::vector<Pair> all;
    // What a burst of each pair takes alone, and together with the other direction.
    std::map<Pair, double> alone;
    for (const auto& [pair, link] : link_of_) {
      progress("transfers at once, from device " + std::to_string(pair.first.value()) + " to " +
               std::to_string(pair.second.value()));
      all.push_back(pair);
      alone[pair] = burst({pair});
    }
    double expected = 0;
    for (int a = 0; a < devices_; ++a) {
      for (int b = a + 1; b < devices_; ++b) {
        const Pair there{DeviceId(a), DeviceId(b)};
        const Pair back{DeviceId(b), DeviceId(a)};
        const double together = burst({there, back});
        const double slowdown = together / std::max(alone[there], alone[back]);
        expected = std::max(expected, together);
        if (slowdown <= kClearly) continue;
        share("duplex-" + std::to_string(a) + "-" + std::to_string(b), {there, back}, together);
        result_.findings.push_back("the two directions between devices " + std::to_string(a) +
                                   " and " + std::to_string(b) + " at once take " +
                                   percent(slowdown) + " of the longer one alone");
      }
    }
    if (devices_ < 3) return;
    for (int d = 0; d < devices_; ++d) {
      expected = std::max(expected, measure_engine(d, true, alone));
      expected = std::max(expected, measure_engine(d, false, alone));
    }
    const double together = burst(all);
    if (together <= kClearly * expected) return;
    share("all-links", all, together);
    result_.findings.push_back("all pairs at once take " + percent(together / expected) +
                               " of what links and copy engines explain");
  }

  // Returns what the burst takes.
  double measure_engine(int device, bool out, std::map<Pair, double>& alone) {
    std::vector<Pair> pairs;
    double sum = 0;
    double longest = 0;
    for (int other = 0; other < devices_; ++other) {
      if (other == device) continue;
      pairs.emplace_back(DeviceId(out ? device : other), DeviceId(out ? other : device));
      sum += alone[pairs.back()];
      longest = std::max(longest, alone[pairs.back()]);
    }
    const double together = burst(pairs);
    // Nearer to one after the other than to all at once.
    if (together > (sum + longest) / 2) {
      Device& own = result_.parts.devices[static_cast<std::size_t>(device)];
      (out ? own.copy_engines_out : own.copy_engines_in) = 1;
      result_.findings.push_back("device " + std::to_string(device) +
                                 (out ? " sends" : " receives") + " one tensor after the other");
    }
    return together;
  }

  const CalibrationExperiment& experiment_;
  const CalibrationOptions& options_;
  int devices_;
  std::map<Pair, std::size_t> link_of_;
  Calibration result_;
};

template <typename Check>
double median_of(const std::vector<Check>& checks) {
  std::vector<double> errors;
  for (const Check& check : checks) {
    errors.push_back(std::abs(check.predicted_seconds - check.measured.seconds) /
                     std::max(check.measured.seconds, 1e-12));
  }
  return errors.empty() ? 0 : median(errors);
}

}  // namespace

Calibration calibrate(const CalibrationExperiment& experiment, const Topology& skeleton,
                      const CalibrationOptions& options) {
  return Calibrator(experiment, skeleton, options).run();
}

double median_error(const std::vector<OperationCheck>& checks) {
  return median_of(checks);
}
double median_error(const std::vector<TransferCheck>& checks) {
  return median_of(checks);
}

}  // namespace doppler
