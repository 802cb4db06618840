// doppler-train: `doppler train CONFIG` and `doppler resume RUN_DIR`. Joins the parts of a run:
// graph, simulator and baselines, the learner's loop, this node's workers, the links to the hosts
// of other ranks.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cli.h"
#include "common/config_io.h"
#include "common/error.h"
#include "common/graph_source.h"
#include "common/host_setup.h"
#include "common/log.h"
#include "common/mpi_link.h"
#include "common/program_path.h"
#include "common/progress.h"
#include "common/shared_weights.h"
#include "common/topology_file.h"
#include "common/worker_supervisor.h"
#include "learner/checkpoint_store.h"
#include "learner/run_folder.h"
#include "learner/training_run.h"
#include "sim/baselines.h"
#include "sim/lower_bounds.h"
#include "sim/machine.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSupervisePeriod = std::chrono::milliseconds(50);
constexpr auto kWorkerGrace = std::chrono::milliseconds(2000);
constexpr auto kTicketLease = std::chrono::milliseconds(60000);
constexpr auto kStopTimeout = std::chrono::seconds(30);
// What the end of a run needs beyond training: the last evaluation, checkpoint and report.
constexpr double kClosingSeconds = 1.0;
// The search that every report shows beside the policy.
constexpr std::int64_t kLocalSearchEvaluations = 50000;

volatile std::sig_atomic_t stop_signal = 0;

void request_stop(int number) {
  stop_signal = number;
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), not a death
}

struct Options {
  bool resume = false;
  std::string config_path;
  std::string run_dir;
  std::int64_t workers = -1;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};

Options parse_options(int argc, char** argv) {
  Options options;
  options.resume = argc > 1 && std::string(argv[1]) == "resume";
  if (options.resume) {
    --argc;
    ++argv;
  }
  CLI::App app{options.resume ? "Continue a run from its newest valid checkpoint."
                              : "Train the policies on a graph; keep everything in a run folder."};
  app.name(options.resume ? "doppler resume" : "doppler train");
  if (options.resume) {
    app.add_option("RUN_DIR", options.run_dir, "folder of the run")->required();
    app.footer("Example:\n  doppler resume runs/quickstart");
  } else {
    app.add_option("CONFIG", options.config_path, "configuration file, see docs/configuration.md")
        ->required();
    app.add_option("--run-dir", options.run_dir,
                   "folder for the run's files (default: runs/<run.name>-<date>-<time>)");
    app.add_option("--set", options.overrides, "key=value: overrides the configuration")
        ->take_all();
    app.footer(
        "Examples:\n"
        "  doppler train configs/quickstart.yaml\n"
        "  doppler train configs/reference.yaml --set graph.path=graph.txt --workers 2\n"
        "  mpirun -n 3 doppler train configs/reference.yaml --set graph.path=graph.txt");
  }
  app.add_option("--workers", options.workers, "worker processes per host (default: one per core)");
  app.add_flag("--json", options.json, "print the summary as JSON on standard output");
  app.add_flag("--quiet", options.quiet, "no progress");
  parse_flags(app, argc, argv);
  return options;
}

