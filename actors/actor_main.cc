// doppler-actor: `doppler actor --join RUN_DIR`. Workers for a run that goes on, from any node that
// sees its folder; they come and go.
#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "actors/joined_host.h"
#include "common/cli.h"
#include "common/error.h"
#include "common/log.h"

namespace doppler {
namespace {

volatile std::sig_atomic_t leaving = 0;

int actor_main(int argc, char** argv) {
  CLI::App app{
      "Take part in a run while it goes on. Ends with it, or on SIGTERM or SIGINT: workers "
      "then finish what they play; nothing is lost."};
  app.name("doppler actor");
  JoinOptions options;
  options.workers = std::max(1U, std::thread::hardware_concurrency());
  std::int64_t patience = options.patience.count();
  app.add_option("--join", options.run_dir, "folder of the run")->required();
  app.add_option("--workers", options.workers, "worker processes (default: one per core)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--wait", patience, "seconds to wait for a learner that is not there (600)")
      ->check(CLI::Range(0, 1000000));
  app.footer("Example:\n  doppler actor --join runs/first --workers 8");
  parse_flags(app, argc, argv);
  options.patience = std::chrono::seconds(patience);
  options.limits = supervision_limits_from_environment();
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  options.machine = name.data();
  set_log_name("actor/" + options.machine);

  struct sigaction action {};
  action.sa_handler = [](int) { leaving = 1; };
  sigemptyset(&action.sa_mask);
  for (int number : {SIGTERM, SIGINT}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const JoinOutcome outcome = take_part(options, [] { return leaving != 0; });
  log_info("{}", outcome == JoinOutcome::kRunEnded ? "the run has ended" : "left the run");
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::actor_main);
}
