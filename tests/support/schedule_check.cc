#include "tests/support/schedule_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/lower_bounds.h"

namespace doppler::test {
namespace {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Parts>
void require(bool holds, const Parts&... parts) {
  if (holds) return;
  std::ostringstream text;
  (text << ... << parts);
  throw Violation(text.str());
}

struct Change {
  std::int64_t time;
  std::int64_t bytes;
};

class Checker {
 public:
  Checker(const ScheduleCase& c, const Execution& execution)
      : case_(c), graph_(c.costs->graph()), e_(execution) {}

  void run() {
    check_operations();
    check_transfers();
    check_arrivals();
    check_devices();
    check_links();
    check_chain();
    check_memory();
  }

 private:
  DeviceId device(OperationId operation) const { return case_.assignment[operation]; }
  bool is_given(OperationId id) const {
    return graph_.operation(id).kind == "input" && graph_.in_degree(id) == 0;
  }
  std::vector<OperationId> operations() const {
    std::vector<OperationId> ids;
    for (std::size_t i = 0; i < graph_.operation_count(); ++i) {
      ids.emplace_back(static_cast<std::int32_t>(i));
    }
    return ids;
  }
  const Route& route(const TransferRecord& t) const { return case_.topology->route(t.from, t.to); }

  void check_operations() const {
    SimTime last;
    for (OperationId o : operations()) {
      require(e_.end[o] - e_.start[o] == case_.costs->compute(o, device(o)), "duration of ", o);
      last = std::max(last, e_.end[o]);
    }
    require(last == e_.makespan, "makespan ", e_.makespan, " but the last end is ", last);
    const LowerBounds bounds = lower_bounds(*case_.costs);
    require(e_.makespan >= bounds.critical_path, "shorter than the critical path");
    require(e_.makespan >= bounds.work, "shorter than work / devices");
    require(e_.makespan >= bounds.largest, "shorter than a lower bound");
    require(e_.largest_overflow_fraction > 0 || e_.makespan >= bounds.within_memory,
            "shorter than a lower bound of what fits into memory");
  }

  // One a (tensor, destination), from the producer's end on, of the largest bytes of its edges.
  void check_transfers() {
    std::map<std::pair<OperationId, DeviceId>, std::int64_t> expected;
    for (std::size_t e = 0; e < graph_.edge_count(); ++e) {
      const Edge& edge = graph_.edges()[e];
      if (device(edge.source) == device(edge.destination)) continue;
      const auto [at, is_new] =
          expected.emplace(std::pair(edge.source, device(edge.destination)), 0);
      at->second = std::max(at->second, graph_.edge_bytes(EdgeId(static_cast<int>(e))));
    }
    require(e_.transfers.size() == expected.size(), e_.transfers.size(), " transfers instead of ",
            expected.size());
    for (std::size_t i = 0; i < e_.transfers.size(); ++i) {
      const TransferRecord& t = e_.transfers[i];
      const auto at = expected.find({t.producer, t.to});
      require(at != expected.end(), "transfer ", i, " is not needed");
      require(at->second == t.bytes, "bytes of transfer ", i);
      require(t.from == device(t.producer), "source of transfer ", i);
      require(t.requested == e_.end[t.producer], "transfer ", i, " is requested at ", t.requested);
      require(t.start >= t.requested && t.end >= t.start, "order of transfer ", i);
      require(t.alone_time == route(t).transfer_time(t.bytes), "alone time of transfer ", i);
      transfer_of_[{t.producer, t.to}] = i;
    }
    switch (case_.options.contention) {
      case Contention::kNone:
        for (const TransferRecord& t : e_.transfers) {
          require(t.start == t.requested && t.end - t.start == t.alone_time, "free transfer");
        }
        break;
      case Contention::kSerial:
        check_serial();
        break;
      case Contention::kFair:
        check_fair();
        break;
    }
  }

  // Resources of a transfer with how many it may share each with, numbered in one space.
  std::vector<std::pair<std::size_t, int>> serial_resources(const TransferRecord& t) const {
    const std::size_t links = case_.topology->links().size();
    const std::size_t groups = case_.topology->groups().size();
    const std::size_t devices = case_.topology->devices().size();
    std::vector<std::pair<std::size_t, int>> resources;
    for (LinkId link : route(t).links) resources.emplace_back(link.index(), 1);
    for (SharedGroupId group : route(t).groups) resources.emplace_back(links + group.index(), 1);
    const auto& out = case_.topology->device(t.from).copy_engines_out;
    const auto& in = case_.topology->device(t.to).copy_engines_in;
    if (out) resources.emplace_back(links + groups + t.from.index(), *out);
    if (in) resources.emplace_back(links + groups + devices + t.to.index(), *in);
    return resources;
  }

