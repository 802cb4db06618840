// The MPI side of a run: rank 0 (the learner) sends the setup, weight versions and the end to every
// other rank (an actor host). Nothing here blocks or spins: sends are non-blocking with at most one
// outstanding per host, receipt is probed, and callers sleep between polls. Weight versions may go
// by broadcast instead, one at a time. MPI stays behind this header. One thread owns it.
//
// Throws SystemError where MPI fails. A host or learner that dies ends the whole job; that is MPI's
// rule, and the run resumes from its checkpoint.
#ifndef DOPPLER_COMMON_MPI_LINK_H_
#define DOPPLER_COMMON_MPI_LINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace doppler {

// MPI_Init on construction, MPI_Finalize by finalize(). A program started without mpirun is rank 0
// of 1.
class MpiSession {
 public:
  MpiSession();
  // Aborts the job when finalize() was not reached: the other ranks would wait for ever.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Every rank must come here. Waits for them without burning a core.
  void finalize();
  // Ends all ranks at once with this exit code.
  [[noreturn]] void abort(int exit_code);
  // The machine that this rank runs on.
  std::string processor_name() const;

 private:
  int rank_ = 0;
  int size_ = 1;
  bool finalized_ = false;
};

enum class HostMessageKind : int { kSetup = 1, kWeights = 2, kStop = 3, kAreYouThere = 4 };

// One that held up a broadcast for some seconds, in all so far, and whether it does so now.
struct LateHost {
  std::uint32_t host = 0;
  double seconds = 0;
  bool now = false;
};

// Rank 0's end.
class HostLinks {
 public:
  explicit HostLinks(int world_size);
  ~HostLinks();

  int host_count() const;
  // Queues for every host, in order. The bytes are shared between hosts and freed when the last has
  // them.
  void send(HostMessageKind kind, std::vector<std::byte> bytes);
  // A weight version, for every host, behind what is queued. No host has more than `keep` of them
  // waiting: one that falls behind gets the newest and never the older, which are counted.
  void send_weights(std::vector<std::byte> bytes, std::size_t keep);
  // From now on versions go by broadcast, all of that many bytes (encode_host_weights). Before the
  // first of them; the hosts must be told (HostSetup::broadcast_bytes).
  void use_broadcasts(std::size_t bytes);
  // No version follows: behind it, send kStop. Hosts that were told of broadcasts wait for it.
  void end_weights();
  // Moves the queues on; call it often.
  void poll();
  // Messages that some host has not taken yet.
  std::size_t outstanding() const;
  // Weight versions that some host was not sent, because a newer one overtook them.
  std::uint64_t conflated() const;
  // By broadcast only: who has not taken part in time.
  std::vector<LateHost> late_hosts() const;
  std::vector<std::string> take_events();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct HostMessage {
  HostMessageKind kind = HostMessageKind::kSetup;
  std::vector<std::byte> bytes;
};

// A host's end.
class LearnerLink {
 public:
  LearnerLink();
  ~LearnerLink();

  // Returns at once, with a message if one is there.
  std::optional<HostMessage> receive();
  // Versions come by broadcast from now on, all of that many bytes.
  void use_broadcasts(std::size_t bytes);
  // Returns when the last broadcast, if any, is done: every rank takes part in the same number.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_MPI_LINK_H_
