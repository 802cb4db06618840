#include "common/mpi_link.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include <mpi.h>

#include "common/error.h"
#include "common/mpi_broadcast.h"

namespace doppler {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(1);

}  // namespace

MpiSession::MpiSession() {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED) {
    throw SystemError("MPI_Init_thread: this MPI offers no thread support (MPI_THREAD_FUNNELED)");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

MpiSession::~MpiSession() {
  if (finalized_) return;
  if (size_ > 1) {
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::kEnvironment));
  } else {
    MPI_Finalize();
  }
}

void MpiSession::finalize() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) std::this_thread::sleep_for(kPollInterval);
  }
  finalized_ = true;
  check_mpi(MPI_Finalize(), "MPI_Finalize");
}

void MpiSession::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

std::string MpiSession::processor_name() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  return {name.data(), static_cast<std::size_t>(length)};
}

struct HostLinks::Impl {
  struct Message {
    HostMessageKind kind;
    std::shared_ptr<const std::vector<std::byte>> bytes;
  };
  struct Host {
    std::deque<Message> queue;  // the front is being sent while `request` is active
    MPI_Request request = MPI_REQUEST_NULL;
    bool sending = false;
  };
  std::vector<Host> hosts;                   // host i is rank i + 1
  std::unique_ptr<BroadcastRoot> broadcast;  // null: versions are sent
  std::uint64_t conflated = 0;
};

HostLinks::HostLinks(int world_size) : impl_(std::make_unique<Impl>()) {
  impl_->hosts.resize(static_cast<std::size_t>(world_size - 1));
}

HostLinks::~HostLinks() = default;

int HostLinks::host_count() const {
  return static_cast<int>(impl_->hosts.size());
}

void HostLinks::send(HostMessageKind kind, std::vector<std::byte> bytes) {
  if (impl_->hosts.empty()) return;
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  for (Impl::Host& host : impl_->hosts) host.queue.push_back({kind, shared});
  poll();
}

void HostLinks::use_broadcasts(std::size_t bytes) {
  impl_->broadcast = std::make_unique<BroadcastRoot>(impl_->hosts.size(), bytes);
}

void HostLinks::end_weights() {
  if (impl_->broadcast) impl_->broadcast->end();
}

void HostLinks::send_weights(std::vector<std::byte> bytes, std::size_t keep) {
  if (impl_->broadcast) {
    impl_->broadcast->offer(std::move(bytes), keep);
    return;
  }
  send(HostMessageKind::kWeights, std::move(bytes));
  for (Impl::Host& host : impl_->hosts) {
    // The front may be on its way.
    const auto begin = host.queue.begin() + (host.sending ? 1 : 0);
    auto waiting =
        static_cast<std::size_t>(std::count_if(begin, host.queue.end(), [](const auto& m) {
          return m.kind == HostMessageKind::kWeights;
        }));
    for (auto at = begin; waiting > keep;) {
      if (at->kind != HostMessageKind::kWeights) {
        ++at;
        continue;
      }
      at = host.queue.erase(at);
      --waiting;
      ++impl_->conflated;
    }
  }
}

std::uint64_t HostLinks::conflated() const {
  return impl_->conflated + (impl_->broadcast ? impl_->broadcast->conflated() : 0);
}

std::vector<LateHost> HostLinks::late_hosts() const {
  return impl_->broadcast ? impl_->broadcast->late_hosts() : std::vector<LateHost>{};
}

std::vector<std::string> HostLinks::take_events() {
  return impl_->broadcast ? impl_->broadcast->take_events() : std::vector<std::string>{};
}

void HostLinks::poll() {
  if (impl_->broadcast) impl_->broadcast->poll(std::chrono::steady_clock::now());
  for (std::size_t i = 0; i < impl_->hosts.size(); ++i) {
    Impl::Host& host = impl_->hosts[i];
    if (host.sending) {
      int done = 0;
      check_mpi(MPI_Test(&host.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) continue;
      host.sending = false;
      host.queue.pop_front();
    }
    if (host.queue.empty()) continue;
    const Impl::Message& message = host.queue.front();
    check_mpi(MPI_Isend(message.bytes->data(), static_cast<int>(message.bytes->size()), MPI_BYTE,
                        static_cast<int>(i) + 1, static_cast<int>(message.kind), MPI_COMM_WORLD,
                        &host.request),
              "MPI_Isend");
    host.sending = true;
  }
}

std::size_t HostLinks::outstanding() const {
  std::size_t count = impl_->broadcast ? impl_->broadcast->outstanding() : 0;
  for (const Impl::Host& host : impl_->hosts) count += host.queue.size();
  return count;
}

struct LearnerLink::Impl {
  std::unique_ptr<BroadcastLeaf> broadcast;  // null: versions are sent
};

LearnerLink::LearnerLink() : impl_(std::make_unique<Impl>()) {}

LearnerLink::~LearnerLink() = default;

void LearnerLink::use_broadcasts(std::size_t bytes) {
  impl_->broadcast = std::make_unique<BroadcastLeaf>(bytes);
}

std::optional<HostMessage> LearnerLink::receive() {
  if (impl_->broadcast) {
    if (auto version = impl_->broadcast->take()) {
      return HostMessage{HostMessageKind::kWeights, std::move(*version)};
    }
  }
  int there = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
  if (there == 0) return std::nullopt;
  int size = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
  HostMessage message;
  message.kind = static_cast<HostMessageKind>(status.MPI_TAG);
  message.bytes.resize(static_cast<std::size_t>(size));
  check_mpi(MPI_Recv(message.bytes.data(), size, MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
  if (message.kind != HostMessageKind::kAreYouThere) return message;
  std::uint64_t question = 0;
  if (impl_->broadcast && message.bytes.size() == sizeof(question)) {
    std::memcpy(&question, message.bytes.data(), sizeof(question));
    impl_->broadcast->answer(question);
  }
  return std::nullopt;
}

void LearnerLink::finish() {
  while (impl_->broadcast && !impl_->broadcast->ended()) {
    if (!receive()) std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace doppler
