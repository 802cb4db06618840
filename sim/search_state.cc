#include "sim/search_state.h"

#include <cstddef>

#include "common/energy.h"

namespace doppler {

void SearchState::reset(Assignment assignment) {
  assignment_ = std::move(assignment);
  transfer_ticks_ = doppler::transfer_ticks(*costs_, assignment_);
  begin_move();
}

void SearchState::begin_move() {
  changes_.clear();
  transfer_ticks_before_ = transfer_ticks_;
}

void SearchState::set(OperationId operation, DeviceId device) {
  const DeviceId before = assignment_[operation];
  if (device == before || !costs_->allowed(operation, device)) return;
  changes_.emplace_back(operation, before);
  transfer_ticks_ -= transfers_of(operation);
  assignment_[operation] = device;
  transfer_ticks_ += transfers_of(operation);
}

void SearchState::undo_move() {
  for (std::size_t i = changes_.size(); i-- > 0;) {
    assignment_[changes_[i].first] = changes_[i].second;
  }
  changes_.clear();
  transfer_ticks_ = transfer_ticks_before_;
}

std::int64_t SearchState::transfers_of(OperationId operation) const {
  const Graph& graph = costs_->graph();
  const DeviceId device = assignment_[operation];
  std::int64_t ticks = 0;
  const auto predecessors = graph.predecessors(operation);
  const auto in_edges = graph.in_edges(operation);
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    ticks += costs_->transfer(in_edges[i], assignment_[predecessors[i]], device).ticks();
  }
  const auto successors = graph.successors(operation);
  const std::int32_t first_edge = graph.first_out_edge(operation).value();
  for (std::size_t i = 0; i < successors.size(); ++i) {
    const EdgeId edge(first_edge + static_cast<std::int32_t>(i));
    ticks += costs_->transfer(edge, device, assignment_[successors[i]]).ticks();
  }
  return ticks;
}

}  // namespace doppler
