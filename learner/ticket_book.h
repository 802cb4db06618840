// TicketBook: the learner's books. Work is handed out as tickets, a batch closes when all of its
// tickets have, and every episode that was opened ends in exactly one way:
//   opened = trained + dropped (stale, invalid, lineage) + failed + discarded at resume +
//   outstanding.
// In synchronous mode a batch is closed whole, in ticket order; in asynchronous mode its tickets
// are taken one by one as they come in.
//
// Pure bookkeeping: no sockets, no clock of its own. Not thread-safe.
#ifndef DOPPLER_LEARNER_TICKET_BOOK_H_
#define DOPPLER_LEARNER_TICKET_BOOK_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/message.h"
#include "learner/checkpoint.h"

namespace doppler {

using BookClock = std::chrono::steady_clock;

// A placement to be carried out as it is.
struct MeasuringOrder {
  std::uint32_t graph = 0;
  NamedPlan placement;
};

// What a batch is opened with.
struct BatchOrder {
  std::uint64_t batch = 0;  // the update that will train on it
  Stage stage = Stage::kSimulation;
  std::uint64_t weight_version = 0;  // that plays it
  bool newest = false;               // or a newer one
  std::uint32_t lineage = 0;
  std::uint32_t episodes = 0;        // to train on, spread evenly over the graphs
  std::uint32_t group_episodes = 0;  // per ticket
  std::uint32_t graph_count = 1;
  bool evaluate = false;  // besides, one greedy episode per graph
  double epsilon = 0;
  std::optional<GradientOrder> gradient;  // that workers are to bring with what is trained on
  // Besides, and first of all: placements that are carried out, an episode each.
  std::vector<MeasuringOrder> measure;
};

struct ClosedTicket {
  Ticket ticket;
  std::vector<Trajectory> trajectories;   // empty: the ticket failed
  std::optional<GroupGradient> gradient;  // where the order asked for it
};

// What became of the tickets of a worker that died.
struct ReleasedTickets {
  std::size_t reissued = 0;
  std::size_t failed = 0;
};

enum class ResultOutcome {
  kAccepted,
  kClosedAlready,  // another attempt was faster, or the ticket is of an earlier life of the run
  kMismatch,       // does not say what its ticket asked for
};

class TicketBook {
 public:
  // A ticket that took down this many workers fails; its batch closes without it.
  static constexpr std::uint32_t kDeathLimit = 3;

  TicketBook(std::uint64_t run_seed, std::uint64_t next_ticket, std::uint64_t next_episode,
             const EpisodeCounts& counts);

  void open(const BatchOrder& order);

  // The next ticket to be played: those that came back first, then by id. nullopt: none waits.
  std::optional<Ticket> issue(const std::string& peer, BookClock::time_point now);
  ResultOutcome accept(Result result);
  // The ticket never reached its peer: it is issued again, as the same attempt.
  void put_back(std::uint64_t ticket);
  // The peer died: its tickets are issued again, and each remembers the death, also those that
  // somebody else has got since; those that took down too many fail.
  ReleasedTickets release(const std::string& peer);
  // The peer has left: what it holds is issued again, which is nobody's death. Returns how many.
  std::size_t take_back(const std::string& peer);
  // Nothing is heard of the peer: what it holds is issued again, and is its death's cause if it
  // turns out to be dead (release()). Returns how many.
  std::size_t withdraw(const std::string& peer);
  // When the newest attempt of a ticket that is open was issued; nullopt: it waits, or is done.
  std::optional<BookClock::time_point> issued_at(std::uint64_t ticket) const;
  // Every ticket that was issued before `deadline` is issued again; that is nobody's death. Returns
  // how many.
  std::size_t release_issued_before(BookClock::time_point deadline);

  bool complete(std::uint64_t batch) const;
  // The tickets of a complete batch by id; it is no longer open then. Failed tickets are counted;
  // the caller says of the episodes of the others how they ended, with count().
  std::vector<ClosedTicket> close(std::uint64_t batch);
  // Asynchronous mode: tickets that were done since the last call, in the order in which they were;
  // failed ones, counted, among them.
  std::vector<ClosedTicket> take_done();
  void count(TrajectoryStatus status, std::uint64_t episodes);

  // What a resumed run starts from: first ticket and first episode of the oldest open batch, or the
  // next ones. In asynchronous mode always the next ones, since later tickets may be done.
  std::uint64_t resume_ticket() const;
  std::uint64_t resume_episode() const;
  std::size_t open_batches() const { return batches_.size(); }
  std::size_t waiting_tickets() const { return waiting_.size(); }
  // The one that issue() would give out; there must be one.
  const Ticket& next_waiting() const { return entries_.at(waiting_.front()).ticket; }
  const EpisodeCounts& counts() const { return counts_; }
  std::uint64_t reissued() const { return reissued_; }
  // Throws SystemError when the identity above does not hold: a bug, and figures that cannot be
  // trusted.
  void check_identity() const;

 private:
  struct Entry {
    Ticket ticket;
    bool issued = false;
    bool done = false;
    bool failed = false;
    std::uint32_t deaths = 0;          // of workers that held it
    std::string peer;                  // that has the newest attempt
    std::vector<std::string> holders;  // all that have an attempt, as far as is known
    BookClock::time_point issued_at;
    std::vector<Trajectory> trajectories;
    std::optional<GroupGradient> gradient;
  };
  struct Batch {
    std::uint64_t first_ticket = 0;
    std::uint64_t first_episode = 0;
    std::uint64_t open_tickets = 0;
    bool newest = false;
  };
  void add_ticket(Ticket ticket);
  bool matches(const Ticket& ticket, const Result& result) const;
  void reissue(Entry& entry);
  void finish(Entry& entry);
  ClosedTicket take(Entry& entry);
  const Batch* oldest_to_repeat() const;

  std::uint64_t run_seed_;
  std::uint64_t next_ticket_;
  std::uint64_t next_episode_;
  EpisodeCounts counts_;
  std::uint64_t reissued_ = 0;
  std::map<std::uint64_t, Batch> batches_;  // by number
  std::map<std::uint64_t, Entry> entries_;  // by ticket id
  std::deque<std::uint64_t> waiting_;       // ticket ids
  std::vector<std::uint64_t> done_;         // ids of tickets of asynchronous batches
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_TICKET_BOOK_H_
