// TicketDesk: the learner's conversation with its workers. Welcomes them, hands out tickets within
// their credit, takes results into the book, and issues again what a vanished worker held. Whatever
// arrives, it never throws because of it. Not thread-safe; lives in the learner's loop.
#ifndef DOPPLER_LEARNER_TICKET_DESK_H_
#define DOPPLER_LEARNER_TICKET_DESK_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/channel.h"
#include "common/message.h"
#include "learner/joined_hosts.h"
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

// A host by what its workers tell.
struct HostActivity {
  std::uint32_t host = 0;
  std::string machine;
  std::size_t workers = 0;     // that take tickets
  std::uint64_t episodes = 0;  // returned in this life of the run, all purposes
  std::uint64_t restarts = 0;  // of its workers
};

class TicketDesk {
 public:
  // All must outlive it. `welcome`: what every worker is told; its worker number is filled in.
  // `joined`: the hosts that join over the same socket.
  TicketDesk(LearnerSocket& socket, TicketBook& book, Welcome welcome, std::uint64_t run_token,
             JoinedHosts& joined);

  // Waits up to `timeout` for a message, then takes all that are there and hands out what can be.
  void poll(std::chrono::milliseconds timeout);
  // Tells every worker to exit.
  void say_goodbye();

  std::size_t worker_count() const { return peers_.size(); }
  const DeskCounters& counters() const { return counters_; }
  std::vector<HostActivity> hosts() const;
  // What should stand in the log, a line each; empties the list.
  std::vector<std::string> take_events();

 private:
  struct Peer {
    std::uint32_t host = 0;
    std::uint32_t worker = 0;
    std::uint32_t incarnation = 0;
    std::uint32_t credit = 0;     // tickets it would take now
    BookClock::time_point heard;  // its newest message
    bool suspended = false;  // it cannot be reached or its host is silent; until it says something
  };
  void handle(IncomingMessage message);
  void greet(const std::string& name, const Hello& hello);
  void hand_out();
  bool may_play(const Peer& peer, const Ticket& ticket) const;
  void check_leases(BookClock::time_point now);
  void give_up(const MissingHost& host);
  void hear(std::uint32_t host);
  void forget(const std::string& name, const char* why);

  LearnerSocket* socket_;
  TicketBook* book_;
  Welcome welcome_;
  std::uint64_t run_token_;
  JoinedHosts* joined_;
  TicketLease lease_;
  std::map<std::string, Peer> peers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      worker_numbers_;  // (host, worker)
  std::set<std::uint32_t> silent_hosts_;
  std::map<std::uint32_t, HostActivity> activity_;  // by host; workers are counted when asked
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> incarnations_;  // the newest
  std::string next_peer_;  // where handing out goes on, so that all get their turn
  BookClock::time_point next_lease_check_;
  DeskCounters counters_;
  std::vector<std::string> events_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TICKET_DESK_H_
