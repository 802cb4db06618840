#include "common/worker_supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"

extern char** environ;

namespace doppler {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);

// A worker that believed itself an MPI process would wait for one; and its libraries must not start
// threads of their own.
constexpr std::array<std::string_view, 5> kStrippedPrefixes = {"OMPI_", "PMIX_", "PMI_", "ORTE_",
                                                               "PRTE_"};

std::vector<std::string> worker_environment(const std::string& keys) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool stripped =
        std::any_of(kStrippedPrefixes.begin(), kStrippedPrefixes.end(),
                    [&](std::string_view prefix) { return text.starts_with(prefix); });
    if (!stripped && !text.starts_with("OMP_NUM_THREADS=")) result.emplace_back(text);
  }
  result.push_back("OMP_NUM_THREADS=1");
  result.push_back(std::string(kRunKeysVariable) + "=" + keys);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string describe_status(int status) {
  if (WIFEXITED(status)) return "exited with code " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    return std::string("was killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with status " + std::to_string(status);
}

std::string in_seconds(std::chrono::nanoseconds duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

SupervisionLimits supervision_limits_from_environment() {
  SupervisionLimits limits;
  const char* variable = std::getenv(kHangDeadlineVariable);
  if (variable == nullptr) return limits;
  const std::string_view text(variable);
  std::uint32_t milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc() || end != text.data() + text.size() || milliseconds == 0) {
    throw ConfigError(std::string(kHangDeadlineVariable) + ": '" + variable +
                      "' is no positive number of milliseconds");
  }
  limits.starting = limits.idle = limits.playing = std::chrono::milliseconds(milliseconds);
  limits.playing_factor = 0;
  return limits;
}

WorkerSupervisor::WorkerSupervisor(WorkerLaunch launch, std::uint32_t worker_count,
                                   const SupervisionLimits& limits)
    : launch_(std::move(launch)),
      limits_(limits),
      progress_(WorkerProgress::create(worker_count)),
      workers_(worker_count),
      last_poll_(Clock::now()) {}

WorkerSupervisor::~WorkerSupervisor() {
  stop(std::chrono::milliseconds(0));
}

void WorkerSupervisor::start(std::uint32_t index) {
  Worker& worker = workers_[index];
  progress_.line(index).reset();
  std::vector<std::string> arguments = {launch_.program,
                                        "--endpoint",
                                        launch_.endpoint,
                                        "--host",
                                        std::to_string(launch_.host),
                                        "--worker",
                                        std::to_string(index),
                                        "--incarnation",
                                        std::to_string(worker.incarnation),
                                        "--run-token",
                                        std::to_string(launch_.run_token),
                                        "--parent",
                                        std::to_string(getpid())};
  std::vector<std::string> environment = worker_environment(launch_.keys);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, launch_.weights_descriptor, kWeightsDescriptor);
  posix_spawn_file_actions_adddup2(&actions, progress_.descriptor(), kProgressDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, kProgressDescriptor + 1);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGHUP}) {
    sigaddset(&defaults, number);
  }
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, launch_.program.c_str(), &actions, &attributes,
                                argument_pointers.data(), environment_pointers.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw SystemError("posix_spawn(" + launch_.program + "): " + std::strerror(error));
  }
  worker.pid = pid;
  worker.seen_beats = 0;
  worker.still = std::chrono::nanoseconds(0);
  worker.verdict = Verdict::kFine;
}

std::string WorkerSupervisor::name(std::uint32_t index) const {
  return "worker " + std::to_string(launch_.host) + "." + std::to_string(index) + " (process " +
         std::to_string(workers_[index].pid) + ")";
}

std::string WorkerSupervisor::bury(std::uint32_t index, int status) {
  Worker& worker = workers_[index];
  const std::string text = name(index) + " " + describe_status(status);
  worker.pid = -1;
  ++worker.incarnation;
  const bool worked = progress_.line(index).episodes() > 0;
  worker.fruitless_deaths = worked ? 0 : worker.fruitless_deaths + 1;
  if (worker.fruitless_deaths >= limits_.death_limit) {
    worker.given_up = true;
    return text + "; given up after " + std::to_string(limits_.death_limit) +
           " deaths in a row without a finished episode";
  }
  std::chrono::milliseconds delay(0);
  if (worker.fruitless_deaths > 0) delay = std::min(limits_.first_delay, limits_.longest_delay);
  for (std::uint32_t i = 1; i < worker.fruitless_deaths; ++i) {
    delay = std::min(limits_.longest_delay, delay * 2);
  }
  worker.restart_at = Clock::now() + delay;
  ++restart_count_;
  return text + "; restarting in " + std::to_string(delay.count()) + " ms";
}

