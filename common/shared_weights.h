// SharedWeights: the newest weight versions of one node, in memory that a host and its workers
// share. An anonymous file (memfd) that is inherited by descriptor, so it has no name to clash or
// to be left behind.
//
// One writer, any number of readers in other processes. Each slot is guarded by a sequence lock: a
// reader copies, then checks that the writer did not come by meanwhile. What it returns is whole;
// the snapshot's own checksum is checked by whoever decodes it.
#ifndef DOPPLER_COMMON_SHARED_WEIGHTS_H_
#define DOPPLER_COMMON_SHARED_WEIGHTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace doppler {

class SharedWeights {
 public:
  // Versions are published into slots in turn: the last `slot_count` are there to be read. Throws
  // SystemError.
  static SharedWeights create(std::size_t slot_count, std::size_t slot_capacity_bytes);
  // From an inherited descriptor, which it takes over. Throws SystemError when that is no such
  // memory.
  static SharedWeights attach(int descriptor);

  SharedWeights(SharedWeights&& other) noexcept;
  SharedWeights& operator=(SharedWeights&&) = delete;
  SharedWeights(const SharedWeights&) = delete;
  SharedWeights& operator=(const SharedWeights&) = delete;
  ~SharedWeights();

  int descriptor() const { return descriptor_; }
  std::size_t slot_capacity_bytes() const;

  // Writer only. Wakes every waiting reader. `bytes` must fit in a slot.
  void publish(std::uint64_t version, std::span<const std::byte> bytes);

  // nullopt: not published yet, or already overwritten.
  std::optional<std::vector<std::byte>> read(std::uint64_t version) const;
  // Waits for the version to be published; nullopt when it has not been by then.
  std::optional<std::vector<std::byte>> wait_for(std::uint64_t version,
                                                 std::chrono::milliseconds timeout) const;
  std::optional<std::uint64_t> newest_version() const;
  // The newest version, once there is one that is no older than `least`; nullopt when there was
  // none in time. Its number stands in the snapshot.
  std::optional<std::vector<std::byte>> wait_for_newest(std::uint64_t least,
                                                        std::chrono::milliseconds timeout) const;

 private:
  template <typename Read>
  std::optional<std::vector<std::byte>> wait(Read read, std::chrono::milliseconds timeout) const;
  struct Header;
  struct Slot;
  SharedWeights(int descriptor, std::byte* memory, std::size_t size);
  Slot& slot(std::size_t index) const;
  Header& header() const;

  int descriptor_;
  std::byte* memory_;
  std::size_t size_;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_SHARED_WEIGHTS_H_
