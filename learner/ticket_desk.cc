#include "learner/ticket_desk.h"

#include <algorithm>

namespace doppler {
namespace {

constexpr std::uint32_t kCreditLimit = 64;
constexpr auto kLeaseCheckPeriod = std::chrono::milliseconds(500);

}  // namespace

TicketDesk::TicketDesk(LearnerSocket& socket, TicketBook& book, Welcome welcome,
                       std::uint64_t run_token, JoinedHosts& joined)
    : socket_(&socket),
      book_(&book),
      welcome_(std::move(welcome)),
      run_token_(run_token),
      joined_(&joined),
      next_lease_check_(BookClock::now() + kLeaseCheckPeriod) {}

void TicketDesk::poll(std::chrono::milliseconds timeout) {
  hand_out();
  auto message = socket_->receive(timeout);
  while (message) {
    handle(std::move(*message));
    message = socket_->receive(std::chrono::milliseconds(0));
  }
  const auto now = BookClock::now();
  if (now >= next_lease_check_) check_leases(now);
  hand_out();
}

// After all messages that were there: while this process was busy, nobody was silent.
void TicketDesk::check_leases(BookClock::time_point now) {
  next_lease_check_ = now + kLeaseCheckPeriod;
  for (const MissingHost& host : joined_->take_missing(now)) give_up(host);
  for (std::string& event : joined_->take_events()) events_.push_back(std::move(event));
  const auto lease = lease_.length(now);
  const std::size_t released = book_->release_issued_before(now - lease);
  if (released > 0) {
    events_.push_back(
        std::to_string(released) + " tickets were not answered within their lease of " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(lease).count()) +
        " s and are issued again");
  }
}

// A silent one may be frozen: what its workers still send is welcome.
void TicketDesk::give_up(const MissingHost& host) {
  std::size_t taken = 0;
  for (auto& [name, peer] : peers_) {
    if (peer.host != host.number) continue;
    peer.suspended = true;
    taken += book_->withdraw(name);
  }
  if (host.gone) {
    std::erase_if(peers_, [&](const auto& peer) { return peer.second.host == host.number; });
    silent_hosts_.erase(host.number);
  } else {
    silent_hosts_.insert(host.number);
  }
  if (taken > 0) {
    events_.push_back("host " + std::to_string(host.number) + ": " + std::to_string(taken) +
                      " tickets are issued again");
  }
}

void TicketDesk::hear(std::uint32_t host) {
  if (silent_hosts_.erase(host) == 0) return;
  events_.push_back("host " + std::to_string(host) + " is back");
  for (auto& [name, peer] : peers_) {
    if (peer.host == host) peer.suspended = false;
  }
}

std::vector<HostActivity> TicketDesk::hosts() const {
  std::map<std::uint32_t, HostActivity> hosts = activity_;
  for (const auto& [name, peer] : peers_) hosts[peer.host].workers += peer.suspended ? 0 : 1;
  for (const auto& [key, incarnation] : incarnations_) hosts[key.first].restarts += incarnation;
  std::vector<HostActivity> result;
  for (auto& [number, host] : hosts) result.push_back(std::move(host));
  return result;
}

void TicketDesk::handle(IncomingMessage message) {
  const auto kind = message_kind(message.bytes);
  if (kind == MessageKind::kHello) {
    if (const auto hello = decode_hello(message.bytes)) {
      greet(message.peer, *hello);
      return;
    }
  }
  if (kind == MessageKind::kJoin || !peers_.contains(message.peer)) {
    if (const auto host = joined_->handle(message, BookClock::now())) hear(*host);
    return;
  }
  const auto peer = peers_.find(message.peer);
  if (peer != peers_.end()) peer->second.heard = BookClock::now();
  if (peer != peers_.end()) {
    peer->second.suspended = false;
    if (kind == MessageKind::kLeave) {
      book_->take_back(message.peer);
      peers_.erase(peer);
      return;
    }
    if (kind == MessageKind::kCredit) {
      if (const auto credit = decode_credit(message.bytes)) {
        peer->second.credit = std::min(kCreditLimit, credit->tickets);
        if (const std::size_t lost = book_->take_back(message.peer); lost > 0) {
          events_.push_back("worker " + message.peer + " lost " + std::to_string(lost) +
                            " tickets; they are issued again");
        }
        return;
      }
    }
    if (kind == MessageKind::kResult) {
      if (auto result = decode_result(message.bytes)) {
        peer->second.credit = std::min(kCreditLimit, peer->second.credit + 1);
        ++counters_.results;
        if (const auto issued = book_->issued_at(result->ticket)) {
          const auto now = BookClock::now();
          lease_.note(now - *issued, now);
        }
        activity_[peer->second.host].episodes += result->trajectories.size();
        switch (book_->accept(std::move(*result))) {
          case ResultOutcome::kAccepted:
            break;
          case ResultOutcome::kClosedAlready:
            ++counters_.late_results;
            break;
          case ResultOutcome::kMismatch:
            ++counters_.mismatched_results;
            events_.push_back("worker " + message.peer +
                              " returned something other than its ticket asked for; dropped");
            break;
        }
        return;
      }
    }
  }
  ++counters_.garbled_messages;
}

