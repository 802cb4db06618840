#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/doctor.h"

namespace doppler {
namespace {

constexpr std::size_t kProbeBytes = 16 << 20;
// Open MPI's shared-memory transport takes about 4 MB a rank of the node.
constexpr double kSmallMegabytes = 64;

Check check_memfd() {
  Check check{.name = "memfd", .finding = "works"};
  const int descriptor = memfd_create("doppler-doctor", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, kProbeBytes) != 0) {
    check.outcome = CheckOutcome::kFailed;
    check.finding = std::strerror(errno);
    check.cure = "weights lie in it; a kernel since 3.17 has it, look at the sandbox or the limits";
  } else {
    void* memory = mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
      check.outcome = CheckOutcome::kFailed;
      check.finding = fmt::format("mmap: {}", std::strerror(errno));
      check.cure = "weights lie in it; raise the limit of memory (ulimit -v)";
    } else {
      munmap(memory, kProbeBytes);
    }
  }
  if (descriptor >= 0) close(descriptor);
  return check;
}

Check check_dev_shm() {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) {
    return {"/dev/shm", CheckOutcome::kWarning, "there is none",
            "MPI uses it between ranks of one node; mount a tmpfs there, or set "
            "OMPI_MCA_btl=^vader"};
  }
  const double free =
      static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / (1 << 20);
  Check check{.name = "/dev/shm", .finding = fmt::format("{:.0f} MB free", free)};
  if (free < kSmallMegabytes) {
    check.outcome = CheckOutcome::kWarning;
    check.cure = "several ranks on this node may want more; a container gets it by --shm-size=1g";
  }
  return check;
}

}  // namespace

Checks check_shared_memory() {
  return {check_memfd(), check_dev_shm()};
}

}  // namespace doppler
