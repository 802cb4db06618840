// Worker: the conversation of one worker process with the learner. Says hello, learns what the run
// is about, then plays tickets until told to stop. One thread.
#ifndef DOPPLER_ACTORS_WORKER_H_
#define DOPPLER_ACTORS_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/ticket_player.h"
#include "common/channel.h"
#include "common/message.h"
#include "common/shared_weights.h"
#include "common/worker_progress.h"

namespace doppler {

struct WorkerIdentity {
  std::uint32_t host = 0;
  std::uint32_t worker = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t run_token = 0;
  std::string machine;  // for people
};

// Routing id on the learner's socket; a later incarnation has another.
std::string worker_peer_name(const WorkerIdentity& identity);

// Costs, levels, executors and the teacher for the graphs of a run; keeps them alive for the
// player.
class PlayGround {
 public:
  virtual ~PlayGround() = default;
  virtual TicketPlayer& player() = 0;
};
using PlayGroundFactory = std::function<std::unique_ptr<PlayGround>(Welcome welcome)>;

// Returns when the learner says goodbye, or, once `is_leaving` says so, as soon as what is being
// played has been sent; what else it holds is left to others then. Raises its progress with every
// episode, and every second or faster whatever it waits for. Throws SystemError when the learner
// cannot be reached or falls silent before the welcome, ConfigError when it refuses this worker.
void run_worker(const WorkerIdentity& identity, WorkerSocket& socket, const SharedWeights& weights,
                WorkerLine& progress, const PlayGroundFactory& make_play_ground,
                const std::function<bool()>& is_leaving);

}  // namespace doppler

#endif  // DOPPLER_ACTORS_WORKER_H_
