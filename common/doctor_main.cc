// doppler doctor: whether a run would work on this machine, and what to do where it would not.
#include <array>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "common/cli.h"
#include "common/doctor.h"
#include "common/error.h"
#include "common/mpi_link.h"
#include "common/program_path.h"
#include "learner/doctor_run_folder.h"

namespace doppler {
namespace {

// What check_mpi() starts: the size of MPI's world.
constexpr const char* kMpiProbe = "--mpi-probe";

int probe_mpi() {
  MpiSession session;
  const int size = session.size();
  session.finalize();
  std::cout << size << "\n";
  return static_cast<int>(ExitCode::kDone);
}

int run(int argc, char** argv) {
  CLI::App app("Finds out whether runs would work on this machine; says what to do where not.",
               "doppler doctor");
  std::string run_dir = "runs";
  bool json = false;
  bool probes_mpi = false;
  app.add_option("--run-dir", run_dir, "where runs are to lie; it need not exist")
      ->capture_default_str();
  app.add_flag("--json", json, "print JSON");
  app.add_flag(kMpiProbe, probes_mpi)->group("");  // not for people
  app.footer(
      "Exits with 3 where something failed; warnings are no failures.\n\n"
      "Examples:\n  doppler doctor --run-dir /scratch/runs\n"
      "  srun --mpi=pmix --label doppler doctor      # on every node of a job");
  parse_flags(app, argc, argv);
  if (probes_mpi) return probe_mpi();

  Checks checks;
  const auto add = [&](Checks group) {
    for (Check& check : group) checks.push_back(std::move(check));
  };
  add(check_limits());
  add(check_network());
  add(check_shared_memory());
  add(check_mpi({sibling_program("doppler-doctor"), kMpiProbe}));
  add(check_gpus());
  add(check_run_folder(run_dir, sibling_program("doppler-inspect")));

  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::cout << (json ? checks_json(checks, host.data()) : checks_text(checks));
  return static_cast<int>(worst_outcome(checks) == CheckOutcome::kFailed ? ExitCode::kEnvironment
                                                                         : ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, &doppler::run);
}
