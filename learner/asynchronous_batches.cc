#include <algorithm>
#include <iterator>
#include <utility>

#include "learner/batch_source.h"

namespace doppler {

AsynchronousBatches::AsynchronousBatches(const BatchSetup& setup, const Schedule& schedule,
                                         TicketBook& book)
    : setup_(setup),
      schedule_(&schedule),
      book_(&book),
      next_update_(setup.update + 1),
      next_number_(setup.update + 1) {}

std::uint64_t AsynchronousBatches::outstanding(Stage stage) const {
  const auto found = outstanding_.find(stage);
  return found == outstanding_.end() ? 0 : found->second;
}

void AsynchronousBatches::open(std::uint64_t update, double elapsed_seconds) {
  const auto staleness = static_cast<std::uint64_t>(setup_.learner.max_staleness);
  const auto every = static_cast<std::uint64_t>(setup_.learner.evaluate_every_updates);
  bool evaluate = false;
  for (; next_update_ <= update + 1 + staleness; ++next_update_) {
    const auto point = schedule_->at(next_update_, elapsed_seconds);
    if (!point) break;
    stages_[next_update_] = point->stage;
    evaluate = evaluate || (every > 0 && next_update_ % every == 0);
  }
  // As many episodes of each stage as the updates within reach will train on; what was dropped is
  // opened again in the same way.
  std::map<Stage, std::uint64_t> needed;
  for (const auto& [number, stage] : stages_) {
    needed[stage] += static_cast<std::uint64_t>(setup_.learner.batch_episodes);
  }
  for (const auto& [stage, episodes] : needed) {
    const std::uint64_t there = outstanding(stage);
    if (episodes <= there && !evaluate) continue;
    open_tickets(stage, episodes > there ? episodes - there : 0, evaluate, update);
    evaluate = false;
  }
}

void AsynchronousBatches::open_tickets(Stage stage, std::uint64_t episodes, bool evaluate,
                                       std::uint64_t version) {
  BatchOrder order;
  order.batch = next_number_++;
  order.stage = stage;
  order.weight_version = version;
  order.newest = true;
  order.lineage = setup_.lineage;
  order.episodes = static_cast<std::uint32_t>(episodes);
  order.group_episodes = static_cast<std::uint32_t>(setup_.learner.group_episodes);
  order.graph_count = setup_.graph_count;
  order.evaluate = evaluate;
  order.epsilon = setup_.epsilon;
  add_measuring_orders(setup_, order);
  book_->open(order);
  outstanding_[stage] += episodes;
}

void AsynchronousBatches::take_in(std::uint64_t update) {
  for (ClosedTicket& closed : book_->take_done()) {
    if (closed.ticket.purpose != TicketPurpose::kTrain) {
      evaluations_.push_back(std::move(closed));
    } else if (closed.trajectories.empty()) {
      outstanding_[closed.ticket.stage] -= closed.ticket.count;  // failed, and counted
    } else if (closed.trajectories.front().weight_version > update) {
      // Of a version that there is not yet: whoever says so cannot be trusted.
      book_->count(TrajectoryStatus::kDroppedInvalid, closed.ticket.count);
      outstanding_[closed.ticket.stage] -= closed.ticket.count;
    } else {
      arrived_.push_back(std::move(closed));
    }
  }
}

void AsynchronousBatches::drop_stale(std::uint64_t update) {
  const auto staleness = static_cast<std::uint64_t>(setup_.learner.max_staleness);
  const auto stale =
      std::stable_partition(arrived_.begin(), arrived_.end(), [&](const ClosedTicket& closed) {
        return closed.trajectories.front().weight_version + staleness >= update;
      });
  for (auto closed = stale; closed != arrived_.end(); ++closed) {
    book_->count(TrajectoryStatus::kDroppedStale, closed->ticket.count);
    outstanding_[closed->ticket.stage] -= closed->ticket.count;
    stale_.push_back(std::move(*closed));
  }
  arrived_.erase(stale, arrived_.end());
}

std::optional<ReadyBatch> AsynchronousBatches::take(std::uint64_t update) {
  take_in(update);
  drop_stale(update);
  const auto next = stages_.find(update + 1);
  if (next == stages_.end()) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(setup_.learner.batch_episodes);
  std::uint64_t there = 0;
  for (const ClosedTicket& closed : arrived_) {
    if (closed.ticket.stage == next->second) there += closed.ticket.count;
  }
  if (there < wanted) return std::nullopt;
  ReadyBatch ready;
  ready.stage = next->second;
  std::uint64_t taken = 0;
  std::vector<ClosedTicket> rest;
  for (ClosedTicket& closed : arrived_) {
    const bool fits = closed.ticket.stage == ready.stage && taken < wanted;
    if (fits) taken += closed.ticket.count;
    (fits ? ready.tickets : rest).push_back(std::move(closed));
  }
  arrived_ = std::move(rest);
  outstanding_[ready.stage] -= taken;
  stages_.erase(next);
  std::move(evaluations_.begin(), evaluations_.end(), std::back_inserter(ready.tickets));
  evaluations_.clear();
  return ready;
}

std::vector<ClosedTicket> AsynchronousBatches::take_stale() {
  return std::exchange(stale_, {});
}

}  // namespace doppler
