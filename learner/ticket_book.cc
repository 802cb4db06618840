#include "learner/ticket_book.h"

#include <algorithm>

#include "common/check.h"
#include "common/error.h"

namespace doppler {

TicketBook::TicketBook(std::uint64_t run_seed, std::uint64_t next_ticket,
                       std::uint64_t next_episode, const EpisodeCounts& counts)
    : run_seed_(run_seed),
      next_ticket_(next_ticket),
      next_episode_(next_episode),
      counts_(counts) {}

void TicketBook::add_ticket(Ticket ticket) {
  ticket.id = next_ticket_++;
  ticket.first_episode = next_episode_;
  next_episode_ += ticket.count;
  if (ticket.purpose == TicketPurpose::kTrain) {
    counts_.opened += ticket.count;
    counts_.outstanding += ticket.count;
  }
  ++batches_[ticket.batch].open_tickets;
  waiting_.push_back(ticket.id);
  entries_[ticket.id].ticket = ticket;
}

void TicketBook::open(const BatchOrder& order) {
  DP_CHECK(!batches_.contains(order.batch));
  batches_[order.batch] = {next_ticket_, next_episode_, 0};
  Ticket ticket;
  ticket.batch = order.batch;
  ticket.stage = order.stage;
  ticket.weight_version = order.weight_version;
  ticket.lineage = order.lineage;
  ticket.epsilon = order.epsilon;
  for (std::uint32_t graph = 0; graph < order.graph_count; ++graph) {
    // The first graphs take what does not divide evenly.
    std::uint32_t rest =
        order.episodes / order.graph_count + (graph < order.episodes % order.graph_count ? 1 : 0);
    ticket.graph = graph;
    while (rest > 0) {
      ticket.count = std::min(rest, order.group_episodes);
      rest -= ticket.count;
      add_ticket(ticket);
    }
  }
  if (!order.evaluate) return;
  ticket.purpose = TicketPurpose::kEvaluate;
  ticket.greedy = true;
  ticket.epsilon = 0;
  ticket.count = 1;
  for (std::uint32_t graph = 0; graph < order.graph_count; ++graph) {
    ticket.graph = graph;
    add_ticket(ticket);
  }
}

std::optional<Ticket> TicketBook::issue(const std::string& peer, BookClock::time_point now) {
  if (waiting_.empty()) return std::nullopt;
  Entry& entry = entries_.at(waiting_.front());
  waiting_.pop_front();
  entry.issued = true;
  entry.peer = peer;
  entry.issued_at = now;
  return entry.ticket;
}

bool TicketBook::matches(const Ticket& ticket, const Result& result) const {
  if (result.trajectories.size() != ticket.count) return false;
  for (std::uint32_t i = 0; i < ticket.count; ++i) {
    const Trajectory& trajectory = result.trajectories[i];
    const std::uint64_t episode = ticket.first_episode + i;
    if (trajectory.episode != episode || trajectory.ticket != ticket.id ||
        trajectory.graph != ticket.graph || trajectory.stage != ticket.stage ||
        trajectory.weight_version != ticket.weight_version ||
        trajectory.lineage != ticket.lineage ||
        trajectory.seed != episode_seed(run_seed_, episode)) {
      return false;
    }
  }
  return true;
}

ResultOutcome TicketBook::accept(Result result) {
  const auto at = entries_.find(result.ticket);
  if (at == entries_.end() || at->second.done) return ResultOutcome::kClosedAlready;
  Entry& entry = at->second;
  if (!matches(entry.ticket, result)) return ResultOutcome::kMismatch;
  // A slow attempt may come in after the ticket was put back to be issued again.
  if (!entry.issued) std::erase(waiting_, entry.ticket.id);
  entry.done = true;
  entry.trajectories = std::move(result.trajectories);
  --batches_.at(entry.ticket.batch).open_tickets;
  return ResultOutcome::kAccepted;
}

void TicketBook::put_back(std::uint64_t ticket) {
  Entry& entry = entries_.at(ticket);
  entry.issued = false;
  entry.peer.clear();
  waiting_.push_front(ticket);
}

void TicketBook::reissue(Entry& entry) {
  ++entry.ticket.attempt;
  ++reissued_;
  put_back(entry.ticket.id);
}

ReleasedTickets TicketBook::release(const std::string& peer) {
  ReleasedTickets released;
  for (auto& [id, entry] : entries_) {
    if (!entry.issued || entry.done || entry.peer != peer) continue;
    if (++entry.deaths < kDeathLimit) {
      reissue(entry);
      ++released.reissued;
      continue;
    }
    ++released.failed;
    entry.done = true;
    entry.failed = true;
    --batches_.at(entry.ticket.batch).open_tickets;
  }
  return released;
}

std::size_t TicketBook::release_issued_before(BookClock::time_point deadline) {
  std::size_t released = 0;
  for (auto& [id, entry] : entries_) {
    if (!entry.issued || entry.done || entry.issued_at >= deadline) continue;
    reissue(entry);
    ++released;
  }
  return released;
}

bool TicketBook::complete(std::uint64_t batch) const {
  const auto at = batches_.find(batch);
  return at != batches_.end() && at->second.open_tickets == 0;
}

std::vector<ClosedTicket> TicketBook::close(std::uint64_t batch) {
  DP_CHECK(complete(batch));
  std::vector<ClosedTicket> closed;
  for (auto at = entries_.find(batches_.at(batch).first_ticket);
       at != entries_.end() && at->second.ticket.batch == batch; at = entries_.erase(at)) {
    Entry& entry = at->second;
    if (entry.failed && entry.ticket.purpose == TicketPurpose::kTrain) {
      count(TrajectoryStatus::kFailed, entry.ticket.count);
    }
    closed.push_back({entry.ticket, std::move(entry.trajectories)});
  }
  batches_.erase(batch);
  return closed;
}

void TicketBook::count(TrajectoryStatus status, std::uint64_t episodes) {
  switch (status) {
    case TrajectoryStatus::kTrained:
      counts_.trained += episodes;
      break;
    case TrajectoryStatus::kDroppedStale:
      counts_.dropped_stale += episodes;
      break;
    case TrajectoryStatus::kDroppedInvalid:
      counts_.dropped_invalid += episodes;
      break;
    case TrajectoryStatus::kDroppedLineage:
      counts_.dropped_lineage += episodes;
      break;
    case TrajectoryStatus::kFailed:
      counts_.failed += episodes;
      break;
    case TrajectoryStatus::kEvaluated:
      return;  // never opened as training work
  }
  counts_.outstanding -= episodes;
}

std::uint64_t TicketBook::resume_ticket() const {
  return batches_.empty() ? next_ticket_ : batches_.begin()->second.first_ticket;
}

std::uint64_t TicketBook::resume_episode() const {
  return batches_.empty() ? next_episode_ : batches_.begin()->second.first_episode;
}

void TicketBook::check_identity() const {
  const std::uint64_t closed = counts_.trained + counts_.dropped_stale + counts_.dropped_invalid +
                               counts_.dropped_lineage + counts_.failed +
                               counts_.discarded_at_resume;
  if (counts_.opened == closed + counts_.outstanding) return;
  throw SystemError("the episode books do not balance: opened " + std::to_string(counts_.opened) +
                    ", closed " + std::to_string(closed) + ", outstanding " +
                    std::to_string(counts_.outstanding) + "; please report this as a bug");
}

}  // namespace doppler
