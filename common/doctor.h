// What `doppler doctor` asks of a machine before a run has to. Each function is one group of checks
// and changes nothing that stays. One thread.
#ifndef DOPPLER_COMMON_DOCTOR_H_
#define DOPPLER_COMMON_DOCTOR_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

enum class CheckOutcome { kOk, kWarning, kFailed };  // in order of weight
const char* outcome_name(CheckOutcome outcome);

struct Check {
  std::string name;
  CheckOutcome outcome = CheckOutcome::kOk;
  std::string finding{};
  std::string cure{};  // "" where all is well
};
using Checks = std::vector<Check>;

// Cores, their quota, threads, open files, memory.
Checks check_limits();
// Host name, ports, the interface that other nodes would reach.
Checks check_network();
// Shared memory for weights (memfd) and for MPI (/dev/shm).
Checks check_shared_memory();
// Whether the ranks that a launcher started find each other. `probe`: a command that prints the
// size of the world that it is in; it runs in a process of its own, since a wrong launcher makes
// MPI end the process.
Checks check_mpi(const std::vector<std::string>& probe);
Checks check_gpus();

// Of all of them.
CheckOutcome worst_outcome(const Checks& checks);
std::string checks_text(const Checks& checks);
std::string checks_json(const Checks& checks, const std::string& host);

// The parts that need no machine, for tests.
// cpu.max of cgroup v2, "200000 100000": 2 cores; none for "max 100000" and what is not understood.
std::optional<double> parse_cpu_quota(std::string_view cpu_max);
// Interfaces of containers and virtual machines, which no other node reaches: "docker0".
bool is_virtual_interface(std::string_view name);
// What the size of MPI's world says, where a launcher started `expected` tasks.
Check judge_world(int size, int expected);

}  // namespace doppler

#endif  // DOPPLER_COMMON_DOCTOR_H_
