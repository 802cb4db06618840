// doppler-gpu-check: checks and measures real execution on a machine that has nothing but a
// compiler and CUDA. scripts/gpu_check.sh builds and runs it; tests run it on the cpu backend.
//
//   doppler-gpu-check PART [--backend cuda] [--devices 1,2,4] [--count N] [--quick] [--output
//   FOLDER]
//
// Parts: correctness, overhead, products, calibration, fidelity, random (prints --count assignments
// of the chain of products), assignments (measures those that come on standard input, one result a
// line). Prints Markdown, but for the last two. Exit code 1: a check failed; 77: no GPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/assignment_text.h"
#include "common/error.h"
#include "common/text_check.h"
#include "common/text_file.h"
#include "common/topology_text.h"
#include "gpuexec/backend_factory.h"
#include "gpuexec/calibration.h"
#include "gpuexec/cpu_gemm.h"
#include "gpuexec/fidelity.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/measurement.h"
#include "gpuexec/poisoned_exit.h"
#include "gpuexec/reference_results.h"
#include "gpuexec/skeleton_topology.h"
#include "gpuexec/spread_assignments.h"
#include "gpuexec/statistics.h"
#include "gpuexec/work_conservation.h"
#include "sim/physical_simulator.h"
#include "tests/support/execution_cases.h"
#include "tests/support/random_graph.h"
#ifdef DP_HAVE_CUDA
#include "gpuexec/cuda_backend.h"
#include "gpuexec/cuda_probe.h"
#endif

namespace doppler {
namespace {

constexpr int kNoGpuExitCode = 77;
constexpr double kTimeout = 60;

struct Flags {
  std::string part;
  std::string backend = "cuda";
  std::vector<int> devices = {1, 2, 4};
  std::size_t count = 100;
  bool quick = false;
  std::string output = ".";
};

Flags read_flags(int argc, char** argv) {
  Flags flags;
  if (argc < 2) throw ConfigError("name a part; see the head of tests/gpu/gpu_check_main.cc");
  flags.part = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quick") {
      flags.quick = true;
      continue;
    }
    if (i + 1 == argc) throw ConfigError(name + ": needs a value");
    const std::string value = argv[++i];
    if (name == "--backend") {
      flags.backend = value;
    } else if (name == "--output") {
      flags.output = value;
    } else if (name == "--count") {
      flags.count = std::stoul(value);
    } else if (name == "--devices") {
      flags.devices.clear();
      std::istringstream in(value);
      for (std::string number; std::getline(in, number, ',');) {
        flags.devices.push_back(std::stoi(number));
      }
    } else {
      throw ConfigError(name + " is no option");
    }
  }
  return flags;
}

Graph workload(const std::string& name, std::map<std::string, std::int64_t> sizes) {
  WorkloadOptions options;
  options.devices = 4;
  options.sizes = std::move(sizes);
  return generate_workload(name, options);
}

// Graphs that take 20 to 200 ms on a GPU of today, or on two cores.
std::vector<Graph> fidelity_graphs(const Flags& flags) {
  const bool gpu = flags.backend == "cuda";
  const auto size = [&](std::int64_t on_gpu, std::int64_t on_cpu, std::int64_t quick) {
    return flags.quick ? quick : gpu ? on_gpu : on_cpu;
  };
  std::vector<Graph> graphs;
  graphs.push_back(workload("chain-mm", {{"size", size(8192, 2048, 256)}}));
  graphs.push_back(workload("ffnn", {{"batch", size(16384, 4096, 256)},
                                     {"inputs", size(2048, 512, 64)},
                                     {"hidden", size(16384, 4096, 256)},
                                     {"outputs", size(2048, 512, 64)}}));
  graphs.push_back(workload("mlp-training", {{"batch", size(8192, 1024, 128)},
                                             {"inputs", size(2048, 512, 64)},
                                             {"hidden", size(8192, 2048, 128)},
                                             {"outputs", size(2048, 512, 64)}}));
  return graphs;
}

GraphRunner make_runner(const Flags& flags, const CostTable& costs, const Topology& topology) {
  return {costs, topology, PhysicalOptions(),
          make_backend(flags.backend, costs, topology, Contention::kSerial)};
}

