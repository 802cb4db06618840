#include "gpuexec/calibration_experiment.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "gpuexec/graph_runner.h"

namespace doppler {
namespace {

constexpr int kRuns = 3;    // measured, after one that is not
constexpr int kFewest = 4;  // operations of a run on one device
constexpr int kMost = 40;
constexpr double kRunSeconds = 0.1;   // that a run should take about
constexpr double kMostBytes = 256e6;  // of all tensors of a run on one device
constexpr int kRoundTrips = 8;

// A quarter of the values is below it: of samples that others can only make slower, a better
// witness of what a machine does than the median.
double lower_quartile(std::vector<double> values) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

OperationSample elementwise(const std::string& kind, std::int64_t elements, int operands,
                            double flops_per_element) {
  OperationSample sample;
  sample.kind = kind;
  sample.flops = flops_per_element * static_cast<double>(elements);
  sample.output_bytes = 4 * elements;
  sample.output_shape = {elements / 64, 64};
  sample.read_bytes.assign(static_cast<std::size_t>(operands), 4 * elements);
  return sample;
}

Operation operation_of(const OperationSample& sample) {
  Operation operation;
  operation.kind = sample.kind;
  operation.flops = sample.flops;
  operation.output_bytes = sample.output_bytes;
  operation.output_shape = sample.output_shape;
  return operation;
}

// `count` equal operations without edges on each device, with input tensors of their own as far as
// there is room for them.
Graph independent_operations(const OperationSample& sample, int devices, int count) {
  GraphBuilder builder("calibration", CostUnit::kPhysical);
  const double set_bytes = static_cast<double>(
      std::accumulate(sample.read_bytes.begin(), sample.read_bytes.end(), std::int64_t{0}));
  const int sets = std::clamp(static_cast<int>(kMostBytes / std::max(set_bytes, 1.0)), 1, count);
  std::vector<std::vector<OperationId>> readers(static_cast<std::size_t>(devices * sets));
  for (int d = 0; d < devices; ++d) {
    for (int i = 0; i < count; ++i) {
      const OperationId id = builder.add_operation(operation_of(sample));
      readers[static_cast<std::size_t>(d * sets + i % sets)].push_back(id);
    }
  }
  for (const std::vector<OperationId>& set : readers) {
    for (std::int64_t bytes : sample.read_bytes) {
      builder.add_input({.name = "input", .bytes = bytes, .consumers = set});
    }
  }
  return builder.build();
}

}  // namespace

double OperationSample::bytes() const {
  return static_cast<double>(std::accumulate(read_bytes.begin(), read_bytes.end(), output_bytes));
}

std::vector<OperationSample> default_samples(std::int64_t largest_elements) {
  std::vector<OperationSample> samples;
  for (std::int64_t n = 64; n * n <= largest_elements; n *= 2) {
    const auto size = static_cast<double>(n);
    samples.push_back({.kind = "matmul",
                       .flops = 2 * size * size * size,
                       .output_bytes = 4 * n * n,
                       .output_shape = {n, n},
                       .read_bytes = {4 * n * n, 4 * n * n}});
  }
  for (std::int64_t elements = 4096; elements <= largest_elements; elements *= 4) {
    for (const char* kind : {"add", "multiply", "subtract", "reduce"}) {
      samples.push_back(elementwise(kind, elements, 2, 1));
    }
    for (const char* kind : {"relu", "exp", "copy", "softmax"}) {
      samples.push_back(elementwise(kind, elements, 1, std::string(kind) == "copy" ? 0 : 1));
    }
    samples.push_back(elementwise("gelu", elements, 1, 8));
    samples.push_back(elementwise("task", elements, 1, 100));
  }
  return samples;
}

std::vector<OperationSample> samples_like(const Graph& graph, std::size_t most) {
  using Key = std::tuple<std::string, double, std::int64_t, std::vector<std::int64_t>>;
  std::map<Key, OperationSample> classes;
  std::vector<std::vector<std::int64_t>> inputs(graph.operation_count());
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) inputs[consumer.index()].push_back(input.bytes);
  }
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    const Operation& operation = graph.operation(id);
    if (graph.in_degree(id) == 0 && operation.kind == "input") continue;
    OperationSample sample{.kind = operation.kind,
                           .flops = operation.flops,
                           .output_bytes = operation.output_bytes,
                           .output_shape = operation.output_shape,
                           .read_bytes = {}};
    for (EdgeId edge : graph.in_edges(id)) sample.read_bytes.push_back(graph.edge_bytes(edge));
    for (std::int64_t bytes : inputs[o]) sample.read_bytes.push_back(bytes);
    Key key(sample.kind, sample.flops, sample.output_bytes, sample.read_bytes);
    classes.emplace(std::move(key), std::move(sample));
  }
  std::vector<OperationSample> samples;
  const std::size_t step = (classes.size() + most - 1) / most;
  std::size_t index = 0;
  for (auto& [key, sample] : classes) {
    if (index++ % step == 0) samples.push_back(std::move(sample));
  }
  return samples;
}

CalibrationExperiment::CalibrationExperiment(const Topology& skeleton, Contention contention,
                                             BackendMaker make_backend, double timeout_seconds,
                                             double pause_seconds)
    : skeleton_(&skeleton),
      contention_(contention),
      make_backend_(std::move(make_backend)),
      timeout_seconds_(timeout_seconds),
      pause_seconds_(pause_seconds) {}

