// Interruption: SIGINT and SIGTERM as a wish to end with what there is so far.
#ifndef DOPPLER_COMMON_INTERRUPTION_H_
#define DOPPLER_COMMON_INTERRUPTION_H_

#include <initializer_list>

namespace doppler {

// From now on these signals only note that they came; the program asks interruption_signal() now
// and then. A second one of a kind ends the program as if nothing had been installed.
void note_interruptions(std::initializer_list<int> signals);

// The number of the first of them that came, or 0. For any thread.
int interruption_signal();

}  // namespace doppler

#endif  // DOPPLER_COMMON_INTERRUPTION_H_