bool check_correctness(const Flags& flags) {
  bool good = true;
  std::cout << "## Correctness\n\nResults of random assignments against one device (byte for byte) "
               "and against plain loops in double precision.\n\n"
               "| graph | devices | assignments | differ | largest relative error |\n"
               "|---|---|---|---|---|\n";
  const std::size_t each = std::max<std::size_t>(1, flags.count / (3 * flags.devices.size()));
  RandomStream random(1);
  for (const char* name : {"ffnn", "llama-block", "chain-mm"}) {
    const Graph graph = test::small_network(name);
    const auto expected = reference_results(graph);
    for (int devices : flags.devices) {
      const Topology topology = test::small_machine(devices, 10);
      const CostTable costs = CostTable::physical(graph, topology);
      GraphRunner runner = make_runner(flags, costs, topology);
      const auto run = [&](const Assignment& assignment) {
        if (!runner.load(assignment).empty() || !runner.run({}, kTimeout)) {
          throw SystemError("correctness: a small graph did not run");
        }
        return runner.results();
      };
      const auto alone = run(Assignment(graph.operation_count(), DeviceId(0)));
      double error = 0;
      for (std::size_t i = 0; i < alone.size() && flags.backend != "emulated"; ++i) {
        std::vector<float> actual = test::as_floats(alone[i]);
        actual.resize(expected[i].size());
        error = std::max(error, relative_error(expected[i], actual));
      }
      std::size_t differ = 0;
      for (std::size_t i = 0; i < each; ++i) {
        const Assignment assignment =
            test::random_assignment(graph.operation_count(), devices, random);
        differ += run(assignment) == alone ? 0 : 1;
        differ += test::find_disorder(graph, assignment, runner.take_record()).empty() ? 0 : 1;
      }
      good = good && differ == 0 && error < 1e-3;
      std::cout << "| " << name << " | " << devices << " | " << each << " | " << differ << " | "
                << error << " |\n";
    }
  }
  std::cout << "\n";
  return good;
}

bool check_overhead(const Flags& flags) {
  std::cout
      << "## Overhead\n\n1,000 sums of 256 floats, assigned at random; time from start to end "
         "over operations.\n\n| devices | microseconds per operation | idle with ready work, "
         "99th percentile |\n|---|---|---|\n";
  GraphBuilder builder("tiny", CostUnit::kPhysical);
  constexpr int kOperations = 1000;
  for (int i = 0; i < kOperations; ++i) {
    Operation operation;
    operation.kind = "add";
    operation.flops = 256;
    operation.output_bytes = 1024;
    const OperationId id = builder.add_operation(operation);
    for (int back : {8, 13}) {
      if (i < back) continue;
      builder.add_edge({.source = OperationId(i - back), .destination = id, .bytes = {}});
    }
  }
  const Graph graph = builder.build();
  for (int devices : flags.devices) {
    const Topology topology = test::small_machine(devices, 1);
    const CostTable costs = CostTable::physical(graph, topology);
    GraphRunner runner = make_runner(flags, costs, topology);
    RandomStream random(2);
    const Assignment assignment = test::random_assignment(kOperations, devices, random);
    if (!runner.load(assignment).empty()) throw SystemError("overhead: does not fit into memory");
    std::vector<double> times;
    std::vector<SimTime> idle;
    for (int i = 0; i < 6; ++i) {
      const auto makespan = runner.run({}, kTimeout);
      if (!makespan) throw SystemError("overhead: a run took longer than its time-out");
      if (i == 0) continue;
      times.push_back(makespan->seconds());
      for (SimTime t : idle_with_ready_work(graph, assignment, runner.take_record())) {
        idle.push_back(t);
      }
    }
    std::cout << "| " << devices << " | " << 1e6 * median(times) / kOperations << " | "
              << 1e6 * quantile(idle, 0.99).seconds() << " us |\n";
  }
  std::cout << "\n";
  return true;
}

