#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "common/random.h"
#include "learner/batch_source.h"

namespace doppler {
namespace {

constexpr std::uint64_t kSeed = 5;
const BookClock::time_point kNow = BookClock::time_point() + std::chrono::hours(1);

// Batches of 4 episodes in tickets of 2; a stage of imitation of 3 updates, then 7 of simulation.
class AsynchronousBatchesTest : public ::testing::Test {
 protected:
  AsynchronousBatchesTest() {
    setup_.learner.mode = TrainingMode::kAsynchronous;
    setup_.learner.batch_episodes = 4;
    setup_.learner.group_episodes = 2;
    setup_.learner.max_staleness = 2;
    setup_.learner.evaluate_every_updates = 0;
    stages_.imitation.episodes = 12;
    stages_.simulation.episodes = 28;
  }

  void begin() {
    schedule_ = std::make_unique<Schedule>(stages_, setup_.learner, 0);
    book_ = std::make_unique<TicketBook>(kSeed, 0, 0, EpisodeCounts{});
    batches_ = std::make_unique<AsynchronousBatches>(setup_, *schedule_, *book_);
    batches_->open(0, 0);
  }
  std::vector<Ticket> issue_all() {
    std::vector<Ticket> tickets;
    while (auto ticket = book_->issue("w", kNow)) tickets.push_back(*ticket);
    return tickets;
  }
  ResultOutcome answer(const Ticket& ticket, std::uint64_t version) {
    Result result;
    result.ticket = ticket.id;
    for (std::uint32_t i = 0; i < ticket.count; ++i) {
      Trajectory& trajectory = result.trajectories.emplace_back();
      trajectory.episode = ticket.first_episode + i;
      trajectory.ticket = ticket.id;
      trajectory.graph = ticket.graph;
      trajectory.stage = ticket.stage;
      trajectory.weight_version = version;
      trajectory.lineage = ticket.lineage;
      trajectory.seed = episode_seed(kSeed, trajectory.episode);
    }
    return book_->accept(std::move(result));
  }
  void count_trained(const ReadyBatch& ready) {
    for (const ClosedTicket& closed : ready.tickets) {
      if (closed.ticket.purpose != TicketPurpose::kTrain) continue;
      book_->count(TrajectoryStatus::kTrained, closed.trajectories.size());
    }
    book_->check_identity();
  }

  BatchSetup setup_;
  StagesConfig stages_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<TicketBook> book_;
  std::unique_ptr<AsynchronousBatches> batches_;
};

// Staleness 2: the updates 1, 2 and 3 are within reach, 3 batches of 4 episodes.
TEST_F(AsynchronousBatchesTest, OpensNoTicketThatCouldOnlyBeTrainedTooLate) {
  begin();
  EXPECT_EQ(book_->counts().outstanding, 12U);
  const auto tickets = issue_all();
  ASSERT_EQ(tickets.size(), 6U);
  EXPECT_TRUE(tickets[0].newest);
  batches_->open(0, 0);
  EXPECT_EQ(book_->counts().opened, 12U) << "nothing was trained, so nothing more may be out";
  // One batch trained: one more within reach.
  answer(tickets[0], 0);
  answer(tickets[1], 0);
  auto ready = batches_->take(0);
  ASSERT_TRUE(ready);
  count_trained(*ready);
  batches_->open(1, 0);
  EXPECT_EQ(book_->counts().outstanding, 12U);
  EXPECT_EQ(issue_all()[0].weight_version, 1U);
}

TEST_F(AsynchronousBatchesTest, TrainsOnWhatComesFirst) {
  begin();
  const auto tickets = issue_all();
  answer(tickets[5], 0);
  EXPECT_FALSE(batches_->take(0)) << "2 of 4 episodes";
  answer(tickets[2], 0);
  const auto ready = batches_->take(0);
  ASSERT_TRUE(ready);
  ASSERT_EQ(ready->tickets.size(), 2U);
  EXPECT_EQ(ready->tickets[0].ticket.id, 5U);
  EXPECT_EQ(ready->tickets[1].ticket.id, 2U);
  EXPECT_FALSE(batches_->take(1));
}

// A result of version 0 may still train update 3 (which begins with version 2), and update 4 not.
TEST_F(AsynchronousBatchesTest, DropsWhatIsTooOldAndOpensAnotherTicketForIt) {
  stages_.imitation.episodes = 40;
  begin();
  auto tickets = issue_all();
  const Ticket slow = tickets.front();
  std::deque<Ticket> rest(tickets.begin() + 1, tickets.end());
  for (std::uint64_t update = 0; update < 3; ++update) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(answer(rest.front(), update), ResultOutcome::kAccepted);
      rest.pop_front();
    }
    const auto ready = batches_->take(update);
    ASSERT_TRUE(ready);
    count_trained(*ready);
    batches_->open(update + 1, 0);
    for (const Ticket& ticket : issue_all()) rest.push_back(ticket);
  }
  const std::uint64_t opened = book_->counts().opened;
  EXPECT_EQ(answer(slow, 0), ResultOutcome::kAccepted);
  EXPECT_FALSE(batches_->take(3));
  EXPECT_EQ(book_->counts().dropped_stale, 2U);
  const auto stale = batches_->take_stale();
  ASSERT_EQ(stale.size(), 1U);
  EXPECT_EQ(stale[0].ticket.id, slow.id);
  EXPECT_TRUE(batches_->take_stale().empty());
  batches_->open(3, 0);
  EXPECT_EQ(book_->counts().opened, opened + 2);
  const auto replacement = issue_all();
  ASSERT_EQ(replacement.size(), 1U);
  EXPECT_EQ(replacement[0].stage, slow.stage) << "the stage that lost it is the one to get it";
  book_->check_identity();
}

