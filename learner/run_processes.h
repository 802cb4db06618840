// RunProcesses: the processes around the learner's loop: this node's workers, the hosts of other
// ranks, the socket that all workers speak to, and the weights on their way to each of them.
//
// One thread, the one that owns MPI. Nothing here waits but stop().
#ifndef DOPPLER_LEARNER_RUN_PROCESSES_H_
#define DOPPLER_LEARNER_RUN_PROCESSES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/channel.h"
#include "common/config.h"
#include "common/mpi_link.h"
#include "common/shared_weights.h"
#include "common/worker_supervisor.h"
#include "learner/joined_hosts.h"

namespace doppler {

// Where the learner runs.
struct RunPlace {
  int world_size = 1;   // MPI ranks, this one among them
  std::string machine;  // the name by which MPI knows it
  std::string run_dir;  // where the join file is written
};

// What every node keeps of the weights.
struct WeightStore {
  std::size_t slots = 0;  // versions
  std::size_t bytes = 0;  // of one, encoded
};

class RunProcesses {
 public:
  // Binds the socket, tells the hosts of other ranks what to do; workers are started by tend().
  // Throws SystemError.
  RunProcesses(const Config& config, const RunPlace& place, const WeightStore& store,
               std::uint32_t local_workers, const SupervisionLimits& limits);
  // Removes the join file, where it is still this run's.
  ~RunProcesses();
  RunProcesses(const RunProcesses&) = delete;
  RunProcesses& operator=(const RunProcesses&) = delete;

  LearnerSocket& socket() { return socket_; }
  // Tells this run from any other.
  std::uint64_t token() const { return token_; }
  std::uint64_t restart_count() const { return supervisor_->restart_count(); }
  // Hosts that join while the run goes on.
  JoinedHosts& joined() { return joined_; }
  // Weight versions that a host was not sent, because a newer one overtook them.
  std::uint64_t conflated_versions() const { return hosts_.conflated() + joined_.conflated(); }

  // Hosts that held up broadcasts of the weights.
  std::vector<LateHost> late_hosts() const { return hosts_.late_hosts(); }

  // A new weight version: to this node's shared memory, and on its way to every host.
  void publish(std::uint64_t version, std::span<const std::byte> bytes);
  // Moves sends on and looks after the workers; call it often.
  void tend();
  // Ends hosts and workers. Returns when the workers are gone and the hosts know, or after a time.
  void stop();

 private:
  std::vector<std::string> endpoints(const Config& config, int world_size) const;

  std::string run_dir_;
  ServerKeys keys_;
  std::uint64_t token_;
  LearnerSocket socket_;
  SharedWeights weights_;
  HostLinks hosts_;
  JoinedHosts joined_;
  std::size_t versions_per_host_;  // that may wait for one
  std::unique_ptr<WorkerSupervisor> supervisor_;
  std::chrono::steady_clock::time_point next_supervision_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_PROCESSES_H_
