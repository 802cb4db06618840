#include "common/channel.h"

#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
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
  const ServerKeys keys = make_server_keys();
  const std::string name =
      "ipc://@doppler-test-" + std::to_string(getpid()) + "-" + std::to_string(std::rand());
  LearnerSocket learner({name, "tcp://127.0.0.1:*"}, keys);
  ASSERT_EQ(learner.endpoints().size(), 2U);
  for (const std::string& endpoint : learner.endpoints()) {
    WorkerSocket worker(endpoint, "w1", keys.for_clients());
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
  LearnerSocket learner({"tcp://127.0.0.1:*"}, make_server_keys());
  EXPECT_EQ(learner.send("nobody", text("x")), SendOutcome::kUnreachable);
}

TEST(Channel, NothingArrivesWithinTheTimeout) {
  LearnerSocket learner({"tcp://127.0.0.1:*"}, make_server_keys());
  EXPECT_FALSE(learner.receive(milliseconds(1)));
}

// Waits until the socket has counted so many; the count may come some seconds late.
bool refuses(const LearnerSocket& socket, std::uint64_t count) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (socket.refused_connections() < count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

// Sends bytes as they are and hangs up when the other side has.
void knock(const std::string& endpoint, const std::string& bytes) {
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  shutdown(descriptor, SHUT_WR);
  char answer[256];
  while (read(descriptor, answer, sizeof(answer)) > 0) {
  }
  close(descriptor);
}

// Who lacks one of the keys never gets through; who has both does, on the same socket.
TEST(Channel, RefusesAndCountsClientsWithoutTheKeys) {
  const ServerKeys keys = make_server_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  {
    ClientKeys other_server = keys.for_clients();
    other_server.server_public_key = make_curve_keys().public_key;
    WorkerSocket stranger(learner.endpoints()[0], "s1", other_server);
    EXPECT_FALSE(stranger.send(text("let me in"), milliseconds(300)));
    EXPECT_TRUE(refuses(learner, 1));
  }
  const std::uint64_t before = learner.refused_connections();
  {
    // It knows the server's public key, which is no secret to whoever was once told.
    ClientKeys other_client = keys.for_clients();
    other_client.client = make_curve_keys();
    WorkerSocket stranger(learner.endpoints()[0], "s2", other_client);
    EXPECT_FALSE(stranger.send(text("let me in"), milliseconds(300)));
    EXPECT_TRUE(refuses(learner, before + 1));
  }
  WorkerSocket friendly(learner.endpoints()[0], "friend", keys.for_clients());
  ASSERT_TRUE(friendly.send(text("hello"), kDeadline));
  const auto received = learner.receive(kDeadline);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->peer, "friend");
  EXPECT_FALSE(learner.receive(milliseconds(50))) << "nothing of the strangers came through";
}

TEST(Channel, RefusesAndCountsNoise) {
  const ServerKeys keys = make_server_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket friendly(learner.endpoints()[0], "friend", keys.for_clients());
  ASSERT_TRUE(friendly.send(text("before"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  std::string noise(5000, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i % 251);
  knock(learner.endpoints()[0], noise);
  knock(learner.endpoints()[0], "GET / HTTP/1.0\r\n\r\n");
  noise[0] = '\xff';  // as ZeroMQ's own greeting begins
  noise[9] = '\x7f';
  knock(learner.endpoints()[0], noise);
  EXPECT_TRUE(refuses(learner, 3));
  ASSERT_TRUE(friendly.send(text("after"), kDeadline));
  const auto received = learner.receive(kDeadline);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, text("after"));
  EXPECT_EQ(learner.refused_connections(), 3U);
}

// The connection of who sends more than is allowed is closed; it may come again.
TEST(Channel, ClosesTheConnectionThatATooLargeMessageCameFrom) {
  const ServerKeys keys = make_server_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys, 1000);
  WorkerSocket worker(learner.endpoints()[0], "w", keys.for_clients());
  ASSERT_TRUE(worker.send(text("small"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  ASSERT_TRUE(worker.send(std::vector<std::byte>(100000), kDeadline));
  // What was sent in the moment of closing may be lost: it is said again until it is heard.
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  std::optional<IncomingMessage> received;
  while (!received) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    (void)worker.send(text("small again"), milliseconds(100));
    received = learner.receive(milliseconds(100));
  }
  EXPECT_EQ(received->bytes, text("small again"));
}

TEST(Channel, KeysRoundTripAsText) {
  const ClientKeys keys = make_server_keys().for_clients();
  const ClientKeys read = parse_client_keys(keys.text());
  EXPECT_EQ(read.server_public_key, keys.server_public_key);
  EXPECT_EQ(read.client.public_key, keys.client.public_key);
  EXPECT_EQ(read.client.secret_key, keys.client.secret_key);
  EXPECT_THROW(parse_client_keys("short"), ConfigError);
}

TEST(Channel, TwoSocketsCannotShareAnEndpoint) {
  const std::string name = "ipc://@doppler-clash-" + std::to_string(getpid());
  LearnerSocket first({name}, make_server_keys());
  EXPECT_THROW(LearnerSocket({name}, make_server_keys()), SystemError);
}

// The newer of two peers of one name is the one that is answered: a restarted worker is never
// shadowed by its old self.
TEST(Channel, ANewPeerTakesOverTheNameOfAnOldOne) {
  const ServerKeys keys = make_server_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket old(learner.endpoints()[0], "w", keys.for_clients());
  ASSERT_TRUE(old.send(text("old"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  WorkerSocket fresh(learner.endpoints()[0], "w", keys.for_clients());
  ASSERT_TRUE(fresh.send(text("new"), kDeadline));
  ASSERT_TRUE(learner.receive(kDeadline));
  ASSERT_EQ(learner.send("w", text("for the new one")), SendOutcome::kSent);
  EXPECT_EQ(fresh.receive(kDeadline), text("for the new one"));
}

TEST(Channel, CarriesLargeMessages) {
  const ServerKeys keys = make_server_keys();
  LearnerSocket learner({"tcp://127.0.0.1:*"}, keys);
  WorkerSocket worker(learner.endpoints()[0], "w", keys.for_clients());
  const std::vector<std::byte> large(8U << 20, std::byte{42});
  std::jthread sender([&] { EXPECT_TRUE(worker.send(large, kDeadline)); });
  const auto received = learner.receive(kDeadline);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, large);
}

}  // namespace
}  // namespace doppler
