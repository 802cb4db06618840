#include "common/route_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/time_rounding.h"

namespace doppler {
namespace {

// Latency and number of links of the best way from a node to the destination.
struct Distance {
  std::int64_t latency = std::numeric_limits<std::int64_t>::max();
  std::int32_t hops = 0;
  auto operator<=>(const Distance&) const = default;
  bool reachable() const { return latency != std::numeric_limits<std::int64_t>::max(); }
};

// The bandwidth of a path is its narrowest link, so the cheapest path is no shortest path. For each
// bandwidth that some link has, the shortest path among the links that have at least that much is a
// candidate, and the cheapest path is one of these.
class RouteSearch {
 public:
  explicit RouteSearch(const TopologyParts& parts)
      : parts_(parts),
        device_count_(parts.devices.size()),
        node_count_(parts.devices.size() + parts.switches.size()),
        in_links_(node_count_),
        out_links_(node_count_),
        distance_(node_count_) {
    for (std::size_t i = 0; i < parts.links.size(); ++i) {
      const Link& link = parts.links[i];
      double bandwidth = link.bandwidth_bytes_per_second;
      for (SharedGroupId group : link.groups) {
        bandwidth = std::min(bandwidth, parts.groups[group.index()].capacity_bytes_per_second);
      }
      bandwidth_.push_back(bandwidth);
      latency_.push_back(round_seconds(link.latency_seconds).ticks());
      in_links_[link.to.index()].push_back(i);
      out_links_[link.from.index()].push_back(i);
    }
    thresholds_ = bandwidth_;
    std::sort(thresholds_.begin(), thresholds_.end(), std::greater<>());
    thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
  }

  std::vector<Route> run() {
    best_.assign(device_count_ * device_count_, {});
    for (std::size_t to = 0; to < device_count_; ++to) {
      take_direct_links(to);
      for (double threshold : thresholds_) {
        measure(to, threshold);
        for (std::size_t from = 0; from < device_count_; ++from) {
          if (from == to || !distance_[from].reachable()) continue;
          Candidate& best = best_[from * device_count_ + to];
          if (!best.direct) keep_cheaper(best, walk(from, to, threshold));
        }
      }
    }
    std::vector<Route> routes(device_count_ * device_count_);
    for (std::size_t from = 0; from < device_count_; ++from) {
      for (std::size_t to = 0; to < device_count_; ++to) {
        if (from != to) routes[from * device_count_ + to] = make_route(from, to);
      }
    }
    return routes;
  }

 private:
  struct Candidate {
    bool direct = false;
    std::vector<std::size_t> links;  // empty: none found yet
  };

  std::tuple<std::int64_t, std::size_t, const std::vector<std::size_t>&> cost(
      const std::vector<std::size_t>& links) const {
    std::int64_t latency = 0;
    double bandwidth = std::numeric_limits<double>::infinity();
    for (std::size_t link : links) {
      latency += latency_[link];
      bandwidth = std::min(bandwidth, bandwidth_[link]);
    }
    const SimTime flow = round_seconds(parts_.route_reference_bytes / bandwidth);
    return {latency + flow.ticks(), links.size(), links};
  }

  void keep_cheaper(Candidate& best, std::vector<std::size_t> links) const {
    if (best.links.empty() || cost(links) < cost(best.links)) best.links = std::move(links);
  }

  void take_direct_links(std::size_t to) {
    for (std::size_t link : in_links_[to]) {
      const std::size_t from = parts_.links[link].from.index();
      if (from >= device_count_) continue;
      Candidate& best = best_[from * device_count_ + to];
      best.direct = true;
      keep_cheaper(best, {link});
    }
  }

  bool passes(std::size_t node) const {
    return node >= device_count_ || parts_.devices[node].forwards;
  }

  // Dijkstra from `to` backwards over the links of at least `threshold`.
  void measure(std::size_t to, double threshold) {
    std::fill(distance_.begin(), distance_.end(), Distance());
    distance_[to] = {.latency = 0, .hops = 0};
    using Entry = std::pair<Distance, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    open.emplace(distance_[to], to);
    while (!open.empty()) {
      const auto [distance, node] = open.top();
      open.pop();
      if (distance_[node] < distance || (node != to && !passes(node))) continue;
      for (std::size_t link : in_links_[node]) {
        if (bandwidth_[link] < threshold) continue;
        const std::size_t before = parts_.links[link].from.index();
        const Distance longer = {.latency = distance.latency + latency_[link],
                                 .hops = distance.hops + 1};
        if (longer < distance_[before]) {
          distance_[before] = longer;
          open.emplace(longer, before);
        }
      }
    }
  }

  // The shortest path that measure() found; of several, the one with the smallest link ids.
  std::vector<std::size_t> walk(std::size_t from, std::size_t to, double threshold) const {
    std::vector<std::size_t> path;
    for (std::size_t node = from; node != to;) {
      for (std::size_t link : out_links_[node]) {
        const std::size_t after = parts_.links[link].to.index();
        if (bandwidth_[link] < threshold || !distance_[after].reachable()) continue;
        if (after != to && !passes(after)) continue;
        const Distance through = {.latency = distance_[after].latency + latency_[link],
                                  .hops = distance_[after].hops + 1};
        if (through == distance_[node]) {
          path.push_back(link);
          node = after;
          break;
        }
      }
    }
    return path;
  }

  Route make_route(std::size_t from, std::size_t to) const {
    const std::vector<std::size_t>& links = best_[from * device_count_ + to].links;
    if (links.empty()) {
      throw ConfigError("topology " + parts_.name + ": no path leads from device " +
                        parts_.devices[from].name + " to device " + parts_.devices[to].name +
                        "; add a link, or let a device between them forward");
    }
    Route route;
    route.bandwidth_bytes_per_second = std::numeric_limits<double>::infinity();
    std::int64_t latency = 0;
    for (std::size_t link : links) {
      route.links.emplace_back(static_cast<std::int32_t>(link));
      latency += latency_[link];
      route.bandwidth_bytes_per_second =
          std::min(route.bandwidth_bytes_per_second, bandwidth_[link]);
      for (SharedGroupId group : parts_.links[link].groups) {
        if (std::find(route.groups.begin(), route.groups.end(), group) == route.groups.end()) {
          route.groups.push_back(group);
        }
      }
    }
    route.latency = SimTime(latency);
    return route;
  }

  const TopologyParts& parts_;
  std::size_t device_count_;
  std::size_t node_count_;
  std::vector<std::vector<std::size_t>> in_links_;   // [nodes], by id
  std::vector<std::vector<std::size_t>> out_links_;  // [nodes], by id
  std::vector<double> bandwidth_;                    // [links], with their groups
  std::vector<std::int64_t> latency_;                // [links], ticks
  std::vector<double> thresholds_;                   // distinct bandwidths, widest first
  std::vector<Distance> distance_;                   // [nodes], to the destination of measure()
  std::vector<Candidate> best_;                      // [devices, devices]
};

}  // namespace

std::vector<Route> find_routes(const TopologyParts& parts) {
  return RouteSearch(parts).run();
}

}  // namespace doppler
