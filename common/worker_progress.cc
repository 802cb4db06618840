#include "common/worker_progress.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

namespace doppler {
namespace {

constexpr std::uint64_t kMagic = 0x31534552474f5250ULL;  // "PROGRES1"
// Above every descriptor that a worker is given a fixed number for: while these are set up in a
// child, one after the other, none may replace the one that is set up next.
constexpr int kLowestDescriptor = 16;

[[noreturn]] void raise(const char* call) {
  throw SystemError(std::string(call) + " of the workers' progress: " + std::strerror(errno));
}

}  // namespace

const char* phase_name(WorkerPhase phase) {
  switch (phase) {
    case WorkerPhase::kStarting:
      return "starting";
    case WorkerPhase::kIdle:
      return "idle";
    case WorkerPhase::kPlaying:
      return "playing";
  }
  return "in no known phase";
}

void WorkerLine::finish_episode(std::chrono::nanoseconds duration) {
  const std::int64_t longest = longest_episode_.load(std::memory_order_relaxed);
  longest_episode_.store(std::max<std::int64_t>(longest, duration.count()),
                         std::memory_order_relaxed);
  episodes_.fetch_add(1, std::memory_order_relaxed);
  beat();
}

void WorkerLine::reset() {
  beats_.store(0, std::memory_order_relaxed);
  episodes_.store(0, std::memory_order_relaxed);
  longest_episode_.store(0, std::memory_order_relaxed);
  phase_.store(WorkerPhase::kStarting, std::memory_order_relaxed);
}

struct alignas(64) WorkerProgress::Header {
  std::uint64_t magic;
  std::uint64_t worker_count;
};

WorkerProgress::WorkerProgress(int descriptor, std::byte* memory, std::size_t size)
    : descriptor_(descriptor), memory_(memory), size_(size) {}

WorkerProgress::WorkerProgress(WorkerProgress&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

WorkerProgress::~WorkerProgress() {
  if (memory_ != nullptr) munmap(memory_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

WorkerProgress WorkerProgress::create(std::size_t worker_count) {
  const std::size_t size = sizeof(Header) + worker_count * sizeof(WorkerLine);
  const int low = memfd_create("doppler-progress", MFD_CLOEXEC);
  if (low < 0) raise("memfd_create");
  const int descriptor = fcntl(low, F_DUPFD_CLOEXEC, kLowestDescriptor);
  close(low);
  if (descriptor < 0) raise("fcntl");
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor, static_cast<off_t>(size)) == 0) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(descriptor);
    errno = error;
    raise("ftruncate or mmap");
  }
  WorkerProgress progress(descriptor, static_cast<std::byte*>(memory), size);
  new (memory) Header{kMagic, worker_count};
  for (std::size_t i = 0; i < worker_count; ++i) {
    new (progress.memory_ + sizeof(Header) + i * sizeof(WorkerLine)) WorkerLine;
  }
  return progress;
}

WorkerProgress WorkerProgress::attach(int descriptor) {
  const auto refuse = [&] {
    throw SystemError("descriptor " + std::to_string(descriptor) + " holds no workers' progress");
  };
  struct stat status {};
  if (fstat(descriptor, &status) != 0) raise("fstat");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < sizeof(Header)) refuse();
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) raise("mmap");
  WorkerProgress progress(descriptor, static_cast<std::byte*>(memory), size);
  const auto& header = *reinterpret_cast<const Header*>(memory);
  if (header.magic != kMagic || size != sizeof(Header) + header.worker_count * sizeof(WorkerLine)) {
    refuse();
  }
  return progress;
}

std::size_t WorkerProgress::worker_count() const {
  return reinterpret_cast<const Header*>(memory_)->worker_count;
}

WorkerLine& WorkerProgress::line(std::size_t worker) const {
  if (worker >= worker_count()) {
    throw SystemError("there is no worker " + std::to_string(worker) + " among " +
                      std::to_string(worker_count()));
  }
  return *reinterpret_cast<WorkerLine*>(memory_ + sizeof(Header) + worker * sizeof(WorkerLine));
}

}  // namespace doppler