// One more run before the others is not returned.
std::vector<Execution> CalibrationExperiment::run(const Graph& graph, const Assignment& assignment,
                                                  int runs) const {
  const CostTable costs = CostTable::physical(graph, *skeleton_);
  PhysicalOptions options;
  options.contention = contention_;
  GraphRunner runner(costs, *skeleton_, options, make_backend_(costs, *skeleton_));
  if (!runner.load(assignment).empty()) {
    throw SystemError("calibration: an experiment does not fit into the memory of a device");
  }
  std::vector<Execution> records;
  for (int i = 0; i <= runs; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds_));
    if (!runner.run({}, timeout_seconds_)) {
      throw SystemError("calibration: a run took longer than its time-out");
    }
    Execution record = runner.take_record();
    if (i > 0 || runs == 0) records.push_back(std::move(record));
  }
  return records;
}

std::vector<double> CalibrationExperiment::time_operation(const OperationSample& sample) const {
  const int devices = skeleton_->device_count();
  const auto place = [&](int count) {
    Assignment assignment;
    for (int d = 0; d < devices; ++d) {
      for (int i = 0; i < count; ++i) assignment.push_back(DeviceId(d));
    }
    return assignment;
  };
  const int most =
      std::clamp(static_cast<int>(kMostBytes / std::max(sample.bytes(), 1.0)), kFewest, kMost);
  const Execution first =
      run(independent_operations(sample, devices, kFewest), place(kFewest), 0).front();
  const double seconds = first.makespan.seconds() / kFewest;
  const int count =
      std::clamp(static_cast<int>(kRunSeconds / std::max(seconds, 1e-9)), kFewest, most);
  std::vector<std::vector<double>> times(static_cast<std::size_t>(devices));
  for (const Execution& record :
       run(independent_operations(sample, devices, count), place(count), kRuns)) {
    for (int d = 0; d < devices; ++d) {
      std::vector<double> starts;
      double last_end = 0;
      for (int i = 0; i < count; ++i) {
        const OperationId id(d * count + i);
        starts.push_back(record.start[id].seconds());
        last_end = std::max(last_end, record.end[id].seconds());
      }
      std::sort(starts.begin(), starts.end());
      starts.push_back(last_end);
      for (std::size_t i = 1; i < starts.size(); ++i) {
        times[static_cast<std::size_t>(d)].push_back(starts[i] - starts[i - 1]);
      }
    }
  }
  std::vector<double> typical;
  typical.reserve(times.size());
  for (const std::vector<double>& own : times) typical.push_back(lower_quartile(own));
  return typical;
}

CalibrationExperiment::ThereAndBack CalibrationExperiment::time_transfer(DeviceId from, DeviceId to,
                                                                         std::int64_t bytes) const {
  GraphBuilder builder("calibration", CostUnit::kPhysical);
  Assignment assignment;
  for (int i = 0; i <= 2 * kRoundTrips; ++i) {
    Operation operation;
    operation.kind = "copy";
    operation.output_bytes = bytes;
    const OperationId id = builder.add_operation(operation);
    if (i > 0) {
      builder.add_edge({.source = OperationId(id.value() - 1), .destination = id, .bytes = {}});
    }
    assignment.push_back(i % 2 == 0 ? from : to);
  }
  const Graph graph = builder.build();
  std::vector<double> there;
  std::vector<double> back;
  for (const Execution& record : run(graph, assignment, kRuns)) {
    for (int i = 1; i <= 2 * kRoundTrips; ++i) {
      const double seconds =
          (record.start[OperationId(i)] - record.end[OperationId(i - 1)]).seconds();
      (i % 2 == 1 ? there : back).push_back(seconds);
    }
  }
  return {.there_seconds = lower_quartile(there), .back_seconds = lower_quartile(back)};
}

double CalibrationExperiment::time_burst(const std::vector<std::pair<DeviceId, DeviceId>>& pairs,
                                         std::int64_t bytes, int count) const {
  GraphBuilder builder("calibration", CostUnit::kPhysical);
  Assignment assignment;
  for (const auto& [from, to] : pairs) {
    for (int i = 0; i < count; ++i) {
      Operation source;  // there from the start, so that all are sent at once
      source.kind = "input";
      source.output_bytes = bytes;
      source.pinned_device = from;
      const OperationId sent = builder.add_operation(source);
      assignment.push_back(from);
      Operation sink;
      sink.kind = "copy";
      sink.output_bytes = 4;
      const OperationId received = builder.add_operation(sink);
      assignment.push_back(to);
      builder.add_edge({.source = sent, .destination = received, .bytes = {}});
    }
  }
  const Graph graph = builder.build();
  std::vector<double> times;
  for (const Execution& record : run(graph, assignment, 2 * kRuns)) {
    SimTime last;
    for (const TransferRecord& transfer : record.transfers) last = std::max(last, transfer.end);
    times.push_back(last.seconds());
  }
  return lower_quartile(times);
}

std::int64_t CalibrationExperiment::memory_bytes(DeviceId device) const {
  GraphBuilder builder("calibration", CostUnit::kPhysical);
  builder.add_operation(Operation());
  const Graph graph = builder.build();
  const CostTable costs = CostTable::physical(graph, *skeleton_);
  return make_backend_(costs, *skeleton_)->memory_bytes(device);
}

}  // namespace doppler
