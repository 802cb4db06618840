#include "sim/lower_bounds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "sim/device_choices.h"

namespace doppler {
namespace {

// Far beyond any time, and small enough to be added to.
constexpr SimTime kNever(std::int64_t{1} << 62);

// An operation next to the one that is looked at: before it for heads, behind it for tails.
struct Neighbour {
  SimTime extent;             // its head (or tail)
  SimTime compute;            // least
  SimTime remote;             // extent + compute + the least transfer between different devices
  bool can_be_local = false;  // on the device of the one that is looked at
};

// Where the ends of edges may be.
class EdgeChoices {
 public:
  explicit EdgeChoices(const CostTable& costs) : costs_(&costs), choices_(costs) {}

  // The least over pairs of different devices that are allowed; kNever if there is none.
  SimTime least_transfer(EdgeId edge) const {
    if (costs_->device_count() == 1) return kNever;
    if (free(edge)) return costs_->least_transfer(edge);
    const Edge& ends = costs_->graph().edge(edge);
    SimTime least = kNever;
    for (DeviceId a : choices_.of(ends.source)) {
      for (DeviceId b : choices_.of(ends.destination)) {
        if (a != b) least = std::min(least, costs_->transfer(edge, a, b));
      }
    }
    return least;
  }
  bool can_be_local(EdgeId edge) const {
    if (free(edge)) return true;
    const auto devices = choices_.of(costs_->graph().edge(edge).source);
    return std::any_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return costs_->allowed(costs_->graph().edge(edge).destination, device);
    });
  }

 private:
  bool free(EdgeId edge) const {
    const auto all = static_cast<std::size_t>(costs_->device_count());
    const Edge& ends = costs_->graph().edge(edge);
    return choices_.of(ends.source).size() == all && choices_.of(ends.destination).size() == all;
  }

  const CostTable* costs_;
  const DeviceChoices choices_;
};

// When one machine ends with all of `jobs`, which are released at their extents.
SimTime last_end(std::vector<Neighbour>& jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.extent < b.extent; });
  SimTime time;
  for (const Neighbour& job : jobs) time = std::max(time, job.extent) + job.compute;
  return time;
}

// The smallest over k of max(remote of neighbour k + 1, one machine with the first k), by falling
// remote. The first falls with k and the second grows, so the best is where they cross.
SimTime least_extent(std::vector<Neighbour>& neighbours, std::vector<Neighbour>& scratch) {
  SimTime forced_remote;
  std::erase_if(neighbours, [&](const Neighbour& neighbour) {
    if (!neighbour.can_be_local) forced_remote = std::max(forced_remote, neighbour.remote);
    return !neighbour.can_be_local;
  });
  std::sort(neighbours.begin(), neighbours.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.remote > b.remote; });
  const auto remote_after = [&](std::size_t k) {
    return k < neighbours.size() ? neighbours[k].remote : SimTime(0);
  };
  const auto local = [&](std::size_t k) {
    scratch.assign(neighbours.begin(), neighbours.begin() + static_cast<std::ptrdiff_t>(k));
    return last_end(scratch);
  };
  std::size_t low = 0;  // the crossing is in low..high
  std::size_t high = neighbours.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (local(middle) >= remote_after(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  SimTime least = std::max(local(low), remote_after(low));
  if (low > 0) least = std::min(least, std::max(local(low - 1), remote_after(low - 1)));
  return std::max(least, forced_remote);
}

// The largest over h and t of h + (compute of the jobs with head >= h and tail >= t) / machines +
// t: all of these run between h and the makespan - t.
struct Job {
  SimTime head;
  SimTime compute;
  SimTime tail;
};

SimTime window_bound(std::vector<Job> jobs, std::int64_t machines) {
  constexpr std::size_t kMaxHeads = 512;  // more would not be linear in the jobs
  std::vector<SimTime> heads;
  heads.reserve(jobs.size());
  for (const Job& job : jobs) heads.push_back(job.head);
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.tail > b.tail; });
  SimTime bound;
  const std::size_t step = heads.size() / kMaxHeads + 1;
  for (std::size_t h = 0; h < heads.size(); h += step) {
    std::int64_t work = 0;
    for (const Job& job : jobs) {
      if (job.head < heads[h]) continue;
      work += job.compute.ticks();
      const std::int64_t share = work / machines + (work % machines == 0 ? 0 : 1);
      bound = std::max(bound, heads[h] + SimTime(share) + job.tail);
    }
  }
  return bound;
}

