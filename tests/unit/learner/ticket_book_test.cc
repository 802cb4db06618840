#include "learner/ticket_book.h"

#include <gtest/gtest.h>

#include "common/random.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

constexpr std::uint64_t kSeed = 5;
const BookClock::time_point kNow = BookClock::time_point() + std::chrono::hours(1);

BatchOrder order(std::uint64_t batch, std::uint32_t episodes = 6, bool evaluate = false) {
  BatchOrder result;
  result.batch = batch;
  result.weight_version = batch - 1;
  result.episodes = episodes;
  result.group_episodes = 2;
  result.evaluate = evaluate;
  return result;
}

Result answer(const Ticket& ticket) {
  Result result;
  result.ticket = ticket.id;
  result.attempt = ticket.attempt;
  for (std::uint32_t i = 0; i < ticket.count; ++i) {
    Trajectory& trajectory = result.trajectories.emplace_back();
    trajectory.episode = ticket.first_episode + i;
    trajectory.ticket = ticket.id;
    trajectory.graph = ticket.graph;
    trajectory.stage = ticket.stage;
    trajectory.weight_version = ticket.weight_version;
    trajectory.lineage = ticket.lineage;
    trajectory.seed = episode_seed(kSeed, trajectory.episode);
  }
  return result;
}

std::vector<Ticket> issue_all(TicketBook& book, const std::string& peer) {
  std::vector<Ticket> tickets;
  while (auto ticket = book.issue(peer, kNow)) tickets.push_back(*ticket);
  return tickets;
}

// 7 episodes in groups of 2: tickets of 2, 2, 2, 1.
TEST(TicketBook, CutsABatchIntoGroups) {
  TicketBook book(kSeed, 100, 1000, {});
  book.open(order(1, 7));
  const auto tickets = issue_all(book, "w");
  ASSERT_EQ(tickets.size(), 4U);
  EXPECT_EQ(tickets[0].id, 100U);
  EXPECT_EQ(tickets[3].id, 103U);
  EXPECT_EQ(tickets[3].first_episode, 1006U);
  EXPECT_EQ(tickets[3].count, 1U);
  EXPECT_EQ(book.counts().opened, 7U);
  EXPECT_EQ(book.counts().outstanding, 7U);
}

// 5 episodes over 2 graphs: 3 of the first, 2 of the second.
TEST(TicketBook, SpreadsEpisodesOverGraphs) {
  TicketBook book(kSeed, 0, 0, {});
  BatchOrder two = order(1, 5);
  two.graph_count = 2;
  book.open(two);
  std::vector<std::uint32_t> episodes(2, 0);
  for (const Ticket& ticket : issue_all(book, "w")) episodes[ticket.graph] += ticket.count;
  EXPECT_EQ(episodes, (std::vector<std::uint32_t>{3, 2}));
}

TEST(TicketBook, ABatchClosesInTicketOrderWhateverTheOrderOfResults) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1));
  const auto tickets = issue_all(book, "w");
  for (std::size_t i : {2U, 0U, 1U}) {
    EXPECT_FALSE(book.complete(1));
    EXPECT_EQ(book.accept(answer(tickets[i])), ResultOutcome::kAccepted);
  }
  ASSERT_TRUE(book.complete(1));
  const auto closed = book.close(1);
  ASSERT_EQ(closed.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(closed[i].ticket.id, i);
  book.count(TrajectoryStatus::kTrained, 6);
  EXPECT_EQ(book.counts().outstanding, 0U);
  book.check_identity();
}

TEST(TicketBook, ADeadWorkersTicketsComeFirstAgain) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1));
  const Ticket lost = *book.issue("dies", kNow);
  EXPECT_EQ(book.release("dies").reissued, 1U);
  EXPECT_EQ(book.reissued(), 1U);
  const Ticket again = *book.issue("lives", kNow);
  EXPECT_EQ(again.id, lost.id);
  EXPECT_EQ(again.attempt, 1U);
}

TEST(TicketBook, ATicketThatKillsThreeWorkersFailsAndItsBatchClosesWithoutIt) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 4));
  for (const char* peer : {"a", "b", "c"}) {
    EXPECT_EQ(book.issue(peer, kNow)->id, 0U);
    book.release(peer);
  }
  const Ticket other = *book.issue("d", kNow);
  EXPECT_EQ(other.id, 1U);
  book.accept(answer(other));
  ASSERT_TRUE(book.complete(1));
  const auto closed = book.close(1);
  EXPECT_TRUE(closed[0].trajectories.empty());
  EXPECT_EQ(closed[1].trajectories.size(), 2U);
  EXPECT_EQ(book.counts().failed, 2U);
  book.count(TrajectoryStatus::kTrained, 2);
  book.check_identity();
}

