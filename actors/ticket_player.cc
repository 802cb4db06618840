#include "actors/ticket_player.h"

#include "actors/planned_policy.h"
#include "actors/policies.h"
#include "actors/rollout.h"
#include "common/check.h"

namespace doppler {

TicketPlayer::TicketPlayer(const PlayerSettings& settings, std::vector<PlayableGraph> graphs)
    : settings_(settings), graphs_(std::move(graphs)) {
  for (const PlayableGraph& graph : graphs_) {
    episodes_.push_back(std::make_unique<Episode>(*graph.costs));
  }
  replays_.resize(graphs_.size());
}

bool TicketPlayer::accepts(const Ticket& ticket, const WeightSnapshot& weights) const {
  return ticket.graph < graphs_.size() && weights.tables.size() == graphs_.size() &&
         (ticket.stage != Stage::kReal || graphs_[ticket.graph].real_executor) &&
         (ticket.purpose == TicketPurpose::kMeasure) == ticket.placement.has_value() &&
         (!ticket.placement ||
          is_plan_of(ticket.placement->plan, graphs_[ticket.graph].costs->graph(),
                     graphs_[ticket.graph].costs->device_count())) &&
         (weights.version == ticket.weight_version ||
          (ticket.newest && weights.version > ticket.weight_version)) &&
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
  Episode& episode = *episodes_[ticket.graph];
  Executor& executor = ticket.stage == Stage::kReal ? graph.real_executor() : *graph.executor;
  const auto follow = [](const Plan& plan) -> Policies {
    return {std::make_unique<PlannedNodePolicy>(plan), std::make_unique<PlannedDevicePolicy>(plan)};
  };
  Policies policies;
  if (ticket.placement) {
    policies = follow(ticket.placement->plan);
  } else if (!teach) {
    const Heads heads{&weights.shape, &tables, &weights.weights, &select_head};
    policies = make_policies(settings_.select, settings_.place, heads, *graph.levels, episode,
                             exploration);
  } else if (graph.teacher_plan) {
    policies = follow(*graph.teacher_plan);
  } else {
    policies = make_critical_path_policies(*graph.levels);
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
    trajectory.weight_version = weights.version;
    trajectory.worker = settings_.worker_number;
    play_episode(episode_seed(settings_.run_seed, trajectory.episode), episode, *policies.node,
                 *policies.device, executor, assignment_, trajectory);
    if (!after_episode) continue;
    const auto end = std::chrono::steady_clock::now();
    after_episode(end - begin);
    begin = end;
  }
  if (ticket.gradient && ticket.count > 0) {
    std::unique_ptr<HeadGradient>& replay = replays_[ticket.graph];
    if (!replay) {
      replay = std::make_unique<HeadGradient>(weights.shape, *graph.costs, *graph.levels,
                                              settings_.select, settings_.place);
    }
    result.gradient =
        group_gradient(result.trajectories, weights, select_head, *ticket.gradient, *replay);
  }
  return result;
}

}  // namespace doppler
