#include <algorithm>
#include <utility>

#include "learner/batch_source.h"

namespace doppler {

SynchronousBatches::SynchronousBatches(const BatchSetup& setup, const Schedule& schedule,
                                       TicketBook& book)
    : setup_(setup), schedule_(&schedule), book_(&book), next_batch_(setup.update + 1) {}

void SynchronousBatches::open(std::uint64_t update, double elapsed_seconds) {
  const auto depth = static_cast<std::uint64_t>(setup_.learner.pipeline_depth);
  while (next_batch_ <= update + 1 + depth) {
    const auto point = schedule_->at(next_batch_, elapsed_seconds);
    if (!point) return;
    BatchOrder order;
    order.batch = next_batch_;
    order.stage = point->stage;
    // A checkpoint of another mode or depth may hold fewer versions.
    order.weight_version =
        std::max(next_batch_ > 1 + depth ? next_batch_ - 1 - depth : 0, setup_.oldest_version);
    order.lineage = setup_.lineage;
    order.episodes = static_cast<std::uint32_t>(setup_.learner.batch_episodes);
    order.group_episodes = static_cast<std::uint32_t>(setup_.learner.group_episodes);
    order.graph_count = setup_.graph_count;
    const auto every = static_cast<std::uint64_t>(setup_.learner.evaluate_every_updates);
    order.evaluate = every > 0 && next_batch_ % every == 0;
    order.epsilon = setup_.epsilon;
    if (setup_.learner.gradients == GradientSource::kWorkers) {
      order.gradient = {.episode_weight = 1.0F / static_cast<float>(setup_.learner.batch_episodes),
                        .entropy_weight = static_cast<float>(point->entropy_weight),
                        .transfer_weight = point->transfer_weight,
                        .clip_ratio = static_cast<float>(setup_.learner.clip_ratio),
                        .teacher = setup_.teacher};
    }
    add_measuring_orders(setup_, order);
    book_->open(order);
    stages_[next_batch_] = point->stage;
    ++next_batch_;
  }
}

std::optional<ReadyBatch> SynchronousBatches::take(std::uint64_t update) {
  const auto next = stages_.find(update + 1);
  if (next == stages_.end() || !book_->complete(update + 1)) return std::nullopt;
  ReadyBatch ready{next->second, book_->close(update + 1)};
  stages_.erase(next);
  return ready;
}

void add_measuring_orders(BatchSetup& setup, BatchOrder& order) {
  if (order.stage != Stage::kReal || !setup.measure_first) return;
  order.measure = std::exchange(setup.measure_first, {})();
}

std::unique_ptr<BatchSource> make_batch_source(const BatchSetup& setup, const Schedule& schedule,
                                               TicketBook& book) {
  if (setup.learner.mode == TrainingMode::kAsynchronous) {
    return std::make_unique<AsynchronousBatches>(setup, schedule, book);
  }
  return std::make_unique<SynchronousBatches>(setup, schedule, book);
}

}  // namespace doppler