  void check_serial() const {
    std::vector<std::int64_t> times;
    for (const TransferRecord& t : e_.transfers) {
      require(t.end - t.start == t.alone_time, "a serial transfer takes its alone time");
      times.push_back(t.start.ticks());
      times.push_back(t.requested.ticks());
      times.push_back(t.end.ticks());
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    // Between two of these times nothing changes.
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const SimTime now(times[i]);
      std::map<std::size_t, int> taken;
      for (const TransferRecord& t : e_.transfers) {
        if (t.start > now || t.end <= now) continue;
        for (const auto& [resource, slots] : serial_resources(t)) {
          require(++taken[resource] <= slots, "resource ", resource, " taken too often at ", now);
        }
      }
      for (const TransferRecord& t : e_.transfers) {
        if (t.requested > now || t.start <= now) continue;
        bool blocked = false;
        for (const auto& [resource, slots] : serial_resources(t)) {
          blocked = blocked || taken[resource] == slots;
        }
        require(blocked, "the transfer of ", t.producer, " waits at ", now, " for nothing");
      }
    }
  }

  void check_fair() const {
    for (const TransferRecord& t : e_.transfers) {
      require(t.start == t.requested, "a shared transfer starts at once");
    }
    const std::vector<Flow> flows = fair_flows(*case_.topology, e_);
    const std::vector<long double> capacities = fair_capacities(*case_.topology);
    const std::vector<long double> ends = flow_ends(flows, capacities);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto actual = static_cast<long double>(e_.transfers[i].end.ticks()) * 1e-12L;
      // 1e-9, and a tick an event where times are so short that rounding to ticks shows.
      const long double allowed =
          1e-9L * ends[i] + 1e-12L * static_cast<long double>(2 * flows.size());
      require(std::abs(actual - ends[i]) <= allowed, "transfer ", i, " ends at ", actual,
              " s instead of ", ends[i], " s");
    }
  }

  void check_arrivals() const {
    for (OperationId o : operations()) {
      SimTime ready;
      for (OperationId p : graph_.predecessors(o)) {
        ready = std::max(ready, device(p) == device(o)
                                    ? e_.end[p]
                                    : e_.transfers[transfer_of_.at({p, device(o)})].end);
      }
      require(e_.start[o] >= ready, "operation ", o, " starts before its inputs arrive");
      require(e_.ready[o] == ready, "operation ", o, " is ready at ", ready, " and not at ",
              e_.ready[o]);
    }
  }

  // One operation at a time, none idle with one ready, the right one taken.
  void check_devices() const {
    std::vector<int> rank(graph_.operation_count(), 0);
    for (std::size_t i = 0; i < case_.order.size(); ++i) {
      rank[case_.order[i].index()] = static_cast<int>(i);
    }
    for (std::size_t d = 0; d < case_.topology->devices().size(); ++d) {
      std::vector<OperationId> here;
      SimTime busy;
      for (OperationId o : operations()) {
        if (device(o).index() != d) continue;
        busy += e_.end[o] - e_.start[o];
        if (!is_given(o)) here.push_back(o);
      }
      require(e_.device_busy[DeviceId(static_cast<int>(d))] == busy, "busy time of device ", d);
      std::sort(here.begin(), here.end(), [&](OperationId a, OperationId b) {
        return std::pair(e_.start[a], e_.end[a]) < std::pair(e_.start[b], e_.end[b]);
      });
      for (std::size_t i = 0; i < here.size(); ++i) {
        const OperationId o = here[i];
        if (i > 0) require(e_.end[here[i - 1]] <= e_.start[o], "overlap before ", o);
        // Back from its start, the device is busy without a gap until it was ready.
        SimTime covered = e_.start[o];
        for (std::size_t k = i; k-- > 0 && covered > e_.ready[o];) {
          if (e_.end[here[k]] < covered) break;
          covered = e_.start[here[k]];
        }
        require(covered <= e_.ready[o], "device ", d, " idles while ", o, " is ready");
        for (std::size_t k = i + 1; k < here.size(); ++k) {
          const OperationId later = here[k];
          if (e_.start[later] == e_.start[o]) continue;  // of no duration: no order to see
          const bool waited = e_.ready[later] < e_.start[o];
          if (case_.options.dispatch == Dispatch::kFifo) {
            require(!waited || e_.ready[later] >= e_.ready[o], later, " was ready before ", o);
          } else if (case_.options.dispatch == Dispatch::kPriority) {
            require(!waited || rank[later.index()] > rank[o.index()], later, " comes before ", o);
          }
        }
      }
    }
  }

  void check_links() const {
    std::vector<std::int64_t> bytes(case_.topology->links().size(), 0);
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> busy(bytes.size());
    for (const TransferRecord& t : e_.transfers) {
      for (LinkId link : route(t).links) {
        bytes[link.index()] += t.bytes;
        busy[link.index()].emplace_back(t.start.ticks(), t.end.ticks());
      }
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const LinkId link(static_cast<std::int32_t>(i));
      require(e_.link_bytes[link] == bytes[i], "bytes of link ", i);
      std::sort(busy[i].begin(), busy[i].end());
      std::int64_t total = 0;
      std::int64_t until = 0;
      for (const auto& [start, end] : busy[i]) {
        total += std::max<std::int64_t>(0, end - std::max(start, until));
        until = std::max(until, end);
      }
      require(e_.link_busy[link] == SimTime(total), "busy time of link ", i);
    }
  }

