// TicketPlayer: turns a ticket into its result. What it returns is a function of the ticket, the
// weights of the version that the ticket names, and the run; not of who plays it or when.
#ifndef DOPPLER_ACTORS_TICKET_PLAYER_H_
#define DOPPLER_ACTORS_TICKET_PLAYER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/planned_policy.h"
#include "common/config.h"
#include "common/cost_table.h"
#include "common/episode.h"
#include "common/executor.h"
#include "common/head_gradient.h"
#include "common/levels.h"
#include "common/message.h"
#include "common/weight_snapshot.h"

namespace doppler {

// A graph of the run and what is needed to play it. Everything must outlive the player.
struct PlayableGraph {
  const CostTable* costs = nullptr;
  const Levels* levels = nullptr;
  Executor* executor = nullptr;
  // What the real stage measures on, made when it is first asked for; empty: this worker cannot.
  std::function<Executor&()> real_executor;
  std::optional<Plan> teacher_plan;  // where the teacher is no policy but a baseline's result
};

struct PlayerSettings {
  std::uint64_t run_seed = 0;
  std::uint32_t worker_number = 0;
  SelectPolicy select = SelectPolicy::kLearned;
  PlacePolicy place = PlacePolicy::kLearned;
};

class TicketPlayer {
 public:
  TicketPlayer(const PlayerSettings& settings, std::vector<PlayableGraph> graphs);

  // Whether the ticket speaks of this run's graphs and of weights that fit them.
  bool accepts(const Ticket& ticket, const WeightSnapshot& weights) const;
  // Precondition: accepts(ticket, weights). `after_episode`, where it is given, is told how long
  // each took.
  Result play(const Ticket& ticket, const WeightSnapshot& weights,
              const std::function<void(std::chrono::nanoseconds)>& after_episode = {});

 private:
  PlayerSettings settings_;
  std::vector<PlayableGraph> graphs_;
  std::vector<std::unique_ptr<Episode>> episodes_;      // [graphs]
  std::vector<std::unique_ptr<HeadGradient>> replays_;  // [graphs], made when first asked for
  Assignment assignment_;                               // scratch
};

}  // namespace doppler

#endif  // DOPPLER_ACTORS_TICKET_PLAYER_H_
