#include "actors/joined_host.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "common/channel.h"
#include "common/error.h"
#include "common/join_file.h"
#include "common/log.h"
#include "common/message.h"
#include "common/program_path.h"
#include "common/shared_weights.h"
#include "common/text_file.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPoll(5);
constexpr milliseconds kSupervisePeriod(50);
constexpr milliseconds kSignOfLife(1000);
constexpr milliseconds kLookAtFile(1000);
constexpr milliseconds kAskAgain(5000);
constexpr milliseconds kSendTimeout(1000);
constexpr milliseconds kWorkerGrace(2000);
constexpr std::chrono::seconds kLeastSilence(30);

std::string random_name() {
  std::random_device device;
  return "join." + std::to_string(device()) + "." + std::to_string(device());
}

std::string endpoint_of(const JoinFile& file) {
  if (!file.local_endpoint.empty() && file.place == this_place()) return file.local_endpoint;
  if (!file.network_endpoint.empty()) return file.network_endpoint;
  throw ConfigError(
      "this run can be joined from the learner's machine only; to open it to others, begin or "
      "resume it with network.join: network in its config.yaml");
}

// One life of the run: from its join file to its end.
class Session {
 public:
  enum class End { kGoodbye, kLeft, kAnotherLife };

  Session(const JoinOptions& options, const JoinFile& file)
      : options_(options),
        file_(file),
        endpoint_(endpoint_of(file)),
        socket_(endpoint_, random_name(), parse_client_keys(file.keys)) {}

  End run(const std::function<bool()>& leave_requested) {
    heard_at_ = Clock::now();
    while (true) {
      if (leave_requested()) {
        leave();
        return End::kLeft;
      }
      const auto now = Clock::now();
      if (now >= next_look_) {
        next_look_ = now + kLookAtFile;
        const auto newest = load_join_file(options_.run_dir);
        if (newest && newest->run_token != file_.run_token) return End::kAnotherLife;
      }
      if (now - heard_at_ > silence_limit_) {
        throw SystemError("run folder " + options_.run_dir + ": its learner has been silent for " +
                          std::to_string(silence_limit_.count()) + " s; this host gives up");
      }
      if (now >= next_word_) speak(now);
      if (const auto message = socket_.receive(kPoll)) {
        heard_at_ = Clock::now();
        if (message_kind(*message) == MessageKind::kGoodbye) {
          if (supervisor_) supervisor_->stop(kWorkerGrace);
          return End::kGoodbye;
        }
        take(*message);
      }
      if (supervisor_ && now >= next_supervision_) {
        next_supervision_ = now + kSupervisePeriod;
        for (const std::string& event : supervisor_->poll()) log_warning("{}", event);
      }
    }
  }

 private:
  void speak(Clock::time_point now) {
    if (!supervisor_) {
      const Join join{
          .run_token = file_.run_token, .machine = options_.machine, .workers = options_.workers};
      (void)socket_.send(encode(join), milliseconds(100));
      next_word_ = now + kAskAgain;
      return;
    }
    ask_for_weights();
  }

  void ask_for_weights() {
    (void)socket_.send(encode(WeightsWanted{weights_->newest_version()}), milliseconds(100));
    next_word_ = Clock::now() + kSignOfLife;
  }

  void take(std::span<const std::byte> message) {
    if (const auto refusal = decode_refusal(message)) {
      throw ConfigError("the learner refuses this host: " + refusal->reason);
    }
    if (const auto joined = decode_joined(message)) {
      if (!supervisor_) begin(*joined);
      return;
    }
    const auto weights = decode_weights_message(message);
    if (!weights || !weights_) return;
    // A version may come twice, when the first seemed lost.
    const auto newest = weights_->newest_version();
    if (!newest || weights->version > *newest) {
      weights_->publish(weights->version, weights->snapshot);
    }
    ask_for_weights();
  }

  void begin(const Joined& joined) {
    weights_.emplace(SharedWeights::create(joined.slot_count, joined.slot_capacity_bytes));
    const WorkerLaunch launch{.program = sibling_program(worker_program(joined.executes)),
                              .endpoint = endpoint_,
                              .keys = file_.keys,
                              .host = joined.host,
                              .run_token = file_.run_token,
                              .weights_descriptor = weights_->descriptor()};
    supervisor_.emplace(launch, options_.workers, options_.limits);
    log_info("joined {} as host {}, {} workers, learner at {}", options_.run_dir, joined.host,
             options_.workers, endpoint_);
    ask_for_weights();
  }

  // Workers finish what they play and send it; the learner gives the rest to others.
  void leave() {
    if (supervisor_) supervisor_->stop(options_.drain);
    (void)socket_.send(encode(Leave{}), kSendTimeout);
  }

  const JoinOptions& options_;
  // A learner that is there may be busy for longer than nobody is to be waited for.
  const std::chrono::seconds silence_limit_ = std::max(options_.patience, kLeastSilence);
  const JoinFile file_;
  const std::string endpoint_;
  WorkerSocket socket_;
  std::optional<SharedWeights> weights_;
  std::optional<WorkerSupervisor> supervisor_;
  Clock::time_point heard_at_;
  Clock::time_point next_look_;
  Clock::time_point next_word_;
  Clock::time_point next_supervision_;
};

// Where no learner can come, there is nothing to wait for.
void check_can_go_on(const std::string& run_dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(run_dir, error)) {
    throw ConfigError("run folder " + run_dir +
                      ": there is no such folder; give the folder of a run that goes on");
  }
  if (!std::filesystem::exists(run_dir + "/config.yaml", error)) {
    throw ConfigError("run folder " + run_dir +
                      ": there is no config.yaml in it; give the folder of a run that goes on");
  }
  // A run has a summary only after its end.
  const std::string summary = run_dir + "/summary.json";
  if (std::filesystem::exists(summary, error) &&
      read_text_file(summary).find("\"outcome\": \"done\"") != std::string::npos) {
    throw ConfigError("run folder " + run_dir + ": the run is done; there is nothing left to play");
  }
}

// nullopt: it was asked to leave meanwhile.
std::optional<JoinFile> wait_for_run(const JoinOptions& options,
                                     const std::function<bool()>& leave_requested) {
  const auto deadline = Clock::now() + options.patience;
  bool told = false;
  while (!leave_requested()) {
    if (auto file = load_join_file(options.run_dir)) return file;
    if (!told) log_info("no learner is at work in {}; waiting for one", options.run_dir);
    told = true;
    if (Clock::now() >= deadline) {
      throw SystemError("run folder " + options.run_dir + ": no learner came within " +
                        std::to_string(options.patience.count()) + " s");
    }
    std::this_thread::sleep_for(kSupervisePeriod);
  }
  return std::nullopt;
}

}  // namespace

JoinOutcome take_part(const JoinOptions& options, const std::function<bool()>& leave_requested) {
  check_can_go_on(options.run_dir);
  while (true) {
    const auto file = wait_for_run(options, leave_requested);
    if (!file) return JoinOutcome::kLeft;
    Session session(options, *file);
    switch (session.run(leave_requested)) {
      case Session::End::kGoodbye:
        return JoinOutcome::kRunEnded;
      case Session::End::kLeft:
        return JoinOutcome::kLeft;
      case Session::End::kAnotherLife:
        log_info("the run was resumed; joining it again");
        break;
    }
  }
}

}  // namespace doppler
