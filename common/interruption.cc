#include "common/interruption.h"

#include <atomic>
#include <csignal>

namespace doppler {
namespace {

// A signal handler can reach nothing else. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void note_signal(int number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
}

}  // namespace

void note_interruptions(std::initializer_list<int> signals) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESETHAND;
  for (int number : signals) sigaction(number, &action, nullptr);
}

int interruption_signal() {
  return first_signal;
}

}  // namespace doppler