std::string default_run_dir(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("runs/{}-{:04}{:02}{:02}-{:02}{:02}{:02}", name, local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

// The first IPv4 address of an interface that is up and not the loopback; the loopback where there
// is none.
std::string network_address() {
  ifaddrs* list = nullptr;
  std::string found = "127.0.0.1";
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_INET) continue;
    if ((item->ifa_flags & IFF_UP) == 0 || (item->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(item->ifa_addr)->sin_addr, text.data(),
              text.size());
    found = text.data();
    break;
  }
  freeifaddrs(list);
  return found;
}

// A graph of the run and all that is derived from it.
struct Input {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Topology> topology;  // physical mode
  std::unique_ptr<Machine> machine;
  std::unique_ptr<Levels> levels;
  std::string name;
};

Input load_input(const Config& config) {
  Input input;
  const bool physical = config.simulation.mode == SimulationMode::kPhysical;
  if (physical) {
    input.topology = std::make_unique<Topology>(load_topology(config.simulation.topology));
  }
  GraphText loaded = load_graph(
      config.graph,
      physical ? input.topology->device_count() : static_cast<int>(config.simulation.devices),
      physical ? CostConvention::kPhysical : CostConvention::kPaper);
  input.name = config.graph.path.empty() ? config.graph.generate : config.graph.path;
  for (const Warning& warning : loaded.warnings) log_warning("{}", describe(warning, input.name));
  input.graph = std::make_unique<Graph>(std::move(loaded.graph));
  input.machine = std::make_unique<Machine>(*input.graph, input.topology.get(), config.simulation,
                                            config.run.seed);
  input.levels = std::make_unique<Levels>(compute_levels(input.machine->costs()));
  return input;
}

// Baselines and bound, as far as an earlier life of the run has not left them.
GraphState describe_graph(const Input& input, std::uint64_t seed, const Checkpoint* resumed) {
  if (resumed != nullptr) return resumed->graphs.at(0);
  GraphState state;
  state.name = input.graph->name();
  state.content_hash = input.graph->content_hash();
  state.operation_count = static_cast<std::int64_t>(input.graph->operation_count());
  state.lower_bound = lower_bounds(input.machine->costs()).largest;
  BaselineOptions options;
  options.seed = seed;
  options.local_search_evaluations = kLocalSearchEvaluations;
  for (const BaselineInfo& baseline : baselines()) {
    const BaselineResult result =
        run_baseline(baseline.name, input.machine->costs(), input.machine->executor(), options);
    std::string name = baseline.name;
    if (name == "local-search") {
      name = fmt::format("local-search, {} evaluations", result.evaluations);
    }
    state.baselines.push_back({name, result.makespan});
  }
  return state;
}

// Null for a run that was killed before its first checkpoint: it begins anew.
std::unique_ptr<Checkpoint> load_resumed(const std::string& run_dir, const Input& input) {
  const CheckpointStore store(run_dir, 1);
  NewestCheckpoint newest = store.load_newest_valid();
  for (const std::string& warning : newest.warnings) log_warning("{}", warning);
  if (!newest.loaded && store.list().empty()) {
    log_info("there is no checkpoint yet; the run begins anew");
    return nullptr;
  }
  if (!newest.loaded) {
    throw FormatError("run folder " + run_dir +
                      ": none of its checkpoints is valid; start the run again with doppler train");
  }
  const Checkpoint& checkpoint = newest.loaded->checkpoint;
  if (checkpoint.graphs.size() != 1 ||
      checkpoint.graphs.front().content_hash != input.graph->content_hash()) {
    throw FormatError(input.name +
                      ": the graph is not the one that this run was trained on; put the original "
                      "file back to resume");
  }
  log_info("resuming from {} (update {})", newest.loaded->path, checkpoint.update);
  return std::make_unique<Checkpoint>(std::move(newest.loaded->checkpoint));
}

// Everything around the learner's loop that has to do with processes: this node's workers, the
// other ranks, the socket.
class Processes {
 public:
  Processes(const Config& config, int world_size, const std::string& machine,
            std::size_t version_slots, std::size_t snapshot_bytes)
      : keys_(make_curve_keys()),
        token_(std::random_device{}() | (static_cast<std::uint64_t>(std::random_device{}()) << 32)),
        socket_(endpoints(config, world_size), keys_),
        weights_(SharedWeights::create(version_slots, snapshot_bytes)),
        hosts_(world_size) {
    const std::uint32_t workers = config.run.workers > 0
                                      ? static_cast<std::uint32_t>(config.run.workers)
                                      : std::max(1U, std::thread::hardware_concurrency());
    HostSetup setup;
    setup.learner_machine = machine;
    setup.server_public_key = keys_.public_key;
    setup.run_token = token_;
    setup.workers = static_cast<std::uint32_t>(config.run.workers);
    setup.slot_count = version_slots;
    setup.slot_capacity_bytes = weights_.slot_capacity_bytes();
    for (const std::string& endpoint : socket_.endpoints()) {
      (endpoint.starts_with("ipc://") ? setup.local_endpoint : setup.network_endpoint) = endpoint;
    }
    hosts_.send(HostMessageKind::kSetup, encode(setup));
    const WorkerLaunch launch{
        .program = sibling_program("doppler-worker"),
        .endpoint = setup.local_endpoint.empty() ? setup.network_endpoint : setup.local_endpoint,
        .server_key = keys_.public_key,
        .host = 0,
        .run_token = token_,
        .weights_descriptor = weights_.descriptor()};
    supervisor_ = std::make_unique<WorkerSupervisor>(launch, workers);
    log_info("learner at {}, {} workers here, {} other hosts", fmt::join(socket_.endpoints(), " "),
             workers, hosts_.host_count());
  }

  LearnerSocket& socket() { return socket_; }
  std::uint64_t token() const { return token_; }
  std::uint64_t restart_count() const { return supervisor_->restart_count(); }

  void publish(std::uint64_t version, std::span<const std::byte> bytes) {
    weights_.publish(version, bytes);
    if (hosts_.host_count() > 0) {
      hosts_.send(HostMessageKind::kWeights, encode_host_weights(version, bytes));
    }
  }

  void tend() {
    hosts_.poll();
    const auto now = Clock::now();
    if (now < next_supervision_) return;
    next_supervision_ = now + kSupervisePeriod;
    for (const std::string& event : supervisor_->poll()) log_warning("{}", event);
  }

  void stop() {
    hosts_.send(HostMessageKind::kStop, {});
    supervisor_->stop(kWorkerGrace);
    const auto deadline = Clock::now() + kStopTimeout;
    while (hosts_.outstanding() > 0 && Clock::now() < deadline) {
      hosts_.poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::vector<std::string> endpoints(const Config& config, int world_size) const {
    std::vector<std::string> result;
    const Transport transport = config.network.transport;
    if (transport != Transport::kTcp)
      result.push_back(fmt::format("ipc://@doppler-{:016x}", token_));
    if (transport == Transport::kTcp) {
      result.push_back("tcp://127.0.0.1:*");
    } else if (transport == Transport::kAuto && world_size > 1) {
      result.push_back("tcp://" + network_address() + ":*");
    }
    return result;
  }

  CurveKeys keys_;
  std::uint64_t token_;
  LearnerSocket socket_;
  SharedWeights weights_;
  HostLinks hosts_;
  std::unique_ptr<WorkerSupervisor> supervisor_;
  Clock::time_point next_supervision_;
};

Welcome make_welcome(const Config& config, const Input& input) {
  Welcome welcome;
  welcome.run_seed = config.run.seed;
  welcome.simulation = config.simulation;
  welcome.teacher = config.stages.teacher;
  welcome.select = config.model.select;
  welcome.place = config.model.place;
  if (input.topology) welcome.topology = format_topology(*input.topology);
  welcome.graphs.push_back(*input.graph);
  return welcome;
}

// From input that was found good to the summary; every rank above 0 is served until its end.
RunOutcome run_training(const Options& options, const Config& config, const Input& input,
                        const Checkpoint* resumed, MpiSession& session, RunFolder& folder,
                        Clock::time_point process_start) {
  const std::string config_yaml = to_yaml(config);
  RunGraph run_graph{&input.machine->costs(), input.levels.get(), &input.machine->executor(),
                     describe_graph(input, config.run.seed, resumed)};
  Progress progress("train");
  double training_seconds = 0;
  if (config.run.budget_seconds > 0) {
    const double used = std::chrono::duration<double>(Clock::now() - process_start).count();
    training_seconds = std::max(0.1, config.run.budget_seconds - used - kClosingSeconds);
  }
  std::unique_ptr<Processes> processes;
  RunSurroundings surroundings;
  surroundings.publish = [&](std::uint64_t version, std::span<const std::byte> bytes) {
    processes->publish(version, bytes);
  };
  surroundings.tend = [&] { processes->tend(); };
  surroundings.restart_count = [&] { return processes ? processes->restart_count() : 0; };
  surroundings.stop_requested = [] { return stop_signal != 0; };
  surroundings.show_progress = [&](double fraction, const std::string& line) {
    if (!options.quiet) progress.update(fraction, line);
  };
  TrainingRun run(config, config_yaml, config_hash(config), {std::move(run_graph)}, folder,
                  std::move(surroundings), resumed, training_seconds);
  processes = std::make_unique<Processes>(config, session.size(), session.processor_name(),
                                          run.version_slots(), run.snapshot_bytes());
  TicketDesk desk(processes->socket(), run.book(), make_welcome(config, input), processes->token(),
                  kTicketLease);
  const RunOutcome outcome = run.run(desk);
  progress.finish();
  desk.say_goodbye();
  processes->stop();

  RunSummary summary = run.summary();
  summary.outcome = outcome == RunOutcome::kDone ? "done" : "stopped early";
  summary.wall_seconds = std::chrono::duration<double>(Clock::now() - process_start).count();
  folder.write_summary(summary_json(summary));
  std::fputs(options.json ? summary_json(summary).c_str() : summary_table(summary).c_str(), stdout);
  std::fflush(stdout);
  return outcome;
}

int train_main(int argc, char** argv) {
  const auto process_start = Clock::now();
  Options options = parse_options(argc, argv);
  limit_torch_threads(1);
  set_log_name("learner/0");

  // Nothing is written before all input has been read and found good.
  if (options.workers >= 0) {
    options.overrides.push_back("run.workers=" + std::to_string(options.workers));
  }
  const std::string config_path =
      options.resume ? options.run_dir + "/config.yaml" : options.config_path;
  if (options.resume && !std::filesystem::exists(config_path)) {
    throw ConfigError(
        "run folder " + options.run_dir +
        ": there is no config.yaml in it; give the folder of a run that doppler train began");
  }
  Config config = load_config(config_path, options.overrides);
  if (!config.graph.path.empty()) {
    config.graph.path = std::filesystem::absolute(config.graph.path).lexically_normal().string();
  }
  if (!config.simulation.topology.empty()) {
    config.simulation.topology =
        std::filesystem::absolute(config.simulation.topology).lexically_normal().string();
  }
  const Input input = load_input(config);
  std::unique_ptr<Checkpoint> resumed;
  if (options.resume) resumed = load_resumed(options.run_dir, input);
  if (options.run_dir.empty()) options.run_dir = default_run_dir(config.run.name);
  RunFolder folder = options.resume ? RunFolder::open(options.run_dir)
                                    : RunFolder::create(options.run_dir, to_yaml(config));
  add_log_file(folder.log_path());
  if (options.resume) folder.trim_metrics(resumed ? resumed->update : 0);
  install_signal_handlers();

  MpiSession session;
  RunOutcome outcome = RunOutcome::kDone;
  try {
    outcome = run_training(options, config, input, resumed.get(), session, folder, process_start);
    session.finalize();
  } catch (const Error& error) {
    // With other ranks the session's end aborts the job, before anybody else could say why.
    if (session.size() > 1) log_error("{}", error.what());
    throw;
  }
  if (outcome == RunOutcome::kDone) return static_cast<int>(ExitCode::kDone);
  log_info("stopped by signal {}; continue with: doppler resume {}", static_cast<int>(stop_signal),
           options.run_dir);
  return static_cast<int>(ExitCode::kResumable);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::train_main);
}
