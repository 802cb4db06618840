#include "common/shared_weights.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/error.h"

namespace doppler {
namespace {

constexpr std::uint64_t kMagic = 0x3153544847494557ULL;  // "WEIGHTS1"
constexpr std::size_t kLine = 64;

std::size_t round_up(std::size_t size) {
  return (size + kLine - 1) / kLine * kLine;
}

[[noreturn]] void raise(const char* call) {
  throw SystemError(std::string(call) + " of the shared weights: " + std::strerror(errno));
}

}  // namespace

struct alignas(kLine) SharedWeights::Header {
  std::uint64_t magic;
  std::uint64_t slot_count;
  std::uint64_t slot_capacity;
  std::atomic<std::uint64_t>
      publications;  // how many there were; the next goes to slot publications % slot_count
  std::atomic<std::uint32_t> wake_word;  // changes with each publication; readers sleep on it
};

struct alignas(kLine) SharedWeights::Slot {
  std::atomic<std::uint64_t> sequence;  // odd while it is written
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> size;
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this) + sizeof(Slot); }
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

SharedWeights::SharedWeights(int descriptor, std::byte* memory, std::size_t size)
    : descriptor_(descriptor), memory_(memory), size_(size) {}

SharedWeights::SharedWeights(SharedWeights&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

SharedWeights::~SharedWeights() {
  if (memory_ != nullptr) munmap(memory_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

SharedWeights SharedWeights::create(std::size_t slot_count, std::size_t slot_capacity_bytes) {
  DP_CHECK_GE(slot_count, 1U);
  const std::size_t slot_size = sizeof(Slot) + round_up(slot_capacity_bytes);
  const std::size_t size = sizeof(Header) + slot_count * slot_size;
  const int descriptor = memfd_create("doppler-weights", MFD_CLOEXEC);
  if (descriptor < 0) raise("memfd_create");
  if (ftruncate(descriptor, static_cast<off_t>(size)) != 0) {
    close(descriptor);
    raise("ftruncate");
  }
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    close(descriptor);
    raise("mmap");
  }
  SharedWeights weights(descriptor, static_cast<std::byte*>(memory), size);
  auto* header = new (memory) Header{};
  header->slot_count = slot_count;
  header->slot_capacity = round_up(slot_capacity_bytes);
  for (std::size_t i = 0; i < slot_count; ++i) {
    new (weights.memory_ + sizeof(Header) + i * slot_size) Slot{};
  }
  header->magic = kMagic;
  return weights;
}

SharedWeights SharedWeights::attach(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) raise("fstat");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < sizeof(Header)) {
    throw SystemError("descriptor " + std::to_string(descriptor) + " holds no shared weights");
  }
  // Read and write: a futex needs no write access, but atomics on read-only pages are not portable.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) raise("mmap");
  SharedWeights weights(descriptor, static_cast<std::byte*>(memory), size);
  const Header& header = weights.header();
  if (header.magic != kMagic ||
      size != sizeof(Header) + header.slot_count * (sizeof(Slot) + header.slot_capacity)) {
    throw SystemError("descriptor " + std::to_string(descriptor) + " holds no shared weights");
  }
  return weights;
}

namespace {

// Bytes that another process may be reading or writing meanwhile; the sequence number tells
// afterwards whether it was. Atomic, word by word: a plain copy of such memory has no meaning in
// C++.
void write_shared(std::byte* to, std::span<const std::byte> bytes) {
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to + i))
        .store(word, std::memory_order_relaxed);
  }
  for (; i < bytes.size(); ++i) {
    std::atomic_ref(to[i]).store(bytes[i], std::memory_order_relaxed);
  }
}

std::vector<std::byte> read_shared(std::byte* from, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(from + i))
                                   .load(std::memory_order_relaxed);
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  for (; i < size; ++i) bytes[i] = std::atomic_ref(from[i]).load(std::memory_order_relaxed);
  return bytes;
}

}  // namespace

