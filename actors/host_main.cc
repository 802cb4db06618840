// doppler-actor-host: what every MPI rank above 0 runs. Keeps the newest weights in shared memory
// and its workers alive; loads neither LibTorch nor HDF5.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "common/cli.h"
#include "common/error.h"
#include "common/host_setup.h"
#include "common/log.h"
#include "common/mpi_link.h"
#include "common/program_path.h"
#include "common/shared_weights.h"
#include "common/worker_supervisor.h"

namespace doppler {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(1);
constexpr auto kSupervisePeriod = std::chrono::milliseconds(50);
constexpr auto kStopGrace = std::chrono::milliseconds(2000);

HostMessage wait_for_message(LearnerLink& link) {
  while (true) {
    if (auto message = link.receive()) return std::move(*message);
    std::this_thread::sleep_for(kPollInterval);
  }
}

void serve(const MpiSession& session, LearnerLink& link, const HostSetup& setup) {
  SharedWeights weights = SharedWeights::create(setup.slot_count, setup.slot_capacity_bytes);
  const bool local =
      session.processor_name() == setup.learner_machine && !setup.local_endpoint.empty();
  const WorkerLaunch launch{.program = sibling_program(worker_program(setup.executes)),
                            .endpoint = local ? setup.local_endpoint : setup.network_endpoint,
                            .keys = setup.keys,
                            .host = static_cast<std::uint32_t>(session.rank()),
                            .run_token = setup.run_token,
                            .weights_descriptor = weights.descriptor()};
  const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  WorkerSupervisor supervisor(launch, setup.workers > 0 ? setup.workers : cores,
                              supervision_limits_from_environment());
  log_info("starting {} workers, learner at {}", setup.workers > 0 ? setup.workers : cores,
           launch.endpoint);
  if (setup.broadcast_bytes > 0) link.use_broadcasts(setup.broadcast_bytes);
  auto next_supervision = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() >= next_supervision) {
      for (const std::string& event : supervisor.poll()) log_warning("{}", event);
      next_supervision = std::chrono::steady_clock::now() + kSupervisePeriod;
    }
    const auto message = link.receive();
    if (!message) {
      std::this_thread::sleep_for(kPollInterval);
      continue;
    }
    if (message->kind == HostMessageKind::kStop) break;
    const auto version = decode_host_weights(message->bytes);
    if (!version) throw SystemError("a weight version arrived damaged over MPI");
    weights.publish(version->version, version->snapshot);
  }
  supervisor.stop(kStopGrace);
  link.finish();
}

int host_main(int /*argc*/, char** /*argv*/) {
  // The learner decides when the run ends; a launcher's signals reach it too.
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  MpiSession session;
  set_log_name("host/" + std::to_string(session.rank()));
  try {
    LearnerLink link;
    const HostMessage first = wait_for_message(link);
    if (first.kind == HostMessageKind::kSetup) {
      const auto setup = decode_host_setup(first.bytes);
      if (!setup) throw SystemError("the learner's setup arrived damaged over MPI");
      serve(session, link, *setup);
    }
    session.finalize();
  } catch (const Error& error) {
    // The session's end aborts the job, before anybody else could say why.
    log_error("{}", error.what());
    throw;
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::host_main);
}
