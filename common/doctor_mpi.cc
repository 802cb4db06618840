#include <charconv>
#include <chrono>
#include <sstream>

#include <fmt/format.h>

#include "common/child_output.h"
#include "common/doctor.h"
#include "common/environment_variable.h"

namespace doppler {
namespace {

constexpr auto kProbeTimeout = std::chrono::seconds(60);
constexpr const char* kLaunchCure =
    "start the ranks with srun --mpi=pmix (srun --mpi=list says what this Slurm has), or with the "
    "mpirun of the MPI that Doppler was built with";

// The tasks that a launcher started beside this one; 1 without a launcher.
int expected_tasks() {
  // SLURM_NTASKS alone stands in a job's script too, which is one process.
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"}) {
    if (const auto tasks = environment_number(name)) return *tasks;
  }
  if (environment_variable("SLURM_PROCID") && environment_variable("SLURM_STEP_ID")) {
    return environment_number("SLURM_NTASKS").value_or(1);
  }
  return 1;
}

// What MPI says when it cannot begin is long and framed.
std::string first_words(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t begin = line.find_first_not_of(" -=*");
    if (begin != std::string::npos) return line.substr(begin, 200);
  }
  return "";
}

}  // namespace

Check judge_world(int size, int expected) {
  Check check{.name = "MPI", .finding = fmt::format("a world of {}", size)};
  if (size == expected) return check;
  check.outcome = CheckOutcome::kFailed;
  check.finding += fmt::format(", where {} tasks were started", expected);
  check.cure = kLaunchCure;
  return check;
}

Checks check_mpi(const std::vector<std::string>& probe) {
  const ChildOutput output = child_output(probe, kProbeTimeout);
  if (output.timed_out) {
    return {{"MPI", CheckOutcome::kFailed, "the ranks wait for each other in vain", kLaunchCure}};
  }
  if (output.exit_code != 0) {
    return {{"MPI", CheckOutcome::kFailed,
             fmt::format("cannot begin ({}): {}", output.exit_code, first_words(output.text)),
             kLaunchCure}};
  }
  // On the last line: MPI may warn before.
  std::istringstream in(output.text);
  std::string line;
  std::string last;
  while (std::getline(in, line)) last = line;
  int size = 0;  // where it is no number
  std::from_chars(last.data(), last.data() + last.size(), size);
  return {judge_world(size, expected_tasks())};
}

}  // namespace doppler