std::chrono::nanoseconds WorkerSupervisor::deadline(WorkerPhase phase) const {
  switch (phase) {
    case WorkerPhase::kStarting:
      return limits_.starting;
    case WorkerPhase::kIdle:
      return limits_.idle;
    case WorkerPhase::kPlaying:
      break;
  }
  return std::max<std::chrono::nanoseconds>(limits_.playing,
                                            limits_.playing_factor * longest_episode_);
}

void WorkerSupervisor::watch(std::uint32_t index, Clock::time_point now,
                             std::vector<std::string>& events) {
  Worker& worker = workers_[index];
  if (worker.verdict == Verdict::kKilled) return;
  if (worker.verdict == Verdict::kAsked) {
    if (now < worker.kill_at) return;
    worker.verdict = Verdict::kKilled;
    kill(-worker.pid, SIGKILL);
    events.push_back(name(index) + " did not end when it was asked to; killed");
    return;
  }
  const WorkerLine& line = progress_.line(index);
  longest_episode_ = std::max(longest_episode_, line.longest_episode());
  const std::uint64_t beats = line.beats();
  if (beats != worker.seen_beats) {
    worker.seen_beats = beats;
    worker.still = std::chrono::nanoseconds(0);
    return;
  }
  const WorkerPhase phase = line.phase();
  const std::chrono::nanoseconds allowed = deadline(phase);
  // What passed since the last look counts for half of the deadline at most: where this process
  // itself was stopped, or the whole machine, its workers were too.
  worker.still += std::min<std::chrono::nanoseconds>(now - last_poll_, allowed / 2);
  if (worker.still <= allowed) return;
  worker.verdict = Verdict::kAsked;
  worker.kill_at = now + limits_.grace;
  kill(-worker.pid, SIGTERM);
  events.push_back(name(index) + " hangs: no progress for " + in_seconds(worker.still) + " while " +
                   phase_name(phase) + "; asked to end");
}

std::vector<std::string> WorkerSupervisor::poll() {
  std::vector<std::string> events;
  const auto now = Clock::now();
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].pid < 0) continue;
    int status = 0;
    if (waitpid(workers_[i].pid, &status, WNOHANG) == workers_[i].pid) {
      events.push_back(bury(i, status));
    } else {
      watch(i, now, events);
    }
  }
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (worker.pid < 0 && !worker.given_up && now >= worker.restart_at) start(i);
  }
  last_poll_ = now;
  if (!workers_.empty() &&
      std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.given_up; })) {
    throw SystemError("every worker of host " + std::to_string(launch_.host) +
                      " keeps dying before it finishes an episode; their messages stand above");
  }
  return events;
}

void WorkerSupervisor::stop(std::chrono::milliseconds grace) {
  const auto deadline = Clock::now() + grace;
  bool asked = false;
  while (running_count() > 0) {
    const bool late = Clock::now() >= deadline;
    for (Worker& worker : workers_) {
      if (worker.pid < 0) continue;
      int status = 0;
      if (!asked || late) kill(-worker.pid, late ? SIGKILL : SIGTERM);
      if (waitpid(worker.pid, &status, late ? 0 : WNOHANG) == worker.pid) worker.pid = -1;
    }
    asked = true;
    if (running_count() > 0) std::this_thread::sleep_for(kPollInterval);
  }
  for (Worker& worker : workers_) worker.given_up = true;
}

std::size_t WorkerSupervisor::running_count() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const Worker& w) { return w.pid >= 0; }));
}

std::vector<pid_t> WorkerSupervisor::process_ids() const {
  std::vector<pid_t> result;
  for (const Worker& worker : workers_) {
    if (worker.pid >= 0) result.push_back(worker.pid);
  }
  return result;
}

}  // namespace doppler