double time_plain_product(const Flags& flags, std::int64_t n) {
#ifdef DP_HAVE_CUDA
  if (flags.backend == "cuda") return time_plain_cublas(n);
#else
  static_cast<void>(flags);
#endif
  const auto elements = static_cast<std::size_t>(n * n);
  std::vector<float> a(elements, 1.0F);
  std::vector<float> b(elements, 1.0F);
  std::vector<float> c(elements);
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t began = now_nanoseconds();
    multiply_matrices(n, n, n, 1, a.data(), b.data(), c.data());
    times.push_back(static_cast<double>(now_nanoseconds() - began) * 1e-9);
  }
  return median(times);
}

CalibrationExperiment make_experiment(const Flags& flags, const Topology& skeleton) {
  return {skeleton, Contention::kFair,
          [flags](const CostTable& costs, const Topology& topology) {
            return make_backend(flags.backend, costs, topology, Contention::kFair);
          },
          kTimeout};
}

bool check_products(const Flags& flags) {
  std::cout
      << "## Products\n\nn x n matrices by the executor and by the library called directly.\n\n"
         "| n | executor, TFLOP/s | library, TFLOP/s | ratio of times |\n|---|---|---|---|\n";
  const Topology skeleton = skeleton_topology(flags.backend, 1);
  const CalibrationExperiment experiment = make_experiment(flags, skeleton);
  const std::int64_t largest = flags.quick ? 256 : flags.backend == "cuda" ? 8192 : 1024;
  for (std::int64_t n = 256; n <= largest; n *= 2) {
    const auto size = static_cast<double>(n);
    const double flops = 2 * size * size * size;
    const double executor = experiment.time_operation({.kind = "matmul",
                                                       .flops = flops,
                                                       .output_bytes = 4 * n * n,
                                                       .output_shape = {n, n},
                                                       .read_bytes = {4 * n * n, 4 * n * n}})[0];
    const double plain = time_plain_product(flags, n);
    std::cout << "| " << n << " | " << flops / executor * 1e-12 << " | " << flops / plain * 1e-12
              << " | " << executor / plain << " |\n";
  }
  std::cout << "\n";
  return true;
}

std::vector<OperationSample> samples_of_others(const std::vector<Graph>& graphs,
                                               std::size_t left_out) {
  std::vector<OperationSample> samples;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    if (g == left_out) continue;
    const auto own = samples_like(graphs[g], 20);
    samples.insert(samples.end(), own.begin(), own.end());
  }
  return samples;
}

bool check_calibration(const Flags& flags) {
  std::cout
      << "## Calibration\n\n| devices | fit of operations, median error | links, median error "
         "| file |\n|---|---|---|---|\n";
  for (int devices : flags.devices) {
    const Topology skeleton = skeleton_topology(flags.backend, devices);
    const CalibrationExperiment experiment = make_experiment(flags, skeleton);
    CalibrationOptions options;
    const std::int64_t largest = flags.quick               ? 1 << 14
                                 : flags.backend == "cuda" ? 1 << 26
                                                           : 1 << 20;
    options.samples = default_samples(largest);
    options.largest_transfer_bytes = flags.quick ? 1 << 18 : 1 << 26;
    const Calibration calibration = calibrate(experiment, skeleton, options);
    const std::string file = "topology-" + std::to_string(devices) + ".yaml";
    write_text_file(flags.output + "/" + file, format_topology(Topology(calibration.parts)));
    std::cout << "| " << devices << " | " << 100 * median_error(calibration.operations) << " % | "
              << 100 * median_error(calibration.transfers) << " % | " << file << " |\n";
    for (const std::string& finding : calibration.findings) std::cout << "\n- " << finding;
  }
  std::cout << "\n\n";
  return true;
}

// On one device all assignments are alike.
std::string correlation(double value, int devices) {
  return devices == 1 ? "-" : std::to_string(value);
}

