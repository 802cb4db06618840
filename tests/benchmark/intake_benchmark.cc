// What the learner's one core takes in: results of workers over a real socket, checked against the
// book, decoded, and replayed (without gradient, with it, or with the workers' gradients checked
// and summed instead); and how many simultaneous workers it serves. Time is the learner thread's
// CPU time, so that the fake workers of the same machine do not count. DOPPLER_PUBLIC_DATA names
// the folder of the paper's graphs; without it a generated one is used.
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "common/graph_text.h"
#include "common/head_gradient.h"
#include "common/log_probability_replay.h"
#include "common/workload_chain_mm.h"
#include "learner/ticket_desk.h"
#include "tests/support/rollouts.h"

namespace doppler {
namespace {

using std::chrono::milliseconds;

constexpr int kDeviceCount = 4;
constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kToken = 7;
constexpr std::uint32_t kBatchEpisodes = 512;
constexpr HeadShape kShape{.aggregate_rank = 8, .place_hidden = 16};

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Workers that answer every ticket at once with an episode that was played before.
class FakeWorkers {
 public:
  FakeWorkers(const std::string& endpoint, const ClientKeys& keys, std::uint32_t count,
              Trajectory played, GroupGradient gradient)
      : played_(std::move(played)), gradient_(std::move(gradient)) {
    for (std::uint32_t i = 0; i < count; ++i) {
      sockets_.push_back(
          std::make_unique<WorkerSocket>(endpoint, "0." + std::to_string(i) + ".0", keys));
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

 private:
  void run(const std::stop_token& stop) {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      const Hello hello{
          .worker = static_cast<std::uint32_t>(i), .run_token = kToken, .machine = ""};
      sockets_[i]->send(encode(hello), milliseconds(60000));
    }
    while (!stop.stop_requested()) {
      bool idle = true;
      for (const auto& socket : sockets_) {
        const auto message = socket->receive(milliseconds(0));
        if (!message) continue;
        idle = false;
        answer(*socket, *message);
      }
      if (idle) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void answer(WorkerSocket& socket, const std::vector<std::byte>& message) {
    if (message_kind(message) == MessageKind::kWelcome) {
      socket.send(encode(Credit{4}), milliseconds(60000));
      return;
    }
    const auto ticket = decode_ticket(message);
    if (!ticket) return;
    Result result;
    result.ticket = ticket->id;
    for (std::uint32_t i = 0; i < ticket->count; ++i) {
      Trajectory& trajectory = result.trajectories.emplace_back(played_);
      trajectory.episode = ticket->first_episode + i;
      trajectory.ticket = ticket->id;
      trajectory.weight_version = ticket->weight_version;
      trajectory.seed = episode_seed(kSeed, trajectory.episode);
    }
    if (ticket->gradient) result.gradient = gradient_;
    socket.send(encode(result), milliseconds(60000));
  }

  Trajectory played_;
  GroupGradient gradient_;
  std::vector<std::unique_ptr<WorkerSocket>> sockets_;
  std::jthread thread_;
};

// What is done with a trajectory once it is decoded.
enum class Replay { kNone, kLogProbabilities, kGradient, kByWorkers };

class Intake {
 public:
  explicit Intake(const Graph& graph, std::uint32_t workers, std::uint32_t group)
      : group_(group),
        costs_(CostTable::reference(graph, kDeviceCount)),
        levels_(compute_levels(costs_)),
        snapshot_(test::random_snapshot(graph.operation_count(), kShape, 1)),
        head_(snapshot_.tables[0].select_scores),
        gradient_(kShape, costs_, levels_, SelectPolicy::kLearned, PlacePolicy::kLearned),
        replay_(kShape, costs_, SelectPolicy::kLearned, PlacePolicy::kLearned),
        keys_(make_server_keys()),
        socket_({"tcp://127.0.0.1:*"}, keys_),
        joined_(socket_, {.run_token = kToken}),
        book_(kSeed, 0, 0, {}),
        desk_(socket_, book_, welcome(graph), kToken, joined_),
        workers_(socket_.endpoints()[0], keys_.for_clients(), workers,
                 test::sample_episode(costs_, snapshot_, 1), sample_gradient(group)) {
    gradients_.reset(kShape, graph.operation_count());
    while (desk_.worker_count() < workers) desk_.poll(milliseconds(10));
  }

  // One batch, from its opening to its gradient. Returns how many episodes it held.
  std::size_t take_batch(Replay replay) {
    BatchOrder order;
    order.batch = ++batch_;
    order.episodes = kBatchEpisodes;
    order.group_episodes = group_;
    if (replay == Replay::kByWorkers) order.gradient = kOrder;
    book_.open(order);
    while (!book_.complete(batch_)) desk_.poll(milliseconds(2));
    std::size_t episodes = 0;
    for (const ClosedTicket& closed : book_.close(batch_)) {
      if (closed.gradient) {
        if (!is_sound(*closed.gradient, kShape, costs_.graph().operation_count())) std::abort();
        gradients_.add(closed.gradient->sum);
      }
      for (const Trajectory& trajectory : closed.trajectories) {
        ++episodes;
        if (!take(trajectory, replay)) std::abort();
      }
    }
    book_.count(TrajectoryStatus::kTrained, episodes);
    book_.check_identity();
    return episodes;
  }

 private:
  static constexpr GradientOrder kOrder{
      .episode_weight = 1.0F / kBatchEpisodes, .entropy_weight = 0.1F, .clip_ratio = 0.2F};

  bool take(const Trajectory& trajectory, Replay replay) {
    switch (replay) {
      case Replay::kNone:
        return true;
      case Replay::kByWorkers:
        return gradient_.replays(trajectory);
      case Replay::kLogProbabilities:
        return replay_.replay(trajectory, snapshot_.tables[0], snapshot_.weights, head_)
            .has_value();
      case Replay::kGradient:
        break;
    }
    return gradient_
        .add(trajectory, snapshot_.tables[0], snapshot_.weights, head_,
             {.advantage = 1, .entropy_weight = 0.1F, .clip_ratio = 0.2F}, gradients_)
        .has_value();
  }
  GroupGradient sample_gradient(std::uint32_t group) {
    std::vector<Trajectory> trajectories;
    for (std::uint32_t i = 0; i < group; ++i) {
      trajectories.push_back(test::sample_episode(costs_, snapshot_, i));
    }
    return group_gradient(trajectories, snapshot_, head_, kOrder, gradient_);
  }
  static Welcome welcome(const Graph& graph) {
    Welcome welcome;
    welcome.run_seed = kSeed;
    welcome.graphs.push_back(graph);
    return welcome;
  }

  std::uint32_t group_;
  CostTable costs_;
  Levels levels_;
  WeightSnapshot snapshot_;
  SelectHead head_;
  HeadGradient gradient_;
  LogProbabilityReplay replay_;
  HeadGradients gradients_;
  ServerKeys keys_;
  LearnerSocket socket_;
  JoinedHosts joined_;
  TicketBook book_;
  TicketDesk desk_;
  std::uint64_t batch_ = 0;
  FakeWorkers workers_;
};

void take_in(benchmark::State& state, const Graph& graph, std::uint32_t workers,
             std::uint32_t group, Replay replay) {
  Intake intake(graph, workers, group);
  intake.take_batch(replay);
  std::size_t episodes = 0;
  double seconds = 0;
  for (auto _ : state) {
    const double began = thread_seconds();
    episodes += intake.take_batch(replay);
    const double used = thread_seconds() - began;
    seconds += used;
    state.SetIterationTime(used);
  }
  state.counters["trajectories_per_cpu_second"] = static_cast<double>(episodes) / seconds;
}

Graph benchmark_graph() {
  if (const char* folder = std::getenv("DOPPLER_PUBLIC_DATA")) {
    const auto path =
        std::filesystem::path(folder) / "doppler/gdp_full_transformer_layer_261nodes.txt";
    if (std::filesystem::exists(path)) return load_graph_text(path.string()).graph;
  }
  return generate_chain_mm({});
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  // Each fake worker is a ZeroMQ context of its own.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  benchmark::Initialize(&argc, argv);
  const auto graph = std::make_shared<const doppler::Graph>(doppler::benchmark_graph());
  using doppler::Replay;
  const auto add = [&](const std::string& name, std::uint32_t workers, std::uint32_t group,
                       Replay replay) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      doppler::take_in(state, *graph, workers, group, replay);
    })->UseManualTime();
  };
  add("receive_check_decode", 4, 8, Replay::kNone);
  add("receive_check_decode_log_probabilities", 4, 8, Replay::kLogProbabilities);
  add("receive_check_decode_gradient", 4, 8, Replay::kGradient);
  add("receive_check_decode_gradient_by_workers/groups_of_8", 4, 8, Replay::kByWorkers);
  add("receive_check_decode_gradient_by_workers/groups_of_32", 4, 32, Replay::kByWorkers);
  add("receive_check_decode/500_workers", 500, 1, Replay::kNone);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
