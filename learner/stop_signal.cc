#include "learner/stop_signal.h"

#include <csignal>
#include <initializer_list>

namespace doppler {
namespace {

volatile std::sig_atomic_t last_signal = 0;

void note_signal(int number) {
  last_signal = number;
}

}  // namespace

void install_stop_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), not a death
}

int stop_signal() {
  return last_signal;
}

}  // namespace doppler
