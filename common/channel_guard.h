// ChannelGuard: decides who may connect to the learner's socket, and counts whom it turned away. A
// private part of channel.cc: ZeroMQ's types appear here.
//
// A thread of its own answers ZeroMQ's questions (its ZAP protocol, RFC 27): a client must prove
// that it holds the secret key of the run, which only the run's own processes are handed. And it
// watches the socket's connections: one that ends without having come through (random bytes, no
// encryption, a wrong key, silence) counts as refused.
#ifndef DOPPLER_COMMON_CHANNEL_GUARD_H_
#define DOPPLER_COMMON_CHANNEL_GUARD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include <zmq.hpp>

namespace doppler {

class ChannelGuard {
 public:
  // So long may a connection take to prove who it is.
  static constexpr std::chrono::milliseconds kHandshakeLimit{5000};

  // Call before the socket is bound. Context and socket must outlive it.
  ChannelGuard(zmq::context_t& context, zmq::socket_t& guarded, std::string client_public_key);
  ~ChannelGuard();
  ChannelGuard(const ChannelGuard&) = delete;
  ChannelGuard& operator=(const ChannelGuard&) = delete;

  // Connections that came to nothing. One that is still being made may count some seconds later.
  std::uint64_t refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  void answer();
  void watch();
  void book();

  zmq::socket_t* guarded_;
  std::string client_public_key_;
  zmq::socket_t questions_;                         // REP
  zmq::socket_t events_;                            // PAIR
  std::map<std::int32_t, Clock::time_point> live_;  // accepted connections by descriptor
  std::uint64_t accepted_ = 0;
  std::uint64_t admitted_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_CHANNEL_GUARD_H_
