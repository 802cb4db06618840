// How long a weight version of 2 MB takes from the learner to the shared memory of every host, and
// what a host costs that waits: `mpirun -n 4 publication_benchmark [send|broadcast]`. All ranks
// must run on one machine, whose clock they share. Broadcast is MPI_Ibcast, for comparison: with
// it, a rank that stands still holds up all others.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>
#include <sys/resource.h>

#include "common/host_setup.h"
#include "common/mpi_link.h"
#include "common/shared_weights.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 2 << 20;
constexpr int kVersions = 200;
constexpr auto kPeriod = std::chrono::milliseconds(20);
constexpr auto kPoll = std::chrono::milliseconds(1);
constexpr auto kWaiting = std::chrono::seconds(5);

std::int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::vector<std::byte> stamped() {
  std::vector<std::byte> bytes(kBytes);
  const std::int64_t now = nanoseconds();
  std::memcpy(bytes.data(), &now, sizeof(now));
  return bytes;
}

double milliseconds_since(std::span<const std::byte> bytes) {
  std::int64_t then = 0;
  std::memcpy(&then, bytes.data(), sizeof(then));
  return 1e-6 * static_cast<double>(nanoseconds() - then);
}

void publish_by_sends(int world_size) {
  HostLinks links(world_size);
  const auto spend = [&](Clock::duration duration) {
    for (const auto end = Clock::now() + duration; Clock::now() < end;) {
      links.poll();
      std::this_thread::sleep_for(kPoll);
    }
  };
  spend(kWaiting);
  for (int version = 1; version <= kVersions; ++version) {
    links.send_weights(encode_host_weights(static_cast<std::uint64_t>(version), stamped()), 1);
    spend(kPeriod);
  }
  links.send(HostMessageKind::kStop, {});
  while (links.outstanding() > 0) spend(kPoll);
}

std::vector<double> receive_sends(SharedWeights& weights) {
  std::vector<double> latencies;
  LearnerLink link;
  while (true) {
    const auto message = link.receive();
    if (!message) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    if (message->kind == HostMessageKind::kStop) return latencies;
    const auto version = decode_host_weights(message->bytes);
    weights.publish(version->version, version->snapshot);
    latencies.push_back(milliseconds_since(version->snapshot));
  }
}

std::vector<double> broadcast(int rank, SharedWeights& weights) {
  std::vector<double> latencies;
  std::vector<std::byte> bytes(kBytes);
  if (rank == 0) std::this_thread::sleep_for(kWaiting);
  for (int version = 1; version <= kVersions; ++version) {
    if (rank == 0) {
      std::this_thread::sleep_for(kPeriod);
      bytes = stamped();
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(bytes.data(), static_cast<int>(kBytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) std::this_thread::sleep_for(kPoll);
    }
    if (rank == 0) continue;
    weights.publish(static_cast<std::uint64_t>(version), bytes);
    latencies.push_back(milliseconds_since(bytes));
  }
  return latencies;
}

// What waiting costs: before the first version comes.
double waiting_share() {
  const double began = cpu_seconds();
  const auto end = Clock::now() + kWaiting - std::chrono::seconds(1);
  while (Clock::now() < end) {
    int there = 0;
    MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(kPoll);
  }
  return (cpu_seconds() - began) / 4.0;
}

int publication_benchmark(const std::string& how) {
  MpiSession session;
  SharedWeights weights = SharedWeights::create(3, kBytes);
  double waiting = 0;
  std::vector<double> latencies;
  if (how == "broadcast") {
    latencies = broadcast(session.rank(), weights);
  } else if (session.rank() == 0) {
    publish_by_sends(session.size());
  } else {
    waiting = waiting_share();
    latencies = receive_sends(weights);
  }
  if (session.rank() > 0) {
    std::sort(latencies.begin(), latencies.end());
    const auto quantile = [&](double q) {
      return latencies[static_cast<std::size_t>(q * static_cast<double>(latencies.size() - 1))];
    };
    std::printf(
        "host %d, %s: %zu of %d versions; ms to shared memory: median %.2f, 95%% %.2f, "
        "largest %.2f\n",
        session.rank(), how.c_str(), latencies.size(), kVersions, quantile(0.5), quantile(0.95),
        latencies.back());
    if (waiting > 0) {
      std::printf("host %d: waiting uses %.2f%% of a core\n", session.rank(), 100 * waiting);
    }
    std::fflush(stdout);
  }
  session.finalize();
  return 0;
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::publication_benchmark(argc > 1 ? argv[1] : "send");
}
