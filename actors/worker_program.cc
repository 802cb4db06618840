#include "actors/worker_program.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/prctl.h>
#include <unistd.h>

#include "actors/worker.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/levels.h"
#include "common/topology_file.h"
#include "common/worker_progress.h"
#include "common/worker_supervisor.h"
#include "sim/baselines.h"
#include "sim/machine.h"

namespace doppler {
namespace {

// The worker dies with whoever started it, however that ends.
void follow_parent(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (parent > 0 && getppid() != parent) std::_Exit(static_cast<int>(ExitCode::kEnvironment));
}

volatile std::sig_atomic_t leaving = 0;

// Without SA_RESTART: it interrupts waiting.
void leave_on(int number) {
  struct sigaction action {};
  action.sa_handler = [](int) { leaving = 1; };
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Simulators for all graphs, and for real stages what measures, made when it is first needed.
class WorkerPlayGround final : public PlayGround {
 public:
  WorkerPlayGround(Welcome welcome, WorkerLine& progress, const RealExecutorFactory& make_real)
      : welcome_(std::move(welcome)), real_(welcome_.graphs.size()) {
    if (welcome_.simulation.mode == SimulationMode::kPhysical) {
      topology_ =
          std::make_unique<Topology>(parse_topology(welcome_.topology, "the learner's topology"));
    }
    std::vector<PlayableGraph> playable;
    for (const Graph& graph : welcome_.graphs) {
      progress.beat();  // a large graph takes seconds
      machines_.push_back(std::make_unique<Machine>(graph, topology_.get(), welcome_.simulation,
                                                    welcome_.run_seed));
      Machine& machine = *machines_.back();
      levels_.push_back(std::make_unique<Levels>(compute_levels(machine.costs())));
      PlayableGraph& item = playable.emplace_back();
      item.costs = &machine.costs();
      item.levels = levels_.back().get();
      item.executor = &machine.executor();
      if (welcome_.executes && make_real) {
        item.real_executor = [this, &make_real, g = playable.size() - 1]() -> Executor& {
          if (!real_[g]) {
            real_[g] = make_real(welcome_.execution, machines_[g]->costs(), *topology_,
                                 physical_options(welcome_.simulation, welcome_.run_seed));
          }
          return *real_[g];
        };
      }
      if (!welcome_.teacher_plans.empty()) {
        item.teacher_plan = welcome_.teacher_plans[playable.size() - 1];
        if (!is_plan_of(*item.teacher_plan, graph, machine.costs().device_count())) {
          throw FormatError(
              "the learner's teacher places operations on devices that there are not");
        }
      }
    }
    const PlayerSettings settings{.run_seed = welcome_.run_seed,
                                  .worker_number = welcome_.worker_number,
                                  .select = welcome_.select,
                                  .place = welcome_.place};
    player_ = std::make_unique<TicketPlayer>(settings, std::move(playable));
  }
  TicketPlayer& player() override { return *player_; }

 private:
  Welcome welcome_;
  std::unique_ptr<Topology> topology_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Executor>> real_;  // [graphs], null until asked for
  std::vector<std::unique_ptr<Levels>> levels_;
  std::unique_ptr<TicketPlayer> player_;
};

}  // namespace

int run_worker_program(int argc, char** argv, const RealExecutorFactory& make_real) {
  CLI::App app{"One worker process of a run. Started by doppler train, not by hand."};
  WorkerIdentity identity;
  std::string endpoint;
  int parent = 0;
  app.add_option("--endpoint", endpoint, "where the learner listens")->required();
  app.add_option("--host", identity.host, "number of the host");
  app.add_option("--worker", identity.worker, "number on its host");
  app.add_option("--incarnation", identity.incarnation, "how often it was restarted");
  app.add_option("--run-token", identity.run_token, "of the run that it belongs to");
  app.add_option("--parent", parent, "process that it dies with");
  parse_flags(app, argc, argv);
  follow_parent(parent);
  // A request to stop that a launcher sends to all processes of a node is the learner's to answer.
  std::signal(SIGUSR1, SIG_IGN);
  leave_on(SIGTERM);
  identity.machine = machine_name();

  const char* key = std::getenv(kRunKeysVariable);
  if (key == nullptr) {
    throw ConfigError(std::string(kRunKeysVariable) +
                      " is not set; workers are started by doppler train");
  }
  const SharedWeights weights = SharedWeights::attach(kWeightsDescriptor);
  const WorkerProgress progress = WorkerProgress::attach(kProgressDescriptor);
  WorkerLine& line = progress.line(identity.worker);
  WorkerSocket socket(endpoint, worker_peer_name(identity), parse_client_keys(key));
  run_worker(
      identity, socket, weights, line,
      [&](Welcome welcome) {
        return std::make_unique<WorkerPlayGround>(std::move(welcome), line, make_real);
      },
      [] { return leaving != 0; });
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace doppler
