#include "learner/run_processes.h"

#include <random>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/host_setup.h"
#include "common/join_file.h"
#include "common/log.h"
#include "common/network_address.h"
#include "common/program_path.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSupervisePeriod = std::chrono::milliseconds(50);
constexpr auto kWorkerGrace = std::chrono::milliseconds(2000);
constexpr auto kStopTimeout = std::chrono::seconds(30);
constexpr auto kPollInterval = std::chrono::milliseconds(1);

std::uint64_t random_token() {
  std::random_device device;
  return device() | (static_cast<std::uint64_t>(device()) << 32);
}

}  // namespace

RunProcesses::RunProcesses(const Config& config, const RunPlace& place, const WeightStore& store,
                           std::uint32_t local_workers, const SupervisionLimits& limits)
    : run_dir_(place.run_dir),
      keys_(make_server_keys()),
      token_(random_token()),
      socket_(endpoints(config, place.world_size), keys_),
      weights_(SharedWeights::create(store.slots, store.bytes)),
      hosts_(place.world_size),
      joined_(socket_, {.first_number = static_cast<std::uint32_t>(place.world_size),
                        .run_token = token_,
                        .slot_count = store.slots,
                        .slot_capacity_bytes = weights_.slot_capacity_bytes(),
                        .newest_only = config.learner.mode == TrainingMode::kAsynchronous,
                        .executes = config.stages.real.enabled}),
      // In synchronous mode a ticket names its version, so a host needs all that tickets may name.
      versions_per_host_(config.learner.mode == TrainingMode::kAsynchronous ? 1 : store.slots) {
  HostSetup setup;
  setup.learner_machine = place.machine;
  setup.keys = keys_.for_clients().text();
  setup.run_token = token_;
  setup.workers = static_cast<std::uint32_t>(config.run.workers);
  setup.slot_count = store.slots;
  setup.slot_capacity_bytes = weights_.slot_capacity_bytes();
  setup.executes = config.stages.real.enabled;
  for (const std::string& endpoint : socket_.endpoints()) {
    (endpoint.starts_with("ipc://") ? setup.local_endpoint : setup.network_endpoint) = endpoint;
  }
  if (config.network.weights_by == WeightsBy::kBroadcast && hosts_.host_count() > 0) {
    setup.broadcast_bytes = encode_host_weights(0, std::vector<std::byte>(store.bytes)).size();
    hosts_.use_broadcasts(setup.broadcast_bytes);
  }
  hosts_.send(HostMessageKind::kSetup, encode(setup));
  const WorkerLaunch launch{
      .program = sibling_program(worker_program(config.stages.real.enabled)),
      .endpoint = setup.local_endpoint.empty() ? setup.network_endpoint : setup.local_endpoint,
      .keys = setup.keys,
      .host = 0,
      .run_token = token_,
      .weights_descriptor = weights_.descriptor()};
  supervisor_ = std::make_unique<WorkerSupervisor>(launch, local_workers, limits);
  save_join_file(run_dir_, {.place = this_place(),
                            .local_endpoint = setup.local_endpoint,
                            .network_endpoint = setup.network_endpoint,
                            .keys = setup.keys,
                            .run_token = token_});
  log_info("learner at {}, {} workers here, {} other hosts", fmt::join(socket_.endpoints(), " "),
           local_workers, hosts_.host_count());
}

RunProcesses::~RunProcesses() {
  remove_join_file(run_dir_);
}

std::vector<std::string> RunProcesses::endpoints(const Config& config, int world_size) const {
  std::vector<std::string> result;
  const Transport transport = config.network.transport;
  if (transport != Transport::kTcp) result.push_back(fmt::format("ipc://@doppler-{:016x}", token_));
  const bool others = config.network.join == JoinFrom::kNetwork ||
                      (transport == Transport::kAuto && world_size > 1);
  if (transport == Transport::kTcp && !others) {
    result.emplace_back("tcp://127.0.0.1:*");
  } else if (others) {
    result.push_back("tcp://" + network_address().address + ":*");
  }
  return result;
}

void RunProcesses::publish(std::uint64_t version, std::span<const std::byte> bytes) {
  weights_.publish(version, bytes);
  if (hosts_.host_count() > 0) {
    hosts_.send_weights(encode_host_weights(version, bytes), versions_per_host_);
  }
  joined_.publish(version, bytes, Clock::now());
}

void RunProcesses::tend() {
  hosts_.poll();
  for (const std::string& event : hosts_.take_events()) log_warning("{}", event);
  const auto now = Clock::now();
  if (now < next_supervision_) return;
  next_supervision_ = now + kSupervisePeriod;
  for (const std::string& event : supervisor_->poll()) log_warning("{}", event);
}

void RunProcesses::stop() {
  hosts_.send(HostMessageKind::kStop, {});
  hosts_.end_weights();
  supervisor_->stop(kWorkerGrace);
  const auto deadline = Clock::now() + kStopTimeout;
  while (hosts_.outstanding() > 0 && Clock::now() < deadline) {
    hosts_.poll();
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace doppler