// A lease that ran out absolves nobody: a ticket that hangs its workers wanders from one to the
// next, and they are ended later. Each death counts, and the ticket goes on to nobody after the
// third.
TEST(TicketBook, ATicketThatHangsWorkersFailsThoughOthersHaveItSince) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  for (const char* peer : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(book.issue(peer, kNow));
    ASSERT_EQ(book.release_issued_before(kNow + std::chrono::seconds(1)), 1U);
  }
  ASSERT_TRUE(book.issue("e", kNow));
  EXPECT_EQ(book.release("a").reissued, 0U) << "e has it";
  EXPECT_EQ(book.release("a").failed, 0U) << "a death counts once";
  EXPECT_EQ(book.release("b").failed, 0U);
  EXPECT_EQ(book.release("e").failed, 1U);
  EXPECT_FALSE(book.issue("f", kNow));
  EXPECT_TRUE(book.complete(1));
}

// A hung worker's lease may run out before it is ended; deaths of other attempts are remembered.
// Evaluation is no training work: its failure closes the batch and stands in no count.
TEST(TicketBook, BalancesFromTheFirstDeathToTheFailure) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 4, true));
  std::size_t failed = 0;
  for (int life = 0; life < 3; ++life) {
    ASSERT_EQ(issue_all(book, "hangs").size(), 3U);
    book.check_identity();
    if (life == 1) {
      EXPECT_EQ(book.release_issued_before(kNow + std::chrono::seconds(1)), 3U);
      ASSERT_EQ(issue_all(book, "hangs").size(), 3U);
    }
    EXPECT_FALSE(book.complete(1));
    failed += book.release("hangs").failed;
    book.check_identity();
  }
  EXPECT_EQ(failed, 3U);
  EXPECT_FALSE(book.issue("next", kNow));
  EXPECT_EQ(book.counts().outstanding, 4U);  // until the batch closes
  ASSERT_TRUE(book.complete(1));
  for (const ClosedTicket& ticket : book.close(1)) EXPECT_TRUE(ticket.trajectories.empty());
  EXPECT_EQ(book.counts().opened, 4U);
  EXPECT_EQ(book.counts().failed, 4U);
  EXPECT_EQ(book.counts().outstanding, 0U);
  book.check_identity();
}

TEST(TicketBook, ALeaseThatRunsOutIsNobodysDeath) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(book.issue("slow", kNow));
    EXPECT_EQ(book.release_issued_before(kNow), 0U);
    EXPECT_EQ(book.release_issued_before(kNow + std::chrono::seconds(1)), 1U);
  }
  EXPECT_FALSE(book.complete(1));
}

TEST(TicketBook, ALateResultOfAReissuedTicketCountsOnce) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  const Ticket first = *book.issue("slow", kNow);
  book.release_issued_before(kNow + std::chrono::seconds(1));
  // It comes in before anybody else took the ticket: accepted, and the ticket is not handed out
  // again.
  EXPECT_EQ(book.accept(answer(first)), ResultOutcome::kAccepted);
  EXPECT_FALSE(book.issue("other", kNow));
  EXPECT_EQ(book.accept(answer(first)), ResultOutcome::kClosedAlready);
}

TEST(TicketBook, ATicketThatWasNotDeliveredIsTheSameAttempt) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  const Ticket ticket = *book.issue("gone", kNow);
  book.put_back(ticket.id);
  EXPECT_EQ(book.issue("there", kNow)->attempt, 0U);
}

