#include "learner/batch_gradient.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "common/advantages.h"
#include "common/check.h"
#include "common/energy.h"

namespace doppler {
namespace {

// Gradients are summed within chunks of this many trajectories and then over chunks in order, so
// that the sum does not depend on how many threads there are.
constexpr std::size_t kChunkTrajectories = 8;

}  // namespace

std::vector<float> batch_advantages(const std::vector<Trajectory>& batch, double transfer_weight,
                                    std::span<const TrainingGraph> graphs, Replayers& replayers) {
  std::vector<float> advantages(batch.size(), 0.0F);
  for (std::uint32_t g = 0; g < graphs.size(); ++g) {
    std::vector<SimTime> energies;
    std::vector<double> noise;
    for (const Trajectory& trajectory : batch) {
      if (trajectory.graph != g) continue;
      // What a worker sends may be anything.
      const bool sound = transfer_weight > 0 && replayers.of(g).replays(trajectory);
      energies.push_back(sound ? energy(*graphs[g].costs, trajectory, transfer_weight)
                               : trajectory.makespan);
      noise.push_back(noise_variance(trajectory));
    }
    std::vector<float> normalised = normalised_advantages(energies);
    shrink_by_noise(energies, noise, normalised);
    std::size_t next = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].graph == g) advantages[i] = normalised[next++];
    }
  }
  return advantages;
}

std::vector<std::optional<ReplayStatistics>> BatchGradient::sum(
    const std::vector<Trajectory>& batch, std::span<const float> advantages, const LossTerm& term,
    const ReplayHeads& heads, std::span<Replayers> replayers,
    std::vector<HeadGradients>& gradients) {
  DP_CHECK(!batch.empty());
  DP_CHECK_EQ(advantages.size(), batch.size());
  std::vector<std::optional<ReplayStatistics>> replays(batch.size());
  const std::size_t chunk_count = (batch.size() + kChunkTrajectories - 1) / kChunkTrajectories;
  rest_.resize(std::max(rest_.size(), chunk_count - 1));
  std::atomic<std::size_t> next_chunk{0};
  const auto work = [&](std::size_t thread) {
    for (std::size_t chunk = next_chunk++; chunk < chunk_count; chunk = next_chunk++) {
      std::vector<HeadGradients>& chunk_gradients = chunk == 0 ? gradients : rest_[chunk - 1];
      heads.reset(chunk_gradients);
      const std::size_t end = std::min(batch.size(), (chunk + 1) * kChunkTrajectories);
      LossTerm own_term = term;
      for (std::size_t i = chunk * kChunkTrajectories; i < end; ++i) {
        const std::uint32_t g = batch[i].graph;
        if (g >= heads.graph_count()) continue;
        own_term.advantage = advantages[i];
        replays[i] = replayers[thread].of(g).add(batch[i], heads.tables(g), heads.weights(),
                                                 heads.select(g), own_term, chunk_gradients[g]);
      }
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < replayers.size(); ++t) helpers.emplace_back(work, t);
  work(0);
  helpers.clear();
  for (std::size_t chunk = 1; chunk < chunk_count; ++chunk) {
    for (std::size_t g = 0; g < gradients.size(); ++g) gradients[g].add(rest_[chunk - 1][g]);
  }
  return replays;
}

void add_imitation(const std::vector<Trajectory>& demonstrations, double weight,
                   const ReplayHeads& heads, Replayers& replayers,
                   std::vector<HeadGradients>& gradients) {
  LossTerm term;
  term.kind = LossKind::kImitation;
  term.teacher = Teacher::kBest;  // the decisions themselves
  term.weight = static_cast<float>(weight / static_cast<double>(demonstrations.size()));
  for (const Trajectory& demonstration : demonstrations) {
    const std::uint32_t g = demonstration.graph;
    replayers.of(g).add(demonstration, heads.tables(g), heads.weights(), heads.select(g), term,
                        gradients[g]);
  }
}

}  // namespace doppler
