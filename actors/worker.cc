#include "actors/worker.h"

#include <algorithm>
#include <chrono>

#include "common/error.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;

// Tickets that may wait here: the next is at hand when one is finished.
constexpr std::uint32_t kCreditTickets = 2;
// Idle for so long, a worker says again that it is there.
constexpr milliseconds kSayAgain(3000);
constexpr milliseconds kWelcomeTimeout(60000);
constexpr milliseconds kSendTimeout(60000);
// No wait is longer: whoever supervises this worker sees that it lives.
constexpr milliseconds kBeatPeriod(1000);
// A version that a ticket names is on its way; a host that does not get it within this time is cut
// off.
constexpr milliseconds kWeightsTimeout(60000);

constexpr auto kNeverGivesUp = [] { return false; };

// Tries for up to `timeout` in all; the result of the last try, false or empty when none was good.
template <typename Try, typename GivesUp = decltype(kNeverGivesUp)>
auto keep_trying(WorkerLine& progress, milliseconds timeout, Try&& attempt,
                 const GivesUp& gives_up = kNeverGivesUp) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    progress.beat();
    auto result = attempt(kBeatPeriod);
    if (result || gives_up() || std::chrono::steady_clock::now() >= deadline) return result;
  }
}

void send(WorkerSocket& socket, WorkerLine& progress, std::span<const std::byte> bytes,
          const char* what) {
  const bool sent = keep_trying(progress, kSendTimeout,
                                [&](milliseconds timeout) { return socket.send(bytes, timeout); });
  if (!sent) throw SystemError(std::string("the learner could not be reached to send ") + what);
}

Welcome say_hello(const WorkerIdentity& identity, WorkerSocket& socket, WorkerLine& progress) {
  const Hello hello{.host = identity.host,
                    .worker = identity.worker,
                    .incarnation = identity.incarnation,
                    .run_token = identity.run_token,
                    .machine = identity.machine};
  send(socket, progress, encode(hello), "a hello");
  const auto answer = keep_trying(progress, kWelcomeTimeout,
                                  [&](milliseconds timeout) { return socket.receive(timeout); });
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
                WorkerLine& progress, const PlayGroundFactory& make_play_ground,
                const std::function<bool()>& is_leaving) {
  const std::unique_ptr<PlayGround> play_ground =
      make_play_ground(say_hello(identity, socket, progress));
  TicketPlayer& player = play_ground->player();
  progress.enter(WorkerPhase::kIdle);
  send(socket, progress, encode(Credit{kCreditTickets}), "credit");

  std::optional<WeightSnapshot> snapshot;
  auto idle_since = std::chrono::steady_clock::now();
  while (!is_leaving()) {
    progress.beat();
    const auto message = socket.receive(kBeatPeriod);
    if (!message) {
      if (std::chrono::steady_clock::now() - idle_since < kSayAgain) continue;
      send(socket, progress, encode(Credit{kCreditTickets}), "credit");
      idle_since = std::chrono::steady_clock::now();
      continue;
    }
    if (message_kind(*message) == MessageKind::kGoodbye) return;
    const auto ticket = decode_ticket(*message);
    if (!ticket) continue;
    const std::uint64_t wanted =
        ticket->newest ? std::max(ticket->weight_version, weights.newest_version().value_or(0))
                       : ticket->weight_version;
    const bool at_hand = snapshot && snapshot->version == wanted;
    if (!at_hand) {
      const auto bytes = keep_trying(
          progress, kWeightsTimeout,
          [&](milliseconds timeout) {
            return ticket->newest ? weights.wait_for_newest(ticket->weight_version, timeout)
                                  : weights.wait_for(ticket->weight_version, timeout);
          },
          is_leaving);
      if (!bytes && is_leaving()) break;
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
    progress.enter(WorkerPhase::kPlaying);
    const Result result = player.play(*ticket, *snapshot, [&](std::chrono::nanoseconds duration) {
      progress.finish_episode(duration);
    });
    progress.enter(WorkerPhase::kIdle);
    send(socket, progress, encode(result), "a result");
    idle_since = std::chrono::steady_clock::now();
  }
  send(socket, progress, encode(Leave{}), "a farewell");
}

}  // namespace doppler