// A result brings a gradient where its ticket asked for one, and only there; evaluations need none.
TEST(TicketBook, GradientsComeWhereTheyWereAskedFor) {
  TicketBook book(kSeed, 0, 0, {});
  BatchOrder wanted = order(1, 2, true);
  wanted.gradient = GradientOrder{.entropy_weight = 0.5F};
  book.open(wanted);
  const auto tickets = issue_all(book, "w");
  ASSERT_EQ(tickets.size(), 2U);
  EXPECT_EQ(tickets[0].gradient, wanted.gradient);
  EXPECT_FALSE(tickets[1].gradient);
  EXPECT_EQ(book.accept(answer(tickets[0])), ResultOutcome::kMismatch);
  Result result = answer(tickets[0]);
  result.gradient.emplace().statistics.loss = 3;
  EXPECT_EQ(book.accept(result), ResultOutcome::kAccepted);
  Result unasked = answer(tickets[1]);
  unasked.gradient.emplace();
  EXPECT_EQ(book.accept(unasked), ResultOutcome::kMismatch);
  EXPECT_EQ(book.accept(answer(tickets[1])), ResultOutcome::kAccepted);
  const auto closed = book.close(1);
  EXPECT_EQ(closed[0].gradient, result.gradient);
  EXPECT_FALSE(closed[1].gradient);
}

TEST(TicketBook, RefusesResultsThatSaySomethingElse) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  const Ticket ticket = *book.issue("w", kNow);
  const auto outcome = [&](auto change) {
    Result result = answer(ticket);
    change(result);
    return book.accept(result);
  };
  EXPECT_EQ(outcome([](Result& r) { r.trajectories.pop_back(); }), ResultOutcome::kMismatch);
  EXPECT_EQ(outcome([](Result& r) { ++r.trajectories[0].episode; }), ResultOutcome::kMismatch);
  EXPECT_EQ(outcome([](Result& r) { ++r.trajectories[1].seed; }), ResultOutcome::kMismatch);
  EXPECT_EQ(outcome([](Result& r) { ++r.trajectories[1].weight_version; }),
            ResultOutcome::kMismatch);
  EXPECT_EQ(outcome([](Result& r) { ++r.trajectories[1].lineage; }), ResultOutcome::kMismatch);
  EXPECT_EQ(outcome([](Result& r) { r.ticket = 77; }), ResultOutcome::kClosedAlready);
  EXPECT_EQ(outcome([](Result&) {}), ResultOutcome::kAccepted);
}

TEST(TicketBook, EvaluationIsNoTrainingWork) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2, true));
  for (const Ticket& ticket : issue_all(book, "w")) book.accept(answer(ticket));
  const auto closed = book.close(1);
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(closed[1].ticket.purpose, TicketPurpose::kEvaluate);
  EXPECT_TRUE(closed[1].ticket.greedy);
  EXPECT_EQ(book.counts().opened, 2U);
  book.count(TrajectoryStatus::kTrained, 2);
  book.check_identity();
}

// Two placements, then 2 episodes to train on: the placements are played first, and count as no
// training work.
TEST(TicketBook, PlacementsAreMeasuredFirst) {
  TicketBook book(kSeed, 0, 0, {});
  const Plan plan{{OperationId(0), OperationId(1)}, test::make_assignment({1, 0})};
  BatchOrder wanted = order(1, 2);
  wanted.stage = Stage::kReal;
  wanted.measure = {{0, {"heft", plan}}, {0, {"etf", plan}}};
  book.open(wanted);
  const auto tickets = issue_all(book, "w");
  ASSERT_EQ(tickets.size(), 3U);
  EXPECT_EQ(tickets[0].purpose, TicketPurpose::kMeasure);
  EXPECT_EQ(tickets[0].placement->name, "heft");
  EXPECT_EQ(tickets[1].placement->name, "etf");
  EXPECT_EQ(tickets[1].stage, Stage::kReal);
  EXPECT_EQ(tickets[2].purpose, TicketPurpose::kTrain);
  EXPECT_FALSE(tickets[2].placement);
  EXPECT_EQ(book.counts().opened, 2U);

  Result measured = answer(tickets[0]);
  EXPECT_EQ(book.accept(measured), ResultOutcome::kMismatch) << "of another placement";
  measured.trajectories[0].operations = plan.order;
  measured.trajectories[0].devices = {DeviceId(1), DeviceId(1)};
  EXPECT_EQ(book.accept(measured), ResultOutcome::kMismatch) << "one device differs";
  measured.trajectories[0].devices = {DeviceId(1), DeviceId(0)};
  EXPECT_EQ(book.accept(measured), ResultOutcome::kAccepted);
}

TEST(TicketBook, KnowsWhereAResumedRunStarts) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 4));
  book.open(order(2, 4));
  for (const Ticket& ticket : issue_all(book, "w")) {
    if (ticket.batch == 1) book.accept(answer(ticket));
  }
  EXPECT_EQ(book.resume_episode(), 0U);
  book.close(1);
  EXPECT_EQ(book.resume_ticket(), 2U);
  EXPECT_EQ(book.resume_episode(), 4U);
}