SimTime all_windows(const CostTable& costs, const HeadsAndTails& at) {
  const DeviceChoices choices(costs);
  std::vector<Job> all;
  IdVector<DeviceId, std::vector<Job>> fixed(static_cast<std::size_t>(costs.device_count()));
  for (std::size_t o = 0; o < costs.graph().operation_count(); ++o) {
    const OperationId operation(static_cast<std::int32_t>(o));
    const Job job{at.head[operation], costs.least_compute(operation), at.tail[operation]};
    all.push_back(job);
    const auto devices = choices.of(operation);
    if (devices.size() == 1) fixed[devices.front()].push_back(job);
  }
  SimTime bound = window_bound(std::move(all), costs.device_count());
  for (std::vector<Job>& jobs : fixed) {
    bound = std::max(bound, window_bound(std::move(jobs), 1));
  }
  return bound;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t capacity(const CostTable& costs, DeviceId device) {
  const std::int64_t bytes = costs.memory_bytes(device);
  return bytes > 0 ? bytes : kNoLimit;
}

// What is on its device at the least while an operation runs. [operations]
IdVector<OperationId, std::int64_t> least_footprints(const Graph& graph) {
  IdVector<OperationId, std::int64_t> bytes(graph.operation_count());
  for (std::size_t o = 0; o < graph.operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    bytes[id] = graph.operation(id).output_bytes;
  }
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    const Edge& edge = graph.edge(EdgeId(static_cast<std::int32_t>(e)));
    bytes[edge.destination] += std::min(graph.edge_bytes(EdgeId(static_cast<std::int32_t>(e))),
                                        graph.operation(edge.source).output_bytes);
  }
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId consumer : input.consumers) bytes[consumer] += input.bytes;
  }
  return bytes;
}

SimTime memory_bound(const CostTable& costs, const HeadsAndTails& at) {
  std::set<std::int64_t> capacities;
  for (std::int32_t d = 0; d < costs.device_count(); ++d) {
    capacities.insert(capacity(costs, DeviceId(d)));
  }
  const IdVector<OperationId, std::int64_t> footprint = least_footprints(costs.graph());
  SimTime bound;
  for (const std::int64_t limit : capacities) {
    if (limit == kNoLimit) break;
    std::vector<DeviceId> beyond;
    for (std::int32_t d = 0; d < costs.device_count(); ++d) {
      if (capacity(costs, DeviceId(d)) > limit) beyond.emplace_back(d);
    }
    std::vector<Job> jobs;
    for (std::size_t o = 0; o < footprint.size(); ++o) {
      const OperationId operation(static_cast<std::int32_t>(o));
      if (footprint[operation] <= limit) continue;
      SimTime compute = SimTime::max();
      for (DeviceId device : beyond) {
        if (!costs.allowed(operation, device)) continue;
        compute = std::min(compute, costs.compute(operation, device));
      }
      if (compute == SimTime::max()) return SimTime::max();
      jobs.push_back({at.head[operation], compute, at.tail[operation]});
    }
    if (jobs.empty()) continue;
    bound =
        std::max(bound, window_bound(std::move(jobs), static_cast<std::int64_t>(beyond.size())));
  }
  return bound;
}

}  // namespace

HeadsAndTails heads_and_tails(const CostTable& costs) {
  const Graph& graph = costs.graph();
  const EdgeChoices edges(costs);
  HeadsAndTails at;
  at.head.assign(graph.operation_count(), SimTime(0));
  at.tail.assign(graph.operation_count(), SimTime(0));
  std::vector<Neighbour> neighbours;
  std::vector<Neighbour> scratch;
  const auto add = [&](OperationId operation, SimTime extent, EdgeId edge) {
    const SimTime compute = costs.least_compute(operation);
    const SimTime transfer = edges.least_transfer(edge);
    neighbours.push_back({.extent = extent,
                          .compute = compute,
                          .remote = transfer == kNever ? kNever : extent + compute + transfer,
                          .can_be_local = edges.can_be_local(edge)});
  };
  const std::vector<OperationId>& order = graph.topological_order();
  for (OperationId operation : order) {
    neighbours.clear();
    const auto predecessors = graph.predecessors(operation);
    const auto in_edges = graph.in_edges(operation);
    for (std::size_t i = 0; i < predecessors.size(); ++i) {
      add(predecessors[i], at.head[predecessors[i]], in_edges[i]);
    }
    at.head[operation] = least_extent(neighbours, scratch);
  }
  for (auto operation = order.rbegin(); operation != order.rend(); ++operation) {
    neighbours.clear();
    const auto successors = graph.successors(*operation);
    const std::int32_t first_edge = graph.first_out_edge(*operation).value();
    for (std::size_t i = 0; i < successors.size(); ++i) {
      add(successors[i], at.tail[successors[i]], EdgeId(first_edge + static_cast<std::int32_t>(i)));
    }
    at.tail[*operation] = least_extent(neighbours, scratch);
  }
  return at;
}

LowerBounds lower_bounds(const CostTable& costs) {
  const Graph& graph = costs.graph();
  LowerBounds bounds;
  std::int64_t work = 0;
  IdVector<OperationId, SimTime> start(graph.operation_count());
  const HeadsAndTails at = heads_and_tails(costs);
  for (OperationId operation : graph.topological_order()) {
    const SimTime compute = costs.least_compute(operation);
    const SimTime end = start[operation] + compute;
    for (OperationId successor : graph.successors(operation)) {
      start[successor] = std::max(start[successor], end);
    }
    bounds.critical_path = std::max(bounds.critical_path, end);
    bounds.communication =
        std::max(bounds.communication, at.head[operation] + compute + at.tail[operation]);
    work += compute.ticks();
  }
  const std::int64_t devices = costs.device_count();
  bounds.work = SimTime(work / devices + (work % devices == 0 ? 0 : 1));
  bounds.windows = all_windows(costs, at);
  bounds.largest =
      std::max({bounds.critical_path, bounds.work, bounds.communication, bounds.windows});
  bounds.within_memory = std::max(bounds.largest, memory_bound(costs, at));
  return bounds;
}

}  // namespace doppler
