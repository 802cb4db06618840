#include "actors/ticket_player.h"

#include "actors/heuristic_policy.h"
#include "actors/learned_policy.h"
#include "actors/rollout.h"
#include "common/check.h"

namespace doppler {

TicketPlayer::TicketPlayer(const PlayerSettings& settings, std::vector<PlayableGraph> graphs)
    : settings_(settings), graphs_(std::move(graphs)) {
  for (const PlayableGraph& graph : graphs_) {
    episodes_.push_back(std::make_unique<Episode>(*graph.costs));
  }
}

bool TicketPlayer::accepts(const Ticket& ticket, const WeightSnapshot& weights) const {
  return ticket.graph < graphs_.size() && weights.tables.size() == graphs_.size() &&
         weights.version == ticket.weight_version &&
         weights.tables[ticket.graph].select_scores.size() ==
             graphs_[ticket.graph].costs->graph().operation_count();
}

Result TicketPlayer::play(const Ticket& ticket, const WeightSnapshot& weights,
                          const std::function<void(std::chrono::nanoseconds)>& after_episode) {
  DP_CHECK(accepts(ticket, weights));
  PlayableGraph& graph = graphs_[ticket.graph];
  const HeadTables& tables = weights.tables[ticket.graph];
  const Exploration exploration{.greedy = ticket.greedy, .epsilon = ticket.epsilon};
  const bool teach = ticket.stage == Stage::kImitation && ticket.purpose == TicketPurpose::kTrain;

  const SelectHead select_head(tables.select_scores);
  std::unique_ptr<NodePolicy> node_policy;
  std::unique_ptr<DevicePolicy> device_policy;
  if (teach && graph.teacher_plan) {
    node_policy = std::make_unique<PlannedNodePolicy>(*graph.teacher_plan);
    device_policy = std::make_unique<PlannedDevicePolicy>(*graph.teacher_plan);
  } else {
    if (teach || settings_.select == SelectPolicy::kCriticalPath) {
      node_policy = std::make_unique<CriticalPathNodePolicy>(*graph.levels);
    } else {
      node_policy = std::make_unique<LearnedNodePolicy>(select_head, exploration);
    }
    if (teach || settings_.place == PlacePolicy::kEarliestStart) {
      device_policy = std::make_unique<EarliestStartDevicePolicy>();
    } else {
      device_policy = std::make_unique<LearnedDevicePolicy>(
          weights.shape, tables, weights.weights,
          static_cast<std::size_t>(graph.costs->device_count()), exploration);
    }
  }

  Result result;
  result.ticket = ticket.id;
  result.attempt = ticket.attempt;
  result.trajectories.resize(ticket.count);
  auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < ticket.count; ++i) {
    Trajectory& trajectory = result.trajectories[i];
    trajectory.episode = ticket.first_episode + i;
    trajectory.graph = ticket.graph;
    trajectory.stage = ticket.stage;
    trajectory.ticket = ticket.id;
    trajectory.attempt = ticket.attempt;
    trajectory.lineage = ticket.lineage;
    trajectory.weight_version = ticket.weight_version;
    trajectory.worker = settings_.worker_number;
    play_episode(episode_seed(settings_.run_seed, trajectory.episode), *episodes_[ticket.graph],
                 *node_policy, *device_policy, *graph.executor, assignment_, trajectory);
    if (!after_episode) continue;
    const auto end = std::chrono::steady_clock::now();
    after_episode(end - begin);
    begin = end;
  }
  return result;
}

}  // namespace doppler
