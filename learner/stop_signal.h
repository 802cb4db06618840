// The signals by which a learner is asked to stop, resumable: SIGINT, SIGTERM and SIGUSR1. However
// often they come, they only note the wish.
#ifndef DOPPLER_LEARNER_STOP_SIGNAL_H_
#define DOPPLER_LEARNER_STOP_SIGNAL_H_

namespace doppler {

// From now on; besides, a connection that was closed and a file that grew too large are errors of
// the call that met them, not a death.
void install_stop_signals();

// The number of the last that came, or 0.
int stop_signal();

}  // namespace doppler

#endif  // DOPPLER_LEARNER_STOP_SIGNAL_H_
