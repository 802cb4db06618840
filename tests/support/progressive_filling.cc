#include "tests/support/progressive_filling.h"

#include <algorithm>
#include <limits>

namespace doppler::test {
namespace {

bool crosses(const Flow& flow, std::size_t resource) {
  return std::find(flow.resources.begin(), flow.resources.end(), resource) != flow.resources.end();
}

}  // namespace

// All open flows grow at one pace until some resource is full; its flows are then closed.
std::vector<long double> max_min_rates(const std::vector<const Flow*>& flows,
                                       const std::vector<long double>& capacities) {
  std::vector<long double> rates(flows.size(), 0);
  std::vector<bool> open(flows.size(), true);
  for (std::size_t open_count = flows.size(); open_count > 0;) {
    long double step = std::numeric_limits<long double>::infinity();
    std::vector<long double> room(capacities.size(), 0);
    std::vector<int> growing(capacities.size(), 0);
    for (std::size_t r = 0; r < capacities.size(); ++r) {
      room[r] = capacities[r];
      for (std::size_t f = 0; f < flows.size(); ++f) {
        if (!crosses(*flows[f], r)) continue;
        room[r] -= rates[f];
        growing[r] += open[f] ? 1 : 0;
      }
      if (growing[r] > 0) step = std::min(step, room[r] / growing[r]);
    }
    for (std::size_t f = 0; f < flows.size(); ++f) rates[f] += open[f] ? step : 0;
    for (std::size_t r = 0; r < capacities.size(); ++r) {
      const bool full =
          growing[r] > 0 && room[r] / growing[r] <= step * (1 + 1e-15L) + capacities[r] * 1e-18L;
      for (std::size_t f = 0; full && f < flows.size(); ++f) {
        if (open[f] && crosses(*flows[f], r)) {
          open[f] = false;
          --open_count;
        }
      }
    }
  }
  return rates;
}

std::vector<long double> flow_ends(const std::vector<Flow>& flows,
                                   const std::vector<long double>& capacities) {
  std::vector<long double> ends(flows.size(), -1);
  std::vector<long double> left;
  for (const Flow& flow : flows) left.push_back(flow.bytes);
  long double now = 0;
  while (true) {
    std::vector<std::size_t> under_way;
    std::vector<const Flow*> flowing;
    long double next = std::numeric_limits<long double>::infinity();
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (ends[f] >= 0) continue;
      if (flows[f].begin > now) {
        next = std::min(next, flows[f].begin);
      } else {
        under_way.push_back(f);
        flowing.push_back(&flows[f]);
      }
    }
    if (under_way.empty() && next == std::numeric_limits<long double>::infinity()) return ends;
    const std::vector<long double> rates = max_min_rates(flowing, capacities);
    std::size_t ending = flows.size();
    for (std::size_t i = 0; i < under_way.size(); ++i) {
      const long double end = now + left[under_way[i]] / rates[i];
      if (end <= next) {
        next = end;
        ending = under_way[i];
      }
    }
    for (std::size_t i = 0; i < under_way.size(); ++i) {
      left[under_way[i]] = std::max(0.0L, left[under_way[i]] - rates[i] * (next - now));
    }
    now = next;
    if (ending < flows.size()) ends[ending] = now;
  }
}

}  // namespace doppler::test