bool check_fidelity(const Flags& flags) {
  std::cout
      << "## Fidelity\n\nSimulated against measured, calibrated on the other graphs.\n\n"
         "| graph | devices | assignments | Pearson | Spearman | median error | 90 % are below "
         "| disturbed |\n|---|---|---|---|---|---|---|---|\n";
  const std::vector<Graph> graphs = fidelity_graphs(flags);
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const Graph& graph = graphs[g];
    for (int devices : flags.devices) {
      const Topology skeleton = skeleton_topology(flags.backend, devices);
      const CalibrationExperiment experiment = make_experiment(flags, skeleton);
      CalibrationOptions options;
      options.samples = samples_of_others(graphs, g);
      options.largest_transfer_bytes = flags.quick ? 1 << 18 : 1 << 26;
      const Topology topology(calibrate(experiment, skeleton, options).parts);
      const CostTable costs = CostTable::physical(graph, topology);
      PhysicalSimulator simulator(costs, topology, {});
      const auto assignments = spread_assignments(costs, simulator, flags.count, 2000, 1);
      GraphRunner runner = make_runner(flags, costs, topology);
      const std::vector<FidelityPoint> points =
          measure_fidelity(runner, assignments, TurnOptions{}).points;
      if (points.size() < 2) throw SystemError("fidelity: fewer than two assignments ran");
      const FidelityReport report = judge_fidelity(points);
      write_text_file(
          flags.output + "/fidelity-" + graph.name() + "-" + std::to_string(devices) + ".csv",
          fidelity_csv(points));
      std::cout << "| " << graph.name() << " | " << devices << " | " << report.count << " | "
                << correlation(report.pearson, devices) << " | "
                << correlation(report.spearman, devices) << " | " << 100 * report.median_error
                << " % | " << 100 * report.error_p90 << " % | " << report.disturbed << " |\n"
                << std::flush;
    }
  }
  std::cout << "\n";
  return true;
}

void print_random_assignments(const Flags& flags) {
  const Graph graph = fidelity_graphs(flags).front();
  RandomStream random(3);
  for (std::size_t i = 0; i < flags.count; ++i) {
    std::cout << format_assignment(
                     test::random_assignment(graph.operation_count(), flags.devices.back(), random))
              << "\n";
  }
}

void measure_assignments(const Flags& flags) {
  const Graph graph = fidelity_graphs(flags).front();
  const Topology topology = skeleton_topology(flags.backend, flags.devices.back());
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner = make_runner(flags, costs, topology);
  Measurer measurer(runner, {.warmup = 1, .repeats = 3});
  for (std::string line; std::getline(std::cin, line);) {
    const auto assignments =
        parse_assignments(line, "standard input", graph.operation_count(), topology.device_count());
    const Measurement m = measurer.measure(assignments[0], {});
    std::cout << m.seconds << "\t" << m.interval.low << "\t" << m.interval.high << "\t"
              << status_name(m.status) << std::endl;
  }
}

int check(const Flags& flags) {
#ifdef DP_HAVE_CUDA
  if (flags.backend == "cuda" && cuda_gpu_count() == 0) {
    std::cerr
        << "doppler-gpu-check: there is no GPU that this process may use; nothing was checked\n";
    return kNoGpuExitCode;
  }
#endif
  const std::map<std::string, bool (*)(const Flags&)> parts = {{"correctness", check_correctness},
                                                               {"overhead", check_overhead},
                                                               {"products", check_products},
                                                               {"calibration", check_calibration},
                                                               {"fidelity", check_fidelity}};
  const auto part = parts.find(flags.part);
  if (part != parts.end()) return part->second(flags) ? 0 : 1;
  if (flags.part == "random") {
    print_random_assignments(flags);
  } else if (flags.part == "assignments") {
    measure_assignments(flags);
  } else {
    throw ConfigError("'" + flags.part + "' is no part; see the head of gpu_check_main.cc");
  }
  return 0;
}

int run(int argc, char** argv) {
  try {
    return with_poisoned_exit_code([&] { return check(read_flags(argc, argv)); });
  } catch (const ConfigError& error) {
    std::cerr << "doppler-gpu-check: " << error.what() << "\n";
    return static_cast<int>(ExitCode::kBadInput);
  } catch (const std::exception& error) {
    std::cerr << "doppler-gpu-check: " << error.what() << "\n";
    return static_cast<int>(ExitCode::kEnvironment);
  }
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run(argc, argv);
}
