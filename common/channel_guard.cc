#include "common/channel_guard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace doppler {
namespace {

constexpr const char* kQuestions = "inproc://zeromq.zap.01";  // ZeroMQ looks for it there
constexpr const char* kEvents = "inproc://doppler.connections";
constexpr auto kPollTimeout = std::chrono::milliseconds(100);
constexpr std::size_t kKeyBytes = 32;

// The parts of a question.
enum : std::size_t { kVersion, kRequest, kDomain, kAddress, kIdentity, kMechanism, kKey, kParts };

}  // namespace

ChannelGuard::ChannelGuard(zmq::context_t& context, zmq::socket_t& guarded,
                           std::string client_public_key)
    : guarded_(&guarded),
      client_public_key_(std::move(client_public_key)),
      questions_(context, zmq::socket_type::rep),
      events_(context, zmq::socket_type::pair) {
  questions_.set(zmq::sockopt::linger, 0);
  events_.set(zmq::sockopt::linger, 0);
  events_.set(zmq::sockopt::rcvhwm, 0);  // the socket's own thread must never wait for this one
  questions_.bind(kQuestions);
  if (zmq_socket_monitor(
          guarded.handle(), kEvents,
          ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED) != 0) {
    throw zmq::error_t();
  }
  events_.connect(kEvents);
  thread_ = std::thread([this] { run(); });
}

ChannelGuard::~ChannelGuard() {
  zmq_socket_monitor(guarded_->handle(), nullptr, 0);  // before nobody listens any more
  stop_ = true;
  thread_.join();
}

void ChannelGuard::run() {
  while (!stop_) {
    std::array<zmq::pollitem_t, 2> items{
        {{questions_.handle(), 0, ZMQ_POLLIN, 0}, {events_.handle(), 0, ZMQ_POLLIN, 0}}};
    try {
      zmq::poll(items.data(), items.size(), kPollTimeout);
      if (items[0].revents != 0) answer();
      if (items[1].revents != 0) watch();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return;  // the context is ending
    }
    book();
  }
}

void ChannelGuard::answer() {
  std::vector<std::string> parts;
  zmq::message_t part;
  do {
    if (!questions_.recv(part)) return;
    parts.push_back(part.to_string());
  } while (part.more());
  bool admitted = false;
  if (parts.size() == kParts && parts[kMechanism] == "CURVE" && parts[kKey].size() == kKeyBytes) {
    std::array<char, 41> key{};
    zmq_z85_encode(key.data(), reinterpret_cast<const std::uint8_t*>(parts[kKey].data()),
                   kKeyBytes);
    admitted = key.data() == client_public_key_;
  }
  const std::array<std::string, 6> reply = {"1.0",
                                            parts.size() > kRequest ? parts[kRequest] : "",
                                            admitted ? "200" : "400",
                                            admitted ? "" : "not of this run",
                                            "",
                                            ""};
  for (std::size_t i = 0; i < reply.size(); ++i) {
    questions_.send(zmq::buffer(reply[i]),
                    i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

void ChannelGuard::watch() {
  while (true) {
    zmq::message_t event;
    if (!events_.recv(event, zmq::recv_flags::dontwait)) return;
    std::uint16_t kind = 0;
    std::int32_t descriptor = 0;
    std::memcpy(&kind, event.data(), sizeof(kind));
    std::memcpy(&descriptor, event.data<char>() + sizeof(kind), sizeof(descriptor));
    if (event.more()) (void)events_.recv(event);  // the endpoint
    if (kind == ZMQ_EVENT_ACCEPTED) {
      ++accepted_;
      live_[descriptor] = Clock::now();
    } else if (kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      ++admitted_;  // it does not say which
    } else {
      live_.erase(descriptor);
    }
  }
}

// Of the connections so far, those that were not admitted and have had their time.
void ChannelGuard::book() {
  const auto now = Clock::now();
  const auto young = static_cast<std::uint64_t>(
      std::count_if(live_.begin(), live_.end(), [&](const auto& connection) {
        return now - connection.second < kHandshakeLimit + kPollTimeout;
      }));
  if (accepted_ > admitted_ + young) {
    refused_ = std::max<std::uint64_t>(refused_, accepted_ - admitted_ - young);
  }
}

}  // namespace doppler
