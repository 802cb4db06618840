#include "common/channel.h"

#include <array>

#include <zmq.hpp>

#include "common/channel_guard.h"
#include "common/error.h"

namespace doppler {
namespace {

constexpr int kQueueLimitMessages = 1000;
constexpr int kLingerMilliseconds = 1000;
constexpr int kHeartbeatMilliseconds = 2000;
constexpr int kHeartbeatTimeoutMilliseconds = 60000;  // a large message may hold a heartbeat back

[[noreturn]] void raise(const std::string& call, const zmq::error_t& error) {
  throw SystemError(call + ": " + error.what());
}

void set_common_options(zmq::socket_t& socket, std::int64_t largest_message_bytes) {
  socket.set(zmq::sockopt::linger, kLingerMilliseconds);
  socket.set(zmq::sockopt::sndhwm, kQueueLimitMessages);
  socket.set(zmq::sockopt::rcvhwm, kQueueLimitMessages);
  socket.set(zmq::sockopt::maxmsgsize, largest_message_bytes);
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMilliseconds);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMilliseconds);
}

std::vector<std::byte> to_bytes(const zmq::message_t& message) {
  const auto* data = message.data<std::byte>();
  return {data, data + message.size()};
}

bool wait_readable(zmq::socket_t& socket, std::chrono::milliseconds timeout) {
  std::array<zmq::pollitem_t, 1> items{{{socket.handle(), 0, ZMQ_POLLIN, 0}}};
  try {
    return zmq::poll(items.data(), items.size(), timeout) > 0;
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return false;  // a signal; the caller looks at its flags
    raise("zmq_poll", error);
  }
}

}  // namespace

CurveKeys make_curve_keys() {
  std::array<char, 41> public_key{};
  std::array<char, 41> secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    throw SystemError(
        "zmq_curve_keypair: this ZeroMQ was built without CURVE; install Debian's libzmq5");
  }
  return {public_key.data(), secret_key.data()};
}

ServerKeys make_server_keys() {
  return {make_curve_keys(), make_curve_keys()};
}

std::string ClientKeys::text() const {
  return server_public_key + client.public_key + client.secret_key;
}

ClientKeys parse_client_keys(const std::string& text) {
  constexpr std::size_t kKey = 40;
  if (text.size() != 3 * kKey) {
    throw ConfigError("the keys of the run are damaged; they are 120 characters, these " +
                      std::to_string(text.size()));
  }
  return {text.substr(0, kKey), {text.substr(kKey, kKey), text.substr(2 * kKey)}};
}

struct LearnerSocket::Impl {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::router};
  std::unique_ptr<ChannelGuard> guard;
  std::vector<std::string> endpoints;
};

LearnerSocket::LearnerSocket(const std::vector<std::string>& endpoints, const ServerKeys& keys,
                             std::int64_t largest_message_bytes)
    : impl_(std::make_unique<Impl>()) {
  zmq::socket_t& socket = impl_->socket;
  set_common_options(socket, largest_message_bytes);
  socket.set(zmq::sockopt::handshake_ivl, static_cast<int>(ChannelGuard::kHandshakeLimit.count()));
  socket.set(zmq::sockopt::router_mandatory, true);
  socket.set(zmq::sockopt::router_handover, true);
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, keys.server.secret_key);
  try {
    impl_->guard = std::make_unique<ChannelGuard>(impl_->context, socket, keys.client.public_key);
  } catch (const zmq::error_t& error) {
    raise("zmq_socket_monitor", error);
  }
  for (const std::string& endpoint : endpoints) {
    try {
      socket.bind(endpoint);
    } catch (const zmq::error_t& error) {
      raise("zmq_bind(" + endpoint + ")", error);
    }
    impl_->endpoints.push_back(socket.get(zmq::sockopt::last_endpoint));
  }
}

LearnerSocket::~LearnerSocket() = default;

const std::vector<std::string>& LearnerSocket::endpoints() const {
  return impl_->endpoints;
}

std::uint64_t LearnerSocket::refused_connections() const {
  return impl_->guard->refused();
}

std::optional<IncomingMessage> LearnerSocket::receive(std::chrono::milliseconds timeout) {
  zmq::socket_t& socket = impl_->socket;
  if (!wait_readable(socket, timeout)) return std::nullopt;
  try {
    zmq::message_t identity;
    if (!socket.recv(identity, zmq::recv_flags::dontwait)) return std::nullopt;
    IncomingMessage message{identity.to_string(), {}};
    if (!identity.more()) return message;
    zmq::message_t body;
    if (!socket.recv(body, zmq::recv_flags::none)) return std::nullopt;
    message.bytes = to_bytes(body);
    // Ours have one part; the rest of a longer one is read away, so that the next message begins at
    // its beginning.
    for (bool more = body.more(); more;) {
      zmq::message_t rest;
      if (!socket.recv(rest, zmq::recv_flags::none)) break;
      more = rest.more();
    }
    return message;
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return std::nullopt;
    raise("zmq_recv", error);
  }
}

SendOutcome LearnerSocket::send(const std::string& peer, std::span<const std::byte> bytes) {
  try {
    if (!impl_->socket.send(zmq::buffer(peer),
                            zmq::send_flags::sndmore | zmq::send_flags::dontwait)) {
      return SendOutcome::kFull;
    }
    if (!impl_->socket.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::dontwait)) {
      return SendOutcome::kFull;
    }
    return SendOutcome::kSent;
  } catch (const zmq::error_t& error) {
    if (error.num() == EHOSTUNREACH) return SendOutcome::kUnreachable;
    if (error.num() == EINTR) return SendOutcome::kFull;
    raise("zmq_send", error);
  }
}

struct WorkerSocket::Impl {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
};

WorkerSocket::WorkerSocket(const std::string& endpoint, const std::string& identity,
                           const ClientKeys& keys)
    : impl_(std::make_unique<Impl>()) {
  zmq::socket_t& socket = impl_->socket;
  set_common_options(socket, kLargestMessageBytes);
  socket.set(zmq::sockopt::immediate, true);
  socket.set(zmq::sockopt::routing_id, identity);
  try {
    socket.set(zmq::sockopt::curve_serverkey, keys.server_public_key);
    socket.set(zmq::sockopt::curve_publickey, keys.client.public_key);
    socket.set(zmq::sockopt::curve_secretkey, keys.client.secret_key);
    socket.connect(endpoint);
  } catch (const zmq::error_t& error) {
    raise("zmq_connect(" + endpoint + ")", error);
  }
}

WorkerSocket::~WorkerSocket() = default;

std::optional<std::vector<std::byte>> WorkerSocket::receive(std::chrono::milliseconds timeout) {
  if (!wait_readable(impl_->socket, timeout)) return std::nullopt;
  try {
    zmq::message_t message;
    if (!impl_->socket.recv(message, zmq::recv_flags::dontwait)) return std::nullopt;
    return to_bytes(message);
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return std::nullopt;
    raise("zmq_recv", error);
  }
}

bool WorkerSocket::send(std::span<const std::byte> bytes, std::chrono::milliseconds timeout) {
  impl_->socket.set(zmq::sockopt::sndtimeo, static_cast<int>(timeout.count()));
  try {
    return impl_->socket.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::none)
        .has_value();
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return false;
    raise("zmq_send", error);
  }
}

}  // namespace doppler