SharedWeights::Header& SharedWeights::header() const {
  return *reinterpret_cast<Header*>(memory_);
}

SharedWeights::Slot& SharedWeights::slot(std::size_t index) const {
  return *reinterpret_cast<Slot*>(memory_ + sizeof(Header) +
                                  index * (sizeof(Slot) + header().slot_capacity));
}

std::size_t SharedWeights::slot_capacity_bytes() const {
  return header().slot_capacity;
}

void SharedWeights::publish(std::uint64_t version, std::span<const std::byte> bytes) {
  Header& head = header();
  DP_CHECK_LE(bytes.size(), head.slot_capacity);
  const std::uint64_t count = head.publications.load(std::memory_order_relaxed);
  Slot& target = slot(count % head.slot_count);
  target.sequence.fetch_add(1, std::memory_order_acq_rel);
  std::atomic_thread_fence(std::memory_order_release);
  target.version.store(version, std::memory_order_relaxed);
  target.size.store(bytes.size(), std::memory_order_relaxed);
  write_shared(target.bytes(), bytes);
  std::atomic_thread_fence(std::memory_order_release);
  target.sequence.fetch_add(1, std::memory_order_acq_rel);
  head.publications.store(count + 1, std::memory_order_release);
  head.wake_word.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &head.wake_word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::optional<std::vector<std::byte>> SharedWeights::read(std::uint64_t version) const {
  const Header& head = header();
  const std::uint64_t count = head.publications.load(std::memory_order_acquire);
  const std::uint64_t filled = count < head.slot_count ? count : head.slot_count;
  for (std::uint64_t i = 0; i < filled; ++i) {
    Slot& source = slot(i);
    const std::uint64_t before = source.sequence.load(std::memory_order_acquire);
    if (before % 2 != 0 || source.version.load(std::memory_order_relaxed) != version) continue;
    const std::uint64_t size = source.size.load(std::memory_order_relaxed);
    if (size > head.slot_capacity) continue;
    std::vector<std::byte> bytes = read_shared(source.bytes(), size);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (source.sequence.load(std::memory_order_relaxed) == before) return bytes;
  }
  return std::nullopt;
}

template <typename Read>
std::optional<std::vector<std::byte>> SharedWeights::wait(Read read,
                                                          std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  Header& head = header();
  while (true) {
    const std::uint32_t seen = head.wake_word.load(std::memory_order_acquire);
    if (auto bytes = read()) return bytes;
    const auto rest = deadline - std::chrono::steady_clock::now();
    if (rest <= std::chrono::steady_clock::duration::zero()) return std::nullopt;
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(rest).count();
    const timespec wait{.tv_sec = static_cast<time_t>(nanoseconds / 1000000000),
                        .tv_nsec = static_cast<long>(nanoseconds % 1000000000)};
    syscall(SYS_futex, &head.wake_word, FUTEX_WAIT, seen, &wait, nullptr, 0);
  }
}

std::optional<std::vector<std::byte>> SharedWeights::wait_for(
    std::uint64_t version, std::chrono::milliseconds timeout) const {
  return wait([&] { return read(version); }, timeout);
}

std::optional<std::vector<std::byte>> SharedWeights::wait_for_newest(
    std::uint64_t least, std::chrono::milliseconds timeout) const {
  return wait(
      [&]() -> std::optional<std::vector<std::byte>> {
        // Overwritten while it was read: there is a newer one.
        for (auto newest = newest_version(); newest && *newest >= least;
             newest = newest_version()) {
          if (auto bytes = read(*newest)) return bytes;
        }
        return std::nullopt;
      },
      timeout);
}

std::optional<std::uint64_t> SharedWeights::newest_version() const {
  const std::uint64_t count = header().publications.load(std::memory_order_acquire);
  if (count == 0) return std::nullopt;
  return slot((count - 1) % header().slot_count).version.load(std::memory_order_relaxed);
}

}  // namespace doppler