  // Back from each operation to time 0 without a gap.
  void check_chain() const {
    for (OperationId o : operations()) {
      if (!is_given(o)) check_wait(e_.wait[o], e_.start[o], "operation");
    }
    for (const TransferRecord& t : e_.transfers) check_wait(t.wait, t.start, "transfer");
  }
  void check_wait(const Wait& wait, SimTime start, const char* what) const {
    switch (wait.kind) {
      case Wait::Kind::kNothing:
        require(start == SimTime(0), what, " waited for nothing until ", start);
        break;
      case Wait::Kind::kOperation:
      case Wait::Kind::kDevice:
        require(e_.end[OperationId(wait.index)] == start, what, " starts later than it may");
        break;
      default:
        require(e_.transfers.at(static_cast<std::size_t>(wait.index)).end == start, what,
                " starts later than it may");
    }
  }

  // Peaks from lifetimes. Within an instant the record does not tell the order, so the peak lies
  // between the one with all frees first and the one with all allocations first.
  void check_memory() {
    std::vector<std::vector<Change>> changes(case_.topology->devices().size());
    const auto hold = [&](DeviceId d, SimTime from, SimTime to, std::int64_t bytes) {
      changes[d.index()].push_back({from.ticks(), bytes});
      changes[d.index()].push_back({to.ticks(), -bytes});
    };
    for (OperationId o : operations()) {
      SimTime until = graph_.out_degree(o) == 0 ? e_.makespan : e_.end[o];
      for (OperationId s : graph_.successors(o)) {
        until = std::max(until, device(s) == device(o)
                                    ? e_.end[s]
                                    : e_.transfers[transfer_of_.at({o, device(s)})].end);
      }
      hold(device(o), e_.start[o], until, graph_.operation(o).output_bytes);
    }
    for (const TransferRecord& t : e_.transfers) {
      SimTime until;
      for (OperationId s : graph_.successors(t.producer)) {
        if (device(s) == t.to) until = std::max(until, e_.end[s]);
      }
      hold(t.to, t.start, until, t.bytes);
    }
    for (const InputTensor& input : graph_.inputs()) {
      std::map<DeviceId, SimTime> until;
      for (OperationId reader : input.consumers) {
        SimTime& end = until[device(reader)];
        end = std::max(end, e_.end[reader]);
      }
      for (const auto& [d, end] : until) hold(d, SimTime(0), end, input.bytes);
    }
    for (std::size_t d = 0; d < changes.size(); ++d) {
      const DeviceId id(static_cast<std::int32_t>(d));
      std::int64_t total = 0;
      for (const Change& change : changes[d]) total += std::max<std::int64_t>(0, change.bytes);
      require(e_.allocated_bytes[id] == total, "allocated on device ", d);
      require(e_.freed_bytes[id] == total, "freed on device ", d);
      require(e_.peak_memory_bytes[id] >= peak(changes[d], true), "peak too low on device ", d);
      require(e_.peak_memory_bytes[id] <= peak(changes[d], false), "peak too high on device ", d);
    }
  }
  static std::int64_t peak(std::vector<Change> changes, bool frees_first) {
    std::sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) {
      if (a.time != b.time) return a.time < b.time;
      return frees_first ? a.bytes < b.bytes : a.bytes > b.bytes;
    });
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (const Change& change : changes) most = std::max(most, held += change.bytes);
    return most;
  }

  const ScheduleCase& case_;
  const Graph& graph_;
  const Execution& e_;
  std::map<std::pair<OperationId, DeviceId>, std::size_t> transfer_of_;
};

}  // namespace

std::vector<long double> fair_capacities(const Topology& topology) {
  std::vector<long double> capacities;
  for (const Link& link : topology.links()) {
    capacities.push_back(link.bandwidth_bytes_per_second);
  }
  for (const SharedGroup& group : topology.groups()) {
    capacities.push_back(group.capacity_bytes_per_second);
  }
  return capacities;
}

std::vector<Flow> fair_flows(const Topology& topology, const Execution& execution) {
  std::vector<Flow> flows;
  for (const TransferRecord& t : execution.transfers) {
    const Route& route = topology.route(t.from, t.to);
    Flow flow;
    flow.begin = static_cast<long double>((t.start + route.latency).ticks()) * 1e-12L;
    flow.bytes = static_cast<long double>(t.bytes);
    for (LinkId link : route.links) flow.resources.push_back(link.index());
    for (SharedGroupId group : route.groups) {
      flow.resources.push_back(topology.links().size() + group.index());
    }
    flows.push_back(flow);
  }
  return flows;
}

std::string find_violation(const ScheduleCase& c, const Execution& execution) {
  try {
    Checker(c, execution).run();
  } catch (const Violation& violation) {
    return violation.what();
  }
  return {};
}

}  // namespace doppler::test
