#include "actors/worker.h"

#include <chrono>

#include "common/error.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;

// Tickets that may wait here: the next is at hand when one is finished.
constexpr std::uint32_t kCreditTickets = 2;
constexpr milliseconds kWelcomeTimeout(60000);
constexpr milliseconds kSendTimeout(60000);
constexpr milliseconds kIdlePoll(1000);
// A version that a ticket names is on its way; a host that does not get it within this time is cut
// off.
constexpr milliseconds kWeightsTimeout(60000);

void send(WorkerSocket& socket, std::span<const std::byte> bytes, const char* what) {
  if (!socket.send(bytes, kSendTimeout)) {
    throw SystemError(std::string("the learner could not be reached to send ") + what);
  }
}

Welcome say_hello(const WorkerIdentity& identity, WorkerSocket& socket) {
  const Hello hello{.host = identity.host,
                    .worker = identity.worker,
                    .incarnation = identity.incarnation,
                    .run_token = identity.run_token};
  send(socket, encode(hello), "a hello");
  const auto answer = socket.receive(kWelcomeTimeout);
  if (!answer) throw SystemError("the learner did not answer a hello");
  if (const auto refusal = decode_refusal(*answer)) {
    throw ConfigError("the learner refuses this worker: " + refusal->reason);
  }
  auto welcome = decode_welcome(*answer);
  if (!welcome) {
    throw SystemError("the learner answered a hello with something else; is it another build?");
  }
  return std::move(*welcome);
}

}  // namespace

std::string worker_peer_name(const WorkerIdentity& identity) {
  return std::to_string(identity.host) + "." + std::to_string(identity.worker) + "." +
         std::to_string(identity.incarnation);
}

void run_worker(const WorkerIdentity& identity, WorkerSocket& socket, const SharedWeights& weights,
                const PlayGroundFactory& make_play_ground) {
  const std::unique_ptr<PlayGround> play_ground = make_play_ground(say_hello(identity, socket));
  TicketPlayer& player = play_ground->player();
  send(socket, encode(Credit{kCreditTickets}), "credit");

  std::optional<WeightSnapshot> snapshot;
  while (true) {
    const auto message = socket.receive(kIdlePoll);
    if (!message) continue;
    if (message_kind(*message) == MessageKind::kGoodbye) return;
    const auto ticket = decode_ticket(*message);
    if (!ticket) continue;
    if (!snapshot || snapshot->version != ticket->weight_version) {
      const auto bytes = weights.wait_for(ticket->weight_version, kWeightsTimeout);
      if (!bytes) {
        throw SystemError("weight version " + std::to_string(ticket->weight_version) +
                          " did not reach this host");
      }
      snapshot = decode_weight_snapshot(*bytes);
      if (!snapshot) throw SystemError("the shared weights are damaged");
    }
    if (!player.accepts(*ticket, *snapshot)) {
      throw SystemError("ticket " + std::to_string(ticket->id) +
                        " does not fit the graphs or weights of this run");
    }
    send(socket, encode(player.play(*ticket, *snapshot)), "a result");
  }
}

}  // namespace doppler
