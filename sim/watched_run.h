// Work that can be left behind: for what has no place to ask whether it should stop.
#ifndef DOPPLER_SIM_WATCHED_RUN_H_
#define DOPPLER_SIM_WATCHED_RUN_H_

#include <functional>

namespace doppler {

// Runs `work` on a thread of its own and rethrows what it throws. Meanwhile calls `go_on` on this
// thread, some twenty times a second; once it says no, returns false at once; it must not throw.
// `work` then runs on until it is done or the program ends, so all that it uses must belong to it.
bool run_watched(std::function<void()> work, const std::function<bool()>& go_on);

}  // namespace doppler

#endif  // DOPPLER_SIM_WATCHED_RUN_H_
