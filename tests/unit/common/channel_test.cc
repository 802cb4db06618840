#include "common/channel.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kDeadline(20000);

std::vector<std::byte> text(const std::string& content) {
  const auto* data = reinterpret_cast<const std::byte*>(content.data());
  return {data, data + content.size()};
}

TEST(Channel, CarriesMessagesBothWaysOverTcpAndIpc) {
  const CurveKeys keys = make_curve_keys();
  const std::string name =
      "ipc://@doppler-test-" + std::to_string(getpid()) + "-" + std::to_string(std::rand());
  LearnerSocket learner({name, "tcp://127.0.0.1:*"}, keys);
  ASSERT_EQ(learner.endpoints().size(), 2U);
  for (const std::string& endpoint : learner.endpoints()) {
    WorkerSocket worker(endpoint, "w1", keys.public_key);
    ASSERT_TRUE(worker.send(text("hello"), kDeadline));
    const auto received = learner.receive(kDeadline);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->peer, "w1");
    EXPECT_EQ(received->bytes, text("hello"));
    EXPECT_EQ(learner.send("w1", text("ticket")), SendOutcome::kSent);
    EXPECT_EQ(worker.receive(kDeadline), text("ticket"));
  }
}

TEST(Channel, SaysThatAPeerIsUnknown) {
  LearnerSocket learner({"tcp://127.0.0.1:*"}, make_curve_keys());
  EXPECT_EQ(learner.send("nobody", text("x")), SendOutcome::kUnreachable);
}

TEST(Channel, NothingArrivesWithinTheTimeout) {
  LearnerSocket learner({"tcp://127.0.0.1:*"}, make_curve_keys());
  EXPECT_FALSE(learner.receive(milliseconds(1)));
}

// A client with another key never gets through; one with the right key does, on the same socket.
TEST(Channel, RefusesAClientWithoutTheKey) {
  const CurveKeys keys = make_curve_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket stranger(learner.endpoints()[0], "stranger", make_curve_keys().public_key);
  EXPECT_FALSE(stranger.send(text("let me in"), milliseconds(300)));
  WorkerSocket friendly(learner.endpoints()[0], "friend", keys.public_key);
  ASSERT_TRUE(friendly.send(text("hello"), kDeadline));
  const auto received = learner.receive(kDeadline);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->peer, "friend");
}

TEST(Channel, TwoSocketsCannotShareAnEndpoint) {
  const std::string name = "ipc://@doppler-clash-" + std::to_string(getpid());
  LearnerSocket first({name}, make_curve_keys());
  EXPECT_THROW(LearnerSocket({name}, make_curve_keys()), SystemError);
}

// The newer of two peers of one name is the one that is answered: a restarted worker is never
// shadowed by its old self.
TEST(Channel, ANewPeerTakesOverTheNameOfAnOldOne) {
  const CurveKeys keys = make_curve_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket old(learner.endpoints()[0], "w", keys.public_key);
  ASSERT_TRUE(old.send(text("old"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  WorkerSocket fresh(learner.endpoints()[0], "w", keys.public_key);
  ASSERT_TRUE(fresh.send(text("new"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  ASSERT_EQ(learner.send("w", text("for the new one")), SendOutcome::kSent);
  EXPECT_EQ(fresh.receive(kDeadline), text("for the new one"));
}

TEST(Channel, CarriesLargeMessages) {
  const CurveKeys keys = make_curve_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket worker(learner.endpoints()[0], "w", keys.public_key);
  const std::vector<std::byte> large(8U << 20, std::byte{42});
  std::jthread sender([&] { EXPECT_TRUE(worker.send(large, kDeadline)); });
  const auto received = learner.receive(kDeadline);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, large);
}

}  // namespace
}  // namespace doppler