void TicketDesk::greet(const std::string& name, const Hello& hello) {
  const auto refuse = [&](const std::string& reason) {
    ++counters_.refused;
    events_.push_back("refused worker " + name + ": " + reason);
    socket_->send(name, encode(Refusal{reason}));
  };
  if (hello.protocol != kProtocolVersion) {
    refuse("it speaks protocol " + std::to_string(hello.protocol) + ", this learner " +
           std::to_string(kProtocolVersion) + "; install the same version everywhere");
    return;
  }
  if (hello.run_token != run_token_) {
    refuse("it belongs to another run");
    return;
  }
  // What an earlier incarnation of the same worker held is free again.
  std::vector<std::string> earlier;
  for (const auto& [other, peer] : peers_) {
    if (peer.host == hello.host && peer.worker == hello.worker) earlier.push_back(other);
  }
  for (const std::string& other : earlier) forget(other, "it was restarted");

  const auto key = std::make_pair(hello.host, hello.worker);
  const auto number =
      worker_numbers_.emplace(key, static_cast<std::uint32_t>(worker_numbers_.size()))
          .first->second;
  welcome_.worker_number = number;
  if (socket_->send(name, encode(welcome_)) != SendOutcome::kSent) return;
  peers_[name] = {hello.host, hello.worker, hello.incarnation, 0, BookClock::now(), false};
  HostActivity& activity = activity_[hello.host];
  activity.host = hello.host;
  activity.machine = hello.machine;
  incarnations_[key] = hello.incarnation;
  ++counters_.welcomed;
}

void TicketDesk::hand_out() {
  // One ticket each in turn, so that a batch spreads over all workers; ends after a round in which
  // nobody took one.
  bool progress = true;
  while (progress && book_->waiting_tickets() > 0 && !peers_.empty()) {
    progress = false;
    auto at = peers_.lower_bound(next_peer_);
    for (std::size_t i = 0; i < peers_.size() && book_->waiting_tickets() > 0; ++i) {
      if (at == peers_.end()) at = peers_.begin();
      Peer& peer = at->second;
      const std::string name = at->first;
      ++at;
      next_peer_ = at == peers_.end() ? std::string() : at->first;
      if (peer.credit == 0 || peer.suspended || !may_play(peer, book_->next_waiting())) continue;
      const auto ticket = book_->issue(name, BookClock::now());
      if (socket_->send(name, encode(*ticket)) == SendOutcome::kSent) {
        --peer.credit;
        progress = true;
        continue;
      }
      // Dead, or about to say that it leaves: its next life or its farewell tells.
      book_->put_back(ticket->id);
      peer.suspended = true;
      book_->withdraw(name);
      progress = true;
    }
  }
}

// Measurements of a machine are made by as many of its workers as the configuration allows,
// whatever host they belong to: the first of those that live. One that has been silent for a lease
// is not waited for.
bool TicketDesk::may_play(const Peer& peer, const Ticket& ticket) const {
  if (ticket.stage != Stage::kReal) return true;
  const auto now = BookClock::now();
  const std::string& machine = activity_.at(peer.host).machine;
  std::int64_t before = 0;
  for (const auto& [name, other] : peers_) {
    if (other.suspended || now - other.heard > lease_.length(now)) continue;
    if (activity_.at(other.host).machine != machine) continue;
    if (std::pair(other.host, other.worker) < std::pair(peer.host, peer.worker)) ++before;
  }
  return before < welcome_.execution.workers_per_host;
}

void TicketDesk::forget(const std::string& name, const char* why) {
  const ReleasedTickets released = book_->release(name);
  peers_.erase(name);
  if (released.reissued > 0) {
    events_.push_back("worker " + name + ": " + why + "; " + std::to_string(released.reissued) +
                      " tickets are issued again");
  }
  if (released.failed > 0) {
    events_.push_back("worker " + name + ": " + why + "; " + std::to_string(released.failed) +
                      " tickets failed, having taken down " +
                      std::to_string(TicketBook::kDeathLimit) + " workers each");
  }
}

void TicketDesk::say_goodbye() {
  for (const auto& [name, peer] : peers_) socket_->send(name, encode(Goodbye{}));
  joined_->say_goodbye();
}

std::vector<std::string> TicketDesk::take_events() {
  return std::exchange(events_, {});
}

}  // namespace doppler
