// BatchSource: which tickets are open, and what the next update trains on. The two modes of a run
// differ here and nowhere else in the learner's loop.
//
// Times are seconds of training, updates count from 1; `update` is how many are done, which is also
// the newest weight version. Not thread-safe.
#ifndef DOPPLER_LEARNER_BATCH_SOURCE_H_
#define DOPPLER_LEARNER_BATCH_SOURCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/config.h"
#include "learner/schedule.h"
#include "learner/ticket_book.h"

namespace doppler {

struct ReadyBatch {
  Stage stage = Stage::kSimulation;
  std::vector<ClosedTicket> tickets;  // to train on, and evaluations that came in meanwhile
};

// What both modes need to know. Schedule and book must outlive the source.
struct BatchSetup {
  LearnerConfig learner;
  Teacher teacher = Teacher::kCriticalPath;
  double epsilon = 0;
  std::uint32_t graph_count = 1;
  std::uint32_t lineage = 0;
  std::uint64_t update = 0;          // done when this life of the run begins
  std::uint64_t oldest_version = 0;  // that is at hand then
  // What is to be measured before anything else in the real stage; asked once, when its first batch
  // is opened. Null: nothing.
  std::function<std::vector<MeasuringOrder>()> measure_first;
};

// Takes `setup.measure_first` for the first order of the real stage.
void add_measuring_orders(BatchSetup& setup, BatchOrder& order);

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Opens what may be played now that `update` updates are done.
  virtual void open(std::uint64_t update, double elapsed_seconds) = 0;
  // After open(): the budget is used, and every update that it allows is done.
  virtual bool finished() const = 0;
  // The batch of the next update, once it is there.
  virtual std::optional<ReadyBatch> take(std::uint64_t update) = 0;
  // Tickets whose results came too late to be trained on, since the last call; counted already.
  virtual std::vector<ClosedTicket> take_stale() = 0;
  // A number for a batch that somebody else opens in the same book.
  virtual std::uint64_t free_batch_number() const = 0;
};

// Batch k is played with version k - 1 - pipeline_depth and trained whole, in ticket order.
class SynchronousBatches final : public BatchSource {
 public:
  SynchronousBatches(const BatchSetup& setup, const Schedule& schedule, TicketBook& book);
  void open(std::uint64_t update, double elapsed_seconds) override;
  bool finished() const override { return stages_.empty(); }
  std::optional<ReadyBatch> take(std::uint64_t update) override;
  std::vector<ClosedTicket> take_stale() override { return {}; }
  std::uint64_t free_batch_number() const override { return next_batch_; }

 private:
  BatchSetup setup_;
  const Schedule* schedule_;
  TicketBook* book_;
  std::uint64_t next_batch_;
  std::map<std::uint64_t, Stage> stages_;  // of the open batches
};

// Workers play with the newest weights; an update trains on what came in first. At most
// (max_staleness + 1) batches are out, played or waiting: a ticket more could only be trained more
// than max_staleness versions after it was played (admission). A result that lies further behind
// nevertheless, because its worker was slow, is dropped and another ticket opened in its place.
class AsynchronousBatches final : public BatchSource {
 public:
  AsynchronousBatches(const BatchSetup& setup, const Schedule& schedule, TicketBook& book);
  void open(std::uint64_t update, double elapsed_seconds) override;
  bool finished() const override { return stages_.empty(); }
  std::optional<ReadyBatch> take(std::uint64_t update) override;
  std::vector<ClosedTicket> take_stale() override;
  std::uint64_t free_batch_number() const override { return next_number_; }

  // Episodes of that stage that were opened and neither trained nor dropped.
  std::uint64_t outstanding(Stage stage) const;

 private:
  void take_in(std::uint64_t update);
  void drop_stale(std::uint64_t update);
  void open_tickets(Stage stage, std::uint64_t episodes, bool evaluate, std::uint64_t version);

  BatchSetup setup_;
  const Schedule* schedule_;
  TicketBook* book_;
  std::uint64_t next_update_;                   // whose stage is not fixed yet
  std::uint64_t next_number_;                   // of an opening in the book
  std::map<std::uint64_t, Stage> stages_;       // of the next updates, from the next one on
  std::map<Stage, std::uint64_t> outstanding_;  // episodes
  std::vector<ClosedTicket> arrived_;           // to train on, in the order of arrival
  std::vector<ClosedTicket> evaluations_;
  std::vector<ClosedTicket> stale_;
};

std::unique_ptr<BatchSource> make_batch_source(const BatchSetup& setup, const Schedule& schedule,
                                               TicketBook& book);

}  // namespace doppler

#endif  // DOPPLER_LEARNER_BATCH_SOURCE_H_
