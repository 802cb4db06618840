// JoinedHosts: the hosts that joined a run while it goes on (`doppler actor --join`). Numbers them,
// and gives each the weight versions that it asks for: in synchronous mode all that open tickets
// may name, in order; in asynchronous mode the newest. A host has at most one version on its way to
// it, so a slow one costs no memory and holds nobody up.
//
// Not thread-safe; lives in the learner's loop.
#ifndef DOPPLER_LEARNER_JOINED_HOSTS_H_
#define DOPPLER_LEARNER_JOINED_HOSTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/channel.h"
#include "common/message.h"

namespace doppler {

struct JoinTerms {
  std::uint32_t first_number = 1;  // below it stand the MPI ranks
  std::uint64_t run_token = 0;
  std::uint64_t slot_count = 0;  // versions that a host keeps
  std::uint64_t slot_capacity_bytes = 0;
  bool newest_only = false;  // asynchronous mode
  bool executes = false;     // the run has a real stage
};

struct MissingHost {
  std::uint32_t number = 0;
  bool gone = false;  // for good; otherwise it is silent and may come back
};

class JoinedHosts {
 public:
  using Clock = std::chrono::steady_clock;
  // A host says something every second. Its workers' tickets are given to others after the first of
  // these times without a word, and it is forgotten after the second.
  static constexpr std::chrono::seconds kSilence{5};
  static constexpr std::chrono::seconds kForgotten{120};
  // A version of so many bytes that has not arrived by then was lost with a connection, and is sent
  // again: two seconds, and one for each MB.
  static Clock::duration lost_after(std::size_t bytes) {
    return std::chrono::seconds(2) + std::chrono::microseconds(bytes);
  }

  // The socket must outlive it.
  JoinedHosts(LearnerSocket& socket, const JoinTerms& terms);

  // The number of the host that said it, when it is a message from a host; it is dealt with then.
  std::optional<std::uint32_t> handle(const IncomingMessage& message, Clock::time_point now);
  // Keeps the version, and sends it to those that wait.
  void publish(std::uint64_t version, std::span<const std::byte> snapshot, Clock::time_point now);
  // Hosts that have left, or fell silent, since the last call.
  std::vector<MissingHost> take_missing(Clock::time_point now);
  void say_goodbye();

  std::size_t count() const { return hosts_.size(); }
  // Versions that some host was not sent, because a newer one overtook them.
  std::uint64_t conflated() const { return conflated_; }
  std::vector<std::string> take_events();

 private:
  struct Host {
    std::uint32_t number = 0;
    std::string machine;
    std::optional<std::uint64_t> have;
    std::optional<std::uint64_t> sent;  // on its way, or lost
    Clock::time_point lost_at;          // when it counts as lost
    bool waits = false;                 // for a version newer than `have`
    bool silent = false;                // told of already
    Clock::time_point heard_at;
  };
  struct Version {
    std::uint64_t version = 0;
    std::vector<std::byte> message;
  };
  void greet(const std::string& peer, const Join& join, Clock::time_point now);
  // Sends the next version, unless it is on its way already; then, or where there is none, false.
  bool serve(const std::string& peer, Host& host, Clock::time_point now);

  LearnerSocket* socket_;
  JoinTerms terms_;
  std::uint32_t next_number_;
  std::map<std::string, Host> hosts_;  // by peer
  std::deque<Version> versions_;       // ascending
  std::vector<MissingHost> missing_;
  std::uint64_t conflated_ = 0;
  std::vector<std::string> events_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_JOINED_HOSTS_H_
