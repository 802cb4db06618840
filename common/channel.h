// The sockets between the learner and its workers. One ROUTER in the learner, one DEALER in each
// worker; typed messages are common/message.h's matter, these move bytes. ZeroMQ stays behind this
// header.
//
// Every connection is encrypted and authenticated by CURVE in both directions: a client must know
// the server's public key and prove that it holds the secret key of the run's clients. Both are
// made for the run, and only its own processes are handed them. Others are refused and counted. A
// message above the limit closes the connection that it came from. One thread per socket. Errors of
// the library throw SystemError; what a network does (nobody there, nothing yet) does not.
#ifndef DOPPLER_COMMON_CHANNEL_H_
#define DOPPLER_COMMON_CHANNEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace doppler {

inline constexpr std::int64_t kLargestMessageBytes = 256LL * 1024 * 1024;

struct CurveKeys {
  std::string public_key;  // 40 characters, Z85
  std::string secret_key;
};
CurveKeys make_curve_keys();

// What a client of a run needs. As text: 120 characters, to be kept from other users.
struct ClientKeys {
  std::string server_public_key;
  CurveKeys client;
  std::string text() const;
};
// Throws ConfigError when the text is no such keys.
ClientKeys parse_client_keys(const std::string& text);

struct ServerKeys {
  CurveKeys server;
  CurveKeys client;  // of all its clients
  ClientKeys for_clients() const { return {server.public_key, client}; }
};
ServerKeys make_server_keys();

struct IncomingMessage {
  std::string peer;  // identity that the peer chose
  std::vector<std::byte> bytes;
};

enum class SendOutcome { kSent, kUnreachable, kFull };

class LearnerSocket {
 public:
  // Endpoints as "ipc://@name" or "tcp://address:*". Throws SystemError when one cannot be bound
  // (in use, no such address).
  LearnerSocket(const std::vector<std::string>& endpoints, const ServerKeys& keys,
                std::int64_t largest_message_bytes = kLargestMessageBytes);
  ~LearnerSocket();
  LearnerSocket(const LearnerSocket&) = delete;
  LearnerSocket& operator=(const LearnerSocket&) = delete;

  // As bound, with the port that was chosen.
  const std::vector<std::string>& endpoints() const;

  std::optional<IncomingMessage> receive(std::chrono::milliseconds timeout);
  // Connections that were refused so far: strangers, or noise. Some seconds may pass until one
  // counts.
  std::uint64_t refused_connections() const;
  // Never blocks.
  SendOutcome send(const std::string& peer, std::span<const std::byte> bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class WorkerSocket {
 public:
  WorkerSocket(const std::string& endpoint, const std::string& identity, const ClientKeys& keys);
  ~WorkerSocket();
  WorkerSocket(const WorkerSocket&) = delete;
  WorkerSocket& operator=(const WorkerSocket&) = delete;

  std::optional<std::vector<std::byte>> receive(std::chrono::milliseconds timeout);
  // False when the learner could not be reached in time; nothing is queued then.
  bool send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_CHANNEL_H_
