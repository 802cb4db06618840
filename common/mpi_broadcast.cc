#include "common/mpi_broadcast.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>

#include "common/check.h"
#include "common/error.h"

namespace doppler {
namespace {

// Tags of point-to-point messages beside those of HostMessageKind.
constexpr int kQuestionTag = static_cast<int>(HostMessageKind::kAreYouThere);
constexpr int kNoteTag = 100;
// In place of a version, at the head of the last broadcast.
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
// A host that lives is asked after the first and named after the second.
constexpr auto kAskAfter = std::chrono::milliseconds(500);
constexpr auto kLateAfter = std::chrono::milliseconds(2000);

double seconds(BroadcastRoot::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string in_tenths(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw SystemError(std::string(call) + ": " +
                    std::string(text.data(), static_cast<std::size_t>(length)));
}

BroadcastRoot::BroadcastRoot(std::size_t host_count, std::size_t bytes)
    : bytes_(bytes), hosts_(host_count) {}

BroadcastRoot::~BroadcastRoot() {
  for (Broadcast& broadcast : active_) (void)broadcast.bytes.release();
}

void BroadcastRoot::offer(std::vector<std::byte> version, std::size_t keep) {
  if (ended_) return;
  waiting_.push_back(std::move(version));
  poll(Clock::now());
  while (waiting_.size() > keep) {
    waiting_.pop_front();
    conflated_ += hosts_.size();
  }
}

void BroadcastRoot::end() {
  if (ended_) return;
  ended_ = true;
  waiting_.clear();
  std::vector<std::byte> last(bytes_);
  std::memcpy(last.data(), &kLast, sizeof(kLast));
  // At once, behind one that may be under way: whoever waits for it learns the rest by it.
  start(std::move(last), Clock::now());
}

void BroadcastRoot::start(std::vector<std::byte> bytes, Clock::time_point now) {
  DP_CHECK_EQ(bytes.size(), bytes_);
  Broadcast& broadcast = active_.emplace_back();
  broadcast.bytes = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  check_mpi(MPI_Ibcast(broadcast.bytes->data(), static_cast<int>(bytes_), MPI_BYTE, 0,
                       MPI_COMM_WORLD, &broadcast.request),
            "MPI_Ibcast");
  ++started_;
  started_at_ = now;
  asked_at_.reset();
}

bool BroadcastRoot::all_taken() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [&](const Host& host) { return host.taken == started_; });
}

void BroadcastRoot::poll(Clock::time_point now) {
  while (!active_.empty()) {
    int done = 0;
    check_mpi(MPI_Test(&active_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) break;
    active_.pop_front();
  }
  take_notes();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].late && hosts_[i].taken == started_) settle(i, now);
  }
  if (!all_taken()) {
    watch(now);
    return;
  }
  if (!active_.empty() || waiting_.empty()) return;
  std::vector<std::byte> next = std::move(waiting_.front());
  waiting_.pop_front();
  start(std::move(next), now);
}

void BroadcastRoot::take_notes() {
  while (true) {
    int there = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
    if (there == 0) return;
    std::array<std::uint64_t, 2> numbers{};
    check_mpi(MPI_Recv(numbers.data(), static_cast<int>(sizeof(numbers)), MPI_BYTE,
                       status.MPI_SOURCE, kNoteTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    Host& host = hosts_.at(static_cast<std::size_t>(status.MPI_SOURCE) - 1);
    host.taken = std::max(host.taken, numbers[0]);
    host.lives = std::max(host.lives, numbers[1]);
  }
}

// A host below a frozen one in MPI's tree has not taken the version either. Who lives says so.
void BroadcastRoot::ask(Clock::time_point now) {
  ++questions_;
  asked_at_ = now;
  std::erase_if(sends_, [](MPI_Request& request) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  // The numbers outlive their sends.
  const std::uint64_t& number = question_numbers_.emplace_back(questions_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].taken == started_) continue;
    MPI_Request& request = sends_.emplace_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(&number, static_cast<int>(sizeof(number)), MPI_BYTE,
                        static_cast<int>(i) + 1, kQuestionTag, MPI_COMM_WORLD, &request),
              "MPI_Isend");
  }
}

void BroadcastRoot::watch(Clock::time_point now) {
  if (now - started_at_ >= kAskAfter && !asked_at_) ask(now);
  if (now - started_at_ < kLateAfter || !asked_at_) return;
  const bool some_silent = std::any_of(hosts_.begin(), hosts_.end(), [&](const Host& host) {
    return host.taken < started_ && host.lives < questions_;
  });
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    // Where all answer, it is the transport that is slow, and all that lack the version are named.
    if (host.late || host.taken == started_ || (some_silent && host.lives == questions_)) continue;
    host.late = true;
    events_.push_back("host " + std::to_string(i + 1) + " has not taken part in broadcast " +
                      std::to_string(started_) + " of the weights for " +
                      in_tenths(seconds(now - started_at_)) +
                      " s and holds up all others; is it stopped or overloaded?");
  }
}

void BroadcastRoot::settle(std::size_t host, Clock::time_point now) {
  hosts_[host].late = false;
  hosts_[host].late_seconds += seconds(now - started_at_);
  events_.push_back("host " + std::to_string(host + 1) + " takes part again, after " +
                    in_tenths(seconds(now - started_at_)) + " s");
}

std::size_t BroadcastRoot::outstanding() const {
  return waiting_.size() + std::max<std::size_t>(active_.size(), all_taken() ? 0 : 1);
}

std::vector<LateHost> BroadcastRoot::late_hosts() const {
  std::vector<LateHost> result;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    double late = hosts_[i].late_seconds;
    if (hosts_[i].late) late += seconds(Clock::now() - started_at_);
    if (late > 0) result.push_back({static_cast<std::uint32_t>(i + 1), late, hosts_[i].late});
  }
  return result;
}

std::vector<std::string> BroadcastRoot::take_events() {
  return std::exchange(events_, {});
}

BroadcastLeaf::BroadcastLeaf(std::size_t bytes) : bytes_(bytes) {
  post();
}

void BroadcastLeaf::post() {
  buffer_.resize(bytes_);
  check_mpi(
      MPI_Ibcast(buffer_.data(), static_cast<int>(bytes_), MPI_BYTE, 0, MPI_COMM_WORLD, &request_),
      "MPI_Ibcast");
}

std::optional<std::vector<std::byte>> BroadcastLeaf::take() {
  if (ended_) return std::nullopt;
  int done = 0;
  check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  if (done == 0) return std::nullopt;
  ++taken_;
  note(0);
  std::uint64_t head = 0;
  std::memcpy(&head, buffer_.data(), sizeof(head));
  if (head == kLast) {
    ended_ = true;
    return std::nullopt;
  }
  std::vector<std::byte> version = std::move(buffer_);
  post();
  return version;
}

void BroadcastLeaf::answer(std::uint64_t question) {
  note(question);
}

void BroadcastLeaf::note(std::uint64_t question) {
  while (!notes_.empty()) {
    int done = 0;
    check_mpi(MPI_Test(&notes_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) break;
    notes_.pop_front();
  }
  Note& note = notes_.emplace_back();
  note.numbers = std::make_unique<std::uint64_t[]>(2);
  note.numbers[0] = taken_;
  note.numbers[1] = question;
  check_mpi(MPI_Isend(note.numbers.get(), 2 * static_cast<int>(sizeof(std::uint64_t)), MPI_BYTE, 0,
                      kNoteTag, MPI_COMM_WORLD, &note.request),
            "MPI_Isend");
}

}  // namespace doppler
