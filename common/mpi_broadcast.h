// Weight versions by MPI_Ibcast: one collective for all hosts instead of a send for each. Cheaper
// with many hosts, but a host that stands still holds up all others; so the learner watches who
// has taken part. For mpi_link.cc alone: the one header that shows MPI.
//
// The hosts post each broadcast ahead, and all are of one size. The last says that it is the last:
// so every rank takes part in the same number of them, which MPI cannot cancel.
#ifndef DOPPLER_COMMON_MPI_BROADCAST_H_
#define DOPPLER_COMMON_MPI_BROADCAST_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include "common/mpi_link.h"

namespace doppler {

// Throws SystemError with MPI's own words.
void check_mpi(int code, const char* call);

// Rank 0's end. The next broadcast begins when every host has taken the one before it.
class BroadcastRoot {
 public:
  using Clock = std::chrono::steady_clock;

  BroadcastRoot(std::size_t host_count, std::size_t bytes);
  // Leaves behind what MPI may still read, where a host never came.
  ~BroadcastRoot();
  BroadcastRoot(const BroadcastRoot&) = delete;
  BroadcastRoot& operator=(const BroadcastRoot&) = delete;

  // No more than `keep` wait; the oldest are overtaken and counted.
  void offer(std::vector<std::byte> version, std::size_t keep);
  // Nothing follows; what waits is dropped.
  void end();
  void poll(Clock::time_point now);
  std::size_t outstanding() const;
  std::uint64_t conflated() const { return conflated_; }
  std::vector<LateHost> late_hosts() const;
  std::vector<std::string> take_events();

 private:
  struct Broadcast {
    std::unique_ptr<std::vector<std::byte>> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Host {
    std::uint64_t taken = 0;  // broadcasts
    std::uint64_t lives = 0;  // answers to the newest question
    bool late = false;
    double late_seconds = 0;
  };
  void start(std::vector<std::byte> bytes, Clock::time_point now);
  void take_notes();
  void ask(Clock::time_point now);
  void watch(Clock::time_point now);
  void settle(std::size_t host, Clock::time_point now);
  bool all_taken() const;

  std::size_t bytes_;
  std::vector<Host> hosts_;  // host i is rank i + 1
  std::deque<std::vector<std::byte>> waiting_;
  std::deque<Broadcast> active_;  // one, and the last behind it
  std::uint64_t started_ = 0;
  Clock::time_point started_at_;
  std::uint64_t questions_ = 0;
  std::optional<Clock::time_point> asked_at_;
  std::vector<MPI_Request> sends_;  // of questions
  std::deque<std::uint64_t> question_numbers_;
  bool ended_ = false;
  std::uint64_t conflated_ = 0;
  std::vector<std::string> events_;
};

// A host's end.
class BroadcastLeaf {
 public:
  explicit BroadcastLeaf(std::size_t bytes);

  // A version that has come; nullopt: none now.
  std::optional<std::vector<std::byte>> take();
  // Answers a question whether this host is there.
  void answer(std::uint64_t question);
  bool ended() const { return ended_; }

 private:
  void post();
  void note(std::uint64_t question);

  std::size_t bytes_;
  std::vector<std::byte> buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::uint64_t taken_ = 0;
  bool ended_ = false;
  struct Note {
    std::unique_ptr<std::uint64_t[]> numbers;  // taken, question
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::deque<Note> notes_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_MPI_BROADCAST_H_
