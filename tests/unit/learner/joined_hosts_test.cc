#include "learner/joined_hosts.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr milliseconds kDeadline(20000);
const JoinedHosts::Clock::time_point kNow =
    JoinedHosts::Clock::time_point() + std::chrono::hours(1);

// A learner's end and a host's, on a real socket; times are the test's own.
class JoinedHostsTest : public ::testing::Test {
 protected:
  JoinedHostsTest()
      : keys_(make_server_keys()),
        learner_({"tcp://127.0.0.1:*"}, keys_),
        host_(learner_.endpoints()[0], "h", keys_.for_clients()) {}

  void begin(bool newest_only) {
    hosts_ = std::make_unique<JoinedHosts>(learner_, JoinTerms{.first_number = 3,
                                                               .run_token = 9,
                                                               .slot_count = 2,
                                                               .slot_capacity_bytes = 64,
                                                               .newest_only = newest_only});
  }
  template <typename Message>
  std::optional<std::uint32_t> say(const Message& message, JoinedHosts::Clock::time_point now) {
    EXPECT_TRUE(host_.send(encode(message), kDeadline));
    const auto received = learner_.receive(kDeadline);
    EXPECT_TRUE(received);
    return received ? hosts_->handle(*received, now) : std::nullopt;
  }
  std::vector<std::byte> hear() {
    return host_.receive(kDeadline).value_or(std::vector<std::byte>());
  }
  std::optional<std::uint64_t> hear_version() {
    const auto bytes = hear();
    const auto message = decode_weights_message(bytes);
    return message ? std::optional(message->version) : std::nullopt;
  }
  void publish(std::uint64_t version) {
    hosts_->publish(version, std::vector<std::byte>(10, std::byte{1}), kNow);
  }
  void join() {
    say(Join{.run_token = 9, .machine = "m", .workers = 1}, kNow);
    const auto joined = decode_joined(hear());
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->host, 3U);
    EXPECT_EQ(joined->slot_count, 2U);
  }

  ServerKeys keys_;
  LearnerSocket learner_;
  WorkerSocket host_;
  std::unique_ptr<JoinedHosts> hosts_;
};

TEST_F(JoinedHostsTest, ALateHostGetsEveryVersionThatIsKeptInOrder) {
  begin(false);
  for (std::uint64_t version : {1, 2, 3}) publish(version);
  join();
  EXPECT_EQ(say(WeightsWanted{}, kNow), 3U);
  EXPECT_EQ(hear_version(), 2U);  // two are kept
  say(WeightsWanted{2}, kNow);
  EXPECT_EQ(hear_version(), 3U);
  say(WeightsWanted{3}, kNow);
  EXPECT_EQ(message_kind(hear()), MessageKind::kNothingNewer);
  publish(4);  // it waits
  EXPECT_EQ(hear_version(), 4U);
}

TEST_F(JoinedHostsTest, InAsynchronousModeItGetsTheNewest) {
  begin(true);
  for (std::uint64_t version : {1, 2, 3}) publish(version);
  join();
  say(WeightsWanted{}, kNow);
  EXPECT_EQ(hear_version(), 3U);
  for (std::uint64_t version : {4, 5, 6}) publish(version);
  say(WeightsWanted{3}, kNow);
  EXPECT_EQ(hear_version(), 6U);
  EXPECT_EQ(hosts_->conflated(), 2U);
}

// A sign of life while a version is on its way brings no second copy; one that was lost comes
// again.
TEST_F(JoinedHostsTest, HasOneVersionOnItsWay) {
  begin(false);
  publish(1);
  join();
  say(WeightsWanted{}, kNow);
  EXPECT_EQ(hear_version(), 1U);
  say(WeightsWanted{}, kNow + seconds(1));
  EXPECT_EQ(message_kind(hear()), MessageKind::kNothingNewer);
  publish(2);
  say(WeightsWanted{}, kNow + seconds(2));
  EXPECT_EQ(message_kind(hear()), MessageKind::kNothingNewer);
  say(WeightsWanted{}, kNow + seconds(3));
  EXPECT_EQ(hear_version(), 1U);
}

TEST_F(JoinedHostsTest, TellsOfHostsThatFallSilentComeBackAndLeave) {
  begin(false);
  join();
  say(WeightsWanted{}, kNow);
  EXPECT_TRUE(hosts_->take_missing(kNow + seconds(4)).empty());
  auto missing = hosts_->take_missing(kNow + seconds(6));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].number, 3U);
  EXPECT_FALSE(missing[0].gone);
  EXPECT_TRUE(hosts_->take_missing(kNow + seconds(7)).empty()) << "it is told once";
  EXPECT_EQ(say(WeightsWanted{}, kNow + seconds(8)), 3U);
  EXPECT_EQ(hosts_->take_missing(kNow + seconds(14)).size(), 1U) << "it fell silent again";
  say(Leave{}, kNow + seconds(15));
  missing = hosts_->take_missing(kNow + seconds(15));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_TRUE(missing[0].gone);
  EXPECT_EQ(hosts_->count(), 0U);
  EXPECT_EQ(say(WeightsWanted{}, kNow + seconds(16)), std::nullopt) << "it is no host any more";
}

TEST_F(JoinedHostsTest, RefusesAnotherRunAndAnotherProtocol) {
  begin(false);
  say(Join{.run_token = 8, .machine = "m", .workers = 1}, kNow);
  EXPECT_EQ(decode_refusal(hear()).value_or(Refusal{}).reason, "it belongs to another run");
  say(Join{.protocol = 1, .run_token = 9, .machine = "m", .workers = 1}, kNow);
  EXPECT_TRUE(decode_refusal(hear()));
  EXPECT_EQ(hosts_->count(), 0U);
}

}  // namespace
}  // namespace doppler
