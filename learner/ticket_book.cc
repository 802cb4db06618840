#include "learner/ticket_book.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/error.h"

namespace doppler {
namespace {

bool carries_out(const Trajectory& trajectory, const Plan& plan) {
  if (trajectory.operations != plan.order || trajectory.devices.size() != plan.order.size()) {
    return false;
  }
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    if (trajectory.devices[i] != plan.assignment[plan.order[i]]) return false;
  }
  return true;
}

}  // namespace

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
  const std::uint64_t id = ticket.id;
  entries_[id].ticket = std::move(ticket);
}

void TicketBook::open(const BatchOrder& order) {
  DP_CHECK(!batches_.contains(order.batch));
  batches_[order.batch] = {next_ticket_, next_episode_, 0, order.newest};
  Ticket ticket;
  ticket.batch = order.batch;
  ticket.stage = order.stage;
  ticket.weight_version = order.weight_version;
  ticket.newest = order.newest;
  ticket.lineage = order.lineage;
  for (const MeasuringOrder& measuring : order.measure) {
    Ticket other = ticket;
    other.purpose = TicketPurpose::kMeasure;
    other.graph = measuring.graph;
    other.placement = measuring.placement;
    other.count = 1;
    add_ticket(std::move(other));
  }
  ticket.epsilon = order.epsilon;
  ticket.gradient = order.gradient;
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
  ticket.gradient.reset();
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
  std::erase(entry.holders, peer);
  entry.holders.push_back(peer);
  entry.issued_at = now;
  return entry.ticket;
}

bool TicketBook::matches(const Ticket& ticket, const Result& result) const {
  if (result.trajectories.size() != ticket.count || ticket.count == 0) return false;
  if (result.gradient.has_value() != ticket.gradient.has_value()) return false;
  const std::uint64_t version = result.trajectories.front().weight_version;
  if (ticket.newest ? version < ticket.weight_version : version != ticket.weight_version) {
    return false;
  }
  for (std::uint32_t i = 0; i < ticket.count; ++i) {
    const Trajectory& trajectory = result.trajectories[i];
    const std::uint64_t episode = ticket.first_episode + i;
    if (trajectory.episode != episode || trajectory.ticket != ticket.id ||
        trajectory.graph != ticket.graph || trajectory.stage != ticket.stage ||
        trajectory.weight_version != version || trajectory.lineage != ticket.lineage ||
        trajectory.seed != episode_seed(run_seed_, episode)) {
      return false;
    }
    if (ticket.placement && !carries_out(trajectory, ticket.placement->plan)) return false;
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
  entry.trajectories = std::move(result.trajectories);
  entry.gradient = std::move(result.gradient);
  finish(entry);
  return ResultOutcome::kAccepted;
}

void TicketBook::finish(Entry& entry) {
  entry.done = true;
  Batch& batch = batches_.at(entry.ticket.batch);
  --batch.open_tickets;
  if (batch.newest) done_.push_back(entry.ticket.id);
}

void TicketBook::put_back(std::uint64_t ticket) {
  Entry& entry = entries_.at(ticket);
  entry.issued = false;
  std::erase(entry.holders, entry.peer);
  entry.peer.clear();
  waiting_.push_front(ticket);
}

void TicketBook::reissue(Entry& entry) {
  ++entry.ticket.attempt;
  ++reissued_;
  entry.issued = false;
  entry.peer.clear();
  waiting_.push_front(entry.ticket.id);
}

ReleasedTickets TicketBook::release(const std::string& peer) {
  ReleasedTickets released;
  for (auto& [id, entry] : entries_) {
    if (entry.done || std::erase(entry.holders, peer) == 0) continue;
    if (++entry.deaths < kDeathLimit) {
      if (!entry.issued || entry.peer != peer) continue;
      reissue(entry);
      ++released.reissued;
      continue;
    }
    if (!entry.issued) std::erase(waiting_, id);
    ++released.failed;
    entry.failed = true;
    finish(entry);
  }
  return released;
}

std::size_t TicketBook::withdraw(const std::string& peer) {
  std::size_t withdrawn = 0;
  for (auto& [id, entry] : entries_) {
    if (entry.done || !entry.issued || entry.peer != peer) continue;
    reissue(entry);
    ++withdrawn;
  }
  return withdrawn;
}

std::size_t TicketBook::take_back(const std::string& peer) {
  for (auto& [id, entry] : entries_) std::erase(entry.holders, peer);
  return withdraw(peer);
}

std::optional<BookClock::time_point> TicketBook::issued_at(std::uint64_t ticket) const {
  const auto at = entries_.find(ticket);
  if (at == entries_.end() || !at->second.issued || at->second.done) return std::nullopt;
  return at->second.issued_at;
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
    closed.push_back(take(at->second));
  }
  batches_.erase(batch);
  return closed;
}

ClosedTicket TicketBook::take(Entry& entry) {
  if (entry.failed && entry.ticket.purpose == TicketPurpose::kTrain) {
    count(TrajectoryStatus::kFailed, entry.ticket.count);
  }
  return {entry.ticket, std::move(entry.trajectories), std::move(entry.gradient)};
}

std::vector<ClosedTicket> TicketBook::take_done() {
  std::vector<ClosedTicket> closed;
  for (std::uint64_t id : std::exchange(done_, {})) {
    closed.push_back(take(entries_.at(id)));
    entries_.erase(id);
    const auto batch = batches_.find(closed.back().ticket.batch);
    if (batch != batches_.end() && batch->second.open_tickets == 0) batches_.erase(batch);
  }
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

const TicketBook::Batch* TicketBook::oldest_to_repeat() const {
  if (batches_.empty() || batches_.begin()->second.newest) return nullptr;
  return &batches_.begin()->second;
}

std::uint64_t TicketBook::resume_ticket() const {
  const Batch* oldest = oldest_to_repeat();
  return oldest == nullptr ? next_ticket_ : oldest->first_ticket;
}

std::uint64_t TicketBook::resume_episode() const {
  const Batch* oldest = oldest_to_repeat();
  return oldest == nullptr ? next_episode_ : oldest->first_episode;
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
