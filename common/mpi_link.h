// The MPI side of a run: rank 0 (the learner) sends the setup, weight versions and the end to every
// other rank (an actor host). Nothing here blocks or spins: sends are non-blocking with at most one
// outstanding per host, receipt is probed, and callers sleep between polls. MPI stays behind this
// header. One thread owns it.
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

enum class HostMessageKind : int { kSetup = 1, kWeights = 2, kStop = 3 };

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
  // Moves the queues on; call it often.
  void poll();
  // Messages that some host has not taken yet.
  std::size_t outstanding() const;
  // Weight versions that some host was not sent, because a newer one overtook them.
  std::uint64_t conflated() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct HostMessage {
  HostMessageKind kind = HostMessageKind::kSetup;
  std::vector<std::byte> bytes;
};

// A host's end. Returns at once, with a message if one is there.
std::optional<HostMessage> receive_from_learner();

}  // namespace doppler

#endif  // DOPPLER_COMMON_MPI_LINK_H_
