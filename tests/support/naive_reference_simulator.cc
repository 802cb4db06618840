#include "tests/support/naive_reference_simulator.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace doppler::test {
namespace {

struct Timer {
  std::int64_t time;
  std::int64_t sequence;
  std::function<void()> event;
};

struct Later {
  bool operator()(const Timer& a, const Timer& b) const {
    return std::pair(a.time, a.sequence) > std::pair(b.time, b.sequence);
  }
};

class NaiveSimulator {
 public:
  NaiveSimulator(const Graph& graph, int device_count, const Assignment& assignment)
      : graph_(graph), assignment_(assignment) {
    queues_.resize(static_cast<std::size_t>(device_count));
    idle_.assign(static_cast<std::size_t>(device_count), true);
    execution_.start.assign(graph.operation_count(), SimTime(-1));
    execution_.end.assign(graph.operation_count(), SimTime(-1));
    for (std::size_t i = 0; i < graph.operation_count(); ++i) {
      missing_.push_back(graph.in_degree(OperationId(static_cast<std::int32_t>(i))));
    }
  }

  Execution run() {
    for (std::size_t i = 0; i < graph_.operation_count(); ++i) {
      if (missing_[i] == 0) {
        const OperationId o(static_cast<std::int32_t>(i));
        fifo_.emplace_back([this, o] { condition(o); });
      }
    }
    while (true) {
      while (!fifo_.empty()) {
        const std::function<void()> event = fifo_.front();
        fifo_.pop_front();
        event();
      }
      if (heap_.empty()) break;
      now_ = heap_.top().time;
      while (!heap_.empty() && heap_.top().time == now_) {
        fifo_.push_back(heap_.top().event);
        heap_.pop();
      }
    }
    execution_.makespan = *std::max_element(execution_.end.begin(), execution_.end.end());
    return execution_;
  }

 private:
  // Runs `event` after `delay`: a zero delay goes to the FIFO's end, not into the heap.
  void after(SimTime delay, std::function<void()> event) {
    if (delay == SimTime(0)) {
      fifo_.push_back(std::move(event));
    } else {
      heap_.push({now_ + delay.ticks(), next_sequence_++, std::move(event)});
    }
  }
  std::size_t device(OperationId o) const { return assignment_[o].index(); }

  void condition(OperationId o) {
    queues_[device(o)].push_back(o);
    grant_try(device(o));
  }
  void grant_try(std::size_t d) {
    if (!idle_[d] || queues_[d].empty()) return;
    idle_[d] = false;
    const OperationId h = queues_[d].front();
    queues_[d].pop_front();
    fifo_.emplace_back([this, h] { grant(h); });
  }
  void grant(OperationId o) {
    execution_.start[o] = SimTime(now_);
    after(graph_.operation(o).compute_time, [this, o] { comp_done(o); });
  }
  void comp_done(OperationId o) {
    execution_.end[o] = SimTime(now_);
    const std::size_t d = device(o);
    idle_[d] = true;
    fifo_.emplace_back([this, d] { grant_try(d); });  // RELEASE
    fifo_.emplace_back([this, o] { finish(o); });
  }
  void finish(OperationId o) {
    for (const Edge& e : graph_.edges()) {
      if (e.source != o) continue;
      const OperationId v = e.destination;
      const SimTime delay = device(o) == device(v) ? SimTime(0) : graph_.operation(o).transfer_time;
      after(delay, [this, v] { transfer_done(v); });
    }
  }
  void transfer_done(OperationId v) {
    fifo_.emplace_back([this, v] { arrived(v); });
  }
  void arrived(OperationId v) {
    if (--missing_[v.index()] > 0) return;
    fifo_.emplace_back([this, v] { condition(v); });
  }

  const Graph& graph_;
  const Assignment& assignment_;
  std::int64_t now_ = 0;
  std::int64_t next_sequence_ = 0;
  std::priority_queue<Timer, std::vector<Timer>, Later> heap_;
  std::deque<std::function<void()>> fifo_;
  std::vector<std::deque<OperationId>> queues_;  // [devices]
  std::vector<bool> idle_;                       // [devices]
  std::vector<std::size_t> missing_;             // [operations]
  Execution execution_;
};

}  // namespace

Execution simulate_naively(const Graph& graph, int device_count, const Assignment& assignment) {
  return NaiveSimulator(graph, device_count, assignment).run();
}

}  // namespace doppler::test
