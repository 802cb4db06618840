// A worker in miniature, for worker_supervisor_test: `worker_supervisor_child MODE
// arguments of doppler-worker`. What it does in each mode stands below.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <sys/prctl.h>

#include "common/worker_progress.h"
#include "common/worker_supervisor.h"

namespace {

using doppler::WorkerLine;
using doppler::WorkerPhase;

[[noreturn]] void spin() {
  volatile unsigned long turns = 0;
  while (true) turns = turns + 1;
}

// As a worker does that gets on.
[[noreturn]] void work(WorkerLine& line) {
  while (true) {
    line.enter(WorkerPhase::kPlaying);
    line.finish_episode(std::chrono::milliseconds(1));
    line.enter(WorkerPhase::kIdle);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 2) return 2;
  const std::string_view mode(argv[1]);
  std::size_t worker = 0;
  bool first_life = true;
  for (int i = 2; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--worker") worker = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--incarnation") {
      first_life = std::string_view(argv[i + 1]) == "0";
    }
  }
  const auto progress = doppler::WorkerProgress::attach(doppler::kProgressDescriptor);
  WorkerLine& line = progress.line(worker);
  if (mode == "work" || (mode != "always-spin" && mode != "die-after-episode" && !first_life)) {
    work(line);
  }
  if (mode == "spin-starting") spin();
  if (mode == "stop-idle") {
    line.enter(WorkerPhase::kIdle);
    std::raise(SIGSTOP);
  }
  if (mode == "deaf") {  // spins, and a SIGTERM is nothing to it
    std::signal(SIGTERM, SIG_IGN);
    line.enter(WorkerPhase::kPlaying);
    spin();
  }
  if (mode == "spin-after-long-episode") {
    // In this order: no look from outside finds it playing before the episode is known.
    line.finish_episode(std::chrono::milliseconds(40));
    line.enter(WorkerPhase::kPlaying);
    spin();
  }
  if (mode == "always-spin") {
    line.enter(WorkerPhase::kPlaying);
    spin();
  }
  if (mode == "die-after-episode") line.finish_episode(std::chrono::milliseconds(1));
  return 7;
}
