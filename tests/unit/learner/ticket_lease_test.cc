#include "learner/ticket_lease.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

using std::chrono::seconds;
const TicketLease::Clock::time_point kNow =
    TicketLease::Clock::time_point() + std::chrono::hours(1);

double in_seconds(TicketLease::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

TEST(TicketLease, IsAMinuteBeforeAnythingIsKnownAndTenSecondsForShortTickets) {
  TicketLease lease;
  EXPECT_EQ(lease.length(kNow), seconds(60));
  lease.note(std::chrono::milliseconds(20), kNow);
  EXPECT_EQ(lease.length(kNow), seconds(10));
}

// Tickets of 100 s: 400 s; a minute later a short one has come in, and the long one counts for
// half.
TEST(TicketLease, FollowsTheLongestTicketsAndForgetsThem) {
  TicketLease lease;
  lease.note(seconds(100), kNow);
  lease.note(seconds(1), kNow);
  EXPECT_NEAR(in_seconds(lease.length(kNow)), 400, 1e-6);
  lease.note(seconds(1), kNow + seconds(60));
  EXPECT_NEAR(in_seconds(lease.length(kNow + seconds(60))), 200, 1e-6);
  EXPECT_EQ(lease.length(kNow + seconds(6000)), seconds(10));
  lease.note(std::chrono::hours(2), kNow + seconds(6000));
  EXPECT_EQ(lease.length(kNow + seconds(6000)), seconds(3600));
}

}  // namespace
}  // namespace doppler