TEST_F(AsynchronousBatchesTest, DoesNotTrustAVersionThatThereIsNotYet) {
  begin();
  const auto tickets = issue_all();
  EXPECT_EQ(answer(tickets[0], 1), ResultOutcome::kAccepted);
  EXPECT_FALSE(batches_->take(0));
  EXPECT_EQ(book_->counts().dropped_invalid, 2U);
}

// Imitation is 3 updates: with staleness 2 all of it is open at once, and nothing of simulation.
TEST_F(AsynchronousBatchesTest, KeepsTheStagesApart) {
  begin();
  EXPECT_EQ(batches_->outstanding(Stage::kImitation), 12U);
  EXPECT_EQ(batches_->outstanding(Stage::kSimulation), 0U);
  const auto first = issue_all();
  answer(first[0], 0);
  answer(first[1], 0);
  count_trained(*batches_->take(0));
  batches_->open(1, 0);
  EXPECT_EQ(batches_->outstanding(Stage::kSimulation), 4U);
  // The simulation's results are there first and wait for their stage.
  for (const Ticket& ticket : issue_all()) answer(ticket, 1);
  EXPECT_FALSE(batches_->take(1));
  for (std::size_t i = 2; i < 6; ++i) answer(first[i], 0);
  for (std::uint64_t update = 1; update < 3; ++update) {
    const auto ready = batches_->take(update);
    ASSERT_TRUE(ready);
    EXPECT_EQ(ready->stage, Stage::kImitation);
    count_trained(*ready);
  }
  const auto ready = batches_->take(3);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->stage, Stage::kSimulation);
}

TEST_F(AsynchronousBatchesTest, EvaluationsComeAlongWithTheNextBatch) {
  setup_.learner.evaluate_every_updates = 2;
  begin();
  const auto tickets = issue_all();
  ASSERT_EQ(tickets.back().purpose, TicketPurpose::kEvaluate);
  answer(tickets.back(), 0);
  answer(tickets[0], 0);
  answer(tickets[1], 0);
  const auto ready = batches_->take(0);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->tickets.size(), 3U);
  EXPECT_TRUE(ready->tickets.back().ticket.greedy);
}

// A real stage of 2 updates behind the others: its first order brings the placements, no other
// does.
TEST_F(AsynchronousBatchesTest, PlacementsAreMeasuredWhereTheRealStageBegins) {
  stages_.real.enabled = true;
  stages_.real.episodes = 8;
  int asked = 0;
  setup_.measure_first = [&] {
    ++asked;
    return std::vector<MeasuringOrder>{
        {0, {"heft", {{OperationId(0)}, Assignment(1, DeviceId(0))}}}};
  };
  begin();
  std::vector<Ticket> measuring;
  std::uint64_t update = 0;
  for (; !batches_->finished(); ++update) {
    for (const Ticket& ticket : issue_all()) {
      if (ticket.purpose == TicketPurpose::kMeasure) {
        measuring.push_back(ticket);
      } else {
        answer(ticket, update);
      }
    }
    const auto ready = batches_->take(update);
    ASSERT_TRUE(ready);
    count_trained(*ready);
    batches_->open(update + 1, 0);
  }
  EXPECT_EQ(update, 12U);  // 3 + 7 + 2
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(measuring.size(), 1U);
  EXPECT_EQ(measuring[0].stage, Stage::kReal);
}

// Random delays, deaths and duplicates over whole runs, with one to three graphs: every update gets
// its batch, nothing too old is trained on, never too much is out, and in the end nothing is left.
TEST_F(AsynchronousBatchesTest, EndsWithBalancedBooksUnderRandomTrouble) {
  bool was_stale = false;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed);
    setup_.graph_count = 1 + static_cast<std::uint32_t>(seed % 3);
    setup_.learner.max_staleness = static_cast<std::int64_t>(seed % 4);
    const auto staleness = static_cast<std::uint64_t>(setup_.learner.max_staleness);
    begin();
    std::uint64_t update = 0;
    std::vector<std::pair<Ticket, std::uint64_t>> held;  // with the version that played it
    while (true) {
      batches_->open(update, 0);
      if (batches_->finished()) break;
      const std::string peer(1, static_cast<char>('a' + random.next_below(4)));
      switch (random.next_below(8)) {
        case 0:
          if (random.next_below(8) == 0) book_->release(peer);
          break;
        case 1:
          if (random.next_below(8) == 0) {
            book_->release_issued_before(kNow + std::chrono::seconds(1));
          }
          break;
        case 2:
        case 3:
        case 4:
          if (auto ticket = book_->issue(peer, kNow)) held.emplace_back(*ticket, update);
          break;
        default:
          if (!held.empty()) {
            const auto& [ticket, version] = held[random.next_below(held.size())];
            answer(ticket, version);
          }
      }
      ASSERT_LE(book_->counts().outstanding, 4 * (staleness + 1));
      if (auto ready = batches_->take(update)) {
        std::size_t episodes = 0;
        for (const ClosedTicket& closed : ready->tickets) {
          episodes += closed.trajectories.size();
          ASSERT_GE(closed.trajectories.front().weight_version + staleness, update);
        }
        ASSERT_GE(episodes, 4U);
        ASSERT_EQ(ready->stage, update < 3 ? Stage::kImitation : Stage::kSimulation);
        count_trained(*ready);
        ++update;
      }
    }
    EXPECT_EQ(update, 10U);
    EXPECT_EQ(book_->counts().outstanding, 0U);
    book_->check_identity();
    was_stale = was_stale || book_->counts().dropped_stale > 0;
  }
  EXPECT_TRUE(was_stale);
}

}  // namespace
}  // namespace doppler
