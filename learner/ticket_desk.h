// TicketDesk: the learner's conversation with its workers. Welcomes them, hands out tickets within
// their credit, takes results into the book, and issues again what a vanished worker held. Whatever
// arrives, it never throws because of it. Not thread-safe; lives in the learner's loop.
#ifndef DOPPLER_LEARNER_TICKET_DESK_H_
#define DOPPLER_LEARNER_TICKET_DESK_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/channel.h"
#include "common/message.h"
#include "learner/ticket_book.h"
#include "learner/ticket_lease.h"

namespace doppler {

struct DeskCounters {
  std::uint64_t welcomed = 0;
  std::uint64_t refused = 0;
  std::uint64_t results = 0;
  std::uint64_t late_results = 0;  // for tickets closed already
  std::uint64_t mismatched_results = 0;
  std::uint64_t garbled_messages = 0;
};

class TicketDesk {
 public:
  // All must outlive it. `welcome`: what every worker is told; its worker number is filled in.
  TicketDesk(LearnerSocket& socket, TicketBook& book, Welcome welcome, std::uint64_t run_token);

  // Waits up to `timeout` for a message, then takes all that are there and hands out what can be.
  void poll(std::chrono::milliseconds timeout);
  // Tells every worker to exit.
  void say_goodbye();

  std::size_t worker_count() const { return peers_.size(); }
  const DeskCounters& counters() const { return counters_; }
  // What should stand in the log, a line each; empties the list.
  std::vector<std::string> take_events();

 private:
  struct Peer {
    std::uint32_t host = 0;
    std::uint32_t worker = 0;
    std::uint32_t incarnation = 0;
    std::uint32_t credit = 0;  // tickets it would take now
  };
  void handle(IncomingMessage message);
  void greet(const std::string& name, const Hello& hello);
  void hand_out();
  bool may_play(const Peer& peer, const Ticket& ticket) const;
  void forget(const std::string& name, const char* why);

  LearnerSocket* socket_;
  TicketBook* book_;
  Welcome welcome_;
  std::uint64_t run_token_;
  TicketLease lease_;
  std::map<std::string, Peer> peers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      worker_numbers_;     // (host, worker)
  std::string next_peer_;  // where handing out goes on, so that all get their turn
  BookClock::time_point next_lease_check_;
  DeskCounters counters_;
  std::vector<std::string> events_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TICKET_DESK_H_