TEST(TicketBook, WhoLeavesHasNotDiedAndWhoFallsSilentMayHave) {
  TicketBook book(kSeed, 0, 0, {});
  book.open(order(1, 2));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(book.issue("leaves", kNow));
    EXPECT_EQ(book.take_back("leaves"), 1U);
  }
  EXPECT_EQ(book.release("leaves").failed, 0U);
  for (const char* peer : {"a", "b", "c"}) {
    ASSERT_TRUE(book.issue(peer, kNow));
    EXPECT_EQ(book.withdraw(peer), 1U);
    EXPECT_EQ(book.withdraw(peer), 0U);
  }
  EXPECT_EQ(book.release("a").failed + book.release("b").failed, 0U);
  EXPECT_EQ(book.release("c").failed, 1U);
  EXPECT_FALSE(book.issue("d", kNow));
}

// In asynchronous mode a ticket may be played with any version from its own on, and is taken alone.
TEST(TicketBook, AsynchronousTicketsAreTakenAsTheyComeIn) {
  TicketBook book(kSeed, 0, 0, {});
  BatchOrder newest = order(3);
  newest.newest = true;
  book.open(newest);
  const auto tickets = issue_all(book, "w");
  ASSERT_EQ(tickets.size(), 3U);
  const auto play = [&](const Ticket& ticket, std::uint64_t first, std::uint64_t second) {
    Result result = answer(ticket);
    result.trajectories[0].weight_version = first;
    result.trajectories[1].weight_version = second;
    return book.accept(result);
  };
  EXPECT_EQ(play(tickets[2], 1, 1), ResultOutcome::kMismatch);  // older than it may be
  EXPECT_EQ(play(tickets[2], 5, 6), ResultOutcome::kMismatch);  // of two versions
  EXPECT_EQ(play(tickets[2], 6, 6), ResultOutcome::kAccepted);
  EXPECT_EQ(play(tickets[0], 2, 2), ResultOutcome::kAccepted);
  auto done = book.take_done();
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].ticket.id, tickets[2].id);
  EXPECT_EQ(done[1].ticket.id, tickets[0].id);
  EXPECT_TRUE(book.take_done().empty());
  EXPECT_EQ(play(tickets[0], 2, 2), ResultOutcome::kClosedAlready);
  // What is lost with the learner is never given the same number again: later ones may be trained.
  EXPECT_EQ(book.resume_ticket(), 3U);
  EXPECT_EQ(book.resume_episode(), 6U);
  // One that takes down three workers fails, and is told of as well.
  for (const char* peer : {"w", "x", "y"}) {
    book.release(peer);
    issue_all(book, peer == std::string("w") ? "x" : "y");
  }
  done = book.take_done();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(done[0].trajectories.empty());
  EXPECT_EQ(book.counts().failed, 2U);
  EXPECT_EQ(book.open_batches(), 0U);
}

// Random deaths, delays, duplicates and late results: every episode ends exactly once and the books
// balance.
TEST(TicketBook, BalancesUnderRandomTrouble) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed);
    TicketBook book(kSeed, 0, 0, {});
    std::vector<Ticket> held;
    std::uint64_t batch = 1;
    book.open(order(1, 16));
    while (batch <= 5) {
      const std::string peer(1, static_cast<char>('a' + random.next_below(4)));
      switch (random.next_below(6)) {
        case 0:
          if (random.next_below(8) == 0) book.release(peer);
          break;
        case 1:
          if (random.next_below(8) == 0) {
            book.release_issued_before(kNow + std::chrono::seconds(1));
          }
          break;
        case 2:
        case 3:
          if (auto ticket = book.issue(peer, kNow)) held.push_back(*ticket);
          break;
        default:
          if (!held.empty()) book.accept(answer(held[random.next_below(held.size())]));
      }
      if (!book.complete(batch)) continue;
      for (const ClosedTicket& closed : book.close(batch)) {
        book.count(TrajectoryStatus::kTrained, closed.trajectories.size());
      }
      book.check_identity();
      EXPECT_EQ(book.counts().outstanding, 0U);
      if (++batch <= 5) book.open(order(batch, 16));
    }
    EXPECT_EQ(book.counts().opened, 80U);
    EXPECT_EQ(book.counts().trained + book.counts().failed, 80U);
  }
}

}  // namespace
}  // namespace doppler
