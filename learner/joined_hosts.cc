#include "learner/joined_hosts.h"

#include <algorithm>
#include <utility>

namespace doppler {

JoinedHosts::JoinedHosts(LearnerSocket& socket, const JoinTerms& terms)
    : socket_(&socket), terms_(terms), next_number_(terms.first_number) {}

std::optional<std::uint32_t> JoinedHosts::handle(const IncomingMessage& message,
                                                 Clock::time_point now) {
  if (const auto join = decode_join(message.bytes)) {
    greet(message.peer, *join, now);
    return std::nullopt;
  }
  const auto at = hosts_.find(message.peer);
  if (at == hosts_.end()) return std::nullopt;
  Host& host = at->second;
  const std::uint32_t number = host.number;
  if (message_kind(message.bytes) == MessageKind::kLeave) {
    missing_.push_back({number, true});
    events_.push_back("host " + std::to_string(host.number) + " (" + host.machine +
                      ") leaves the run");
    hosts_.erase(at);
    return number;
  }
  const auto wanted = decode_weights_wanted(message.bytes);
  if (!wanted) return std::nullopt;
  host.heard_at = now;
  host.silent = false;
  host.have = wanted->have;
  if (!serve(message.peer, host, now)) {
    socket_->send(message.peer, encode(NothingNewer{}));
  }
  return number;
}

void JoinedHosts::greet(const std::string& peer, const Join& join, Clock::time_point now) {
  const auto refuse = [&](const std::string& reason) {
    events_.push_back("refused host " + join.machine + ": " + reason);
    socket_->send(peer, encode(Refusal{reason}));
  };
  if (join.protocol != kProtocolVersion) {
    refuse("it speaks protocol " + std::to_string(join.protocol) + ", this learner " +
           std::to_string(kProtocolVersion) + "; install the same version everywhere");
    return;
  }
  if (join.run_token != terms_.run_token) {
    refuse("it belongs to another run");
    return;
  }
  auto [at, is_new] = hosts_.try_emplace(peer);
  Host& host = at->second;
  if (is_new) {
    host.number = next_number_++;
    host.machine = join.machine;
    events_.push_back("host " + std::to_string(host.number) + " (" + join.machine +
                      ") joins the run with " + std::to_string(join.workers) + " workers");
  }
  host.heard_at = now;
  const Joined answer{.host = host.number,
                      .slot_count = terms_.slot_count,
                      .slot_capacity_bytes = terms_.slot_capacity_bytes,
                      .executes = terms_.executes};
  socket_->send(peer, encode(answer));
}

bool JoinedHosts::serve(const std::string& peer, Host& host, Clock::time_point now) {
  const bool in_transit = host.sent && (!host.have || *host.sent > *host.have);
  if (in_transit && now < host.lost_at) return false;
  const auto newer = [&](const Version& version) {
    return !host.have || version.version > *host.have;
  };
  const auto next = std::find_if(versions_.begin(), versions_.end(), newer);
  host.waits = next == versions_.end();
  if (host.waits) return false;
  if (socket_->send(peer, next->message) != SendOutcome::kSent) return false;
  if (host.have) conflated_ += next->version - *host.have - 1;
  host.sent = next->version;
  host.lost_at = now + lost_after(next->message.size());
  return true;
}

void JoinedHosts::publish(std::uint64_t version, std::span<const std::byte> snapshot,
                          Clock::time_point now) {
  versions_.push_back({version, encode_weights_message(version, snapshot)});
  while (versions_.size() > (terms_.newest_only ? 1 : terms_.slot_count)) versions_.pop_front();
  for (auto& [peer, host] : hosts_) {
    if (host.waits) serve(peer, host, now);
  }
}

std::vector<MissingHost> JoinedHosts::take_missing(Clock::time_point now) {
  for (auto at = hosts_.begin(); at != hosts_.end();) {
    Host& host = at->second;
    const auto silence = now - host.heard_at;
    const std::string name = "host " + std::to_string(host.number) + " (" + host.machine + ")";
    if (silence >= kSilence && !host.silent) {
      host.silent = true;
      missing_.push_back({host.number, false});
      events_.push_back(name + " is silent; others get what its workers hold");
    }
    if (silence >= kForgotten) {
      missing_.push_back({host.number, true});
      events_.push_back(name + " is forgotten after " + std::to_string(kForgotten.count()) +
                        " s of silence");
      at = hosts_.erase(at);
      continue;
    }
    ++at;
  }
  return std::exchange(missing_, {});
}

void JoinedHosts::say_goodbye() {
  for (const auto& [peer, host] : hosts_) socket_->send(peer, encode(Goodbye{}));
}

std::vector<std::string> JoinedHosts::take_events() {
  return std::exchange(events_, {});
}

}  // namespace doppler
