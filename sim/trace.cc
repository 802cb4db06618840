#include "sim/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "sim/explain.h"

namespace doppler {
namespace {

constexpr int kDevices = 1;  // process ids
constexpr int kLinks = 2;

std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(c));
      quoted += buffer.data();
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Ticks as microseconds, exactly.
std::string microseconds(std::int64_t ticks) {
  constexpr std::int64_t kTicks = 1'000'000;
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%lld.%06lld", static_cast<long long>(ticks / kTicks),
                static_cast<long long>(ticks % kTicks));
  return buffer.data();
}

// A JSON object, field by field.
class Object {
 public:
  Object& json(const std::string& key, const std::string& value) {
    fields_ += (fields_.empty() ? "" : ", ") + quote(key) + ": " + value;
    return *this;
  }
  Object& text(const std::string& key, const std::string& value) { return json(key, quote(value)); }
  Object& number(const std::string& key, std::int64_t value) {
    return json(key, std::to_string(value));
  }
  Object& time(const std::string& key, SimTime value) {
    return json(key, microseconds(value.ticks()));
  }
  std::string str() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

// A box in a row; arrows start and end in boxes.
struct Box {
  int process = 0;
  std::size_t row = 0;
  SimTime start;
  SimTime end;
};

class TraceWriter {
 public:
  TraceWriter(const Graph& graph, const Topology& topology, const Assignment& assignment,
              const Execution& execution)
      : graph_(graph), topology_(topology), assignment_(assignment), execution_(execution) {}

  std::string write() {
    name_process(kDevices, "devices");
    name_process(kLinks, "links");
    write_operations();
    write_transfers();
    write_arrows();
    return R"({"displayTimeUnit": "ns", "traceEvents": [)"
           "\n" +
           events_ + "\n]}\n";
  }

 private:
  void add(const Object& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event.str();
  }
  static Object event(const std::string& phase, const std::string& name, int process,
                      std::size_t row) {
    return Object()
        .text("ph", phase)
        .text("name", name)
        .number("pid", process)
        .number("tid", static_cast<std::int64_t>(row));
  }
  static Object event(const std::string& phase, const std::string& name, const Box& box) {
    return event(phase, name, box.process, box.row);
  }
  void name_process(int process, const std::string& name) {
    add(event("M", "process_name", process, 0).json("args", Object().text("name", name).str()));
  }
  void name_row(int process, std::size_t row, const std::string& name) {
    add(event("M", "thread_name", process, row).json("args", Object().text("name", name).str()));
    const auto index = static_cast<std::int64_t>(row);
    add(event("M", "thread_sort_index", process, row)
            .json("args", Object().number("sort_index", index).str()));
  }
  void add_box(const Box& box, const std::string& name, const std::string& category,
               const Object& arguments) {
    add(event("X", name, box)
            .text("cat", category)
            .time("ts", box.start)
            .time("dur", box.end - box.start)
            .json("args", arguments.str()));
  }

  void write_operations() {
    for (std::size_t d = 0; d < topology_.devices().size(); ++d) {
      name_row(kDevices, d, topology_.devices()[d].name);
    }
    for (std::size_t o = 0; o < graph_.operation_count(); ++o) {
      const OperationId id(static_cast<std::int32_t>(o));
      const Box box = {.process = kDevices,
                       .row = assignment_[id].index(),
                       .start = execution_.start[id],
                       .end = execution_.end[id]};
      operation_boxes_.push_back(box);
      add_box(box, operation_label(graph_, id), graph_.operation(id).kind,
              Object()
                  .number("operation", static_cast<std::int64_t>(o))
                  .time("ready_us", execution_.ready[id])
                  .number("output_bytes", graph_.operation(id).output_bytes));
    }
  }

  // Each transfer has a box on every link of its route, in the first row of the link that is free.
  void write_transfers() {
    std::vector<std::vector<std::size_t>> by_link(topology_.links().size());
    for (std::size_t i = 0; i < execution_.transfers.size(); ++i) {
      const TransferRecord& t = execution_.transfers[i];
      for (LinkId link : topology_.route(t.from, t.to).links) by_link[link.index()].push_back(i);
    }
    transfer_boxes_.resize(execution_.transfers.size());
    std::size_t row = 0;
    for (std::size_t l = 0; l < by_link.size(); ++l) {
      const LinkId link(static_cast<std::int32_t>(l));
      std::stable_sort(by_link[l].begin(), by_link[l].end(), [&](std::size_t a, std::size_t b) {
        return execution_.transfers[a].start < execution_.transfers[b].start;
      });
      const std::size_t first_row = row++;
      std::vector<SimTime> busy_until = {SimTime(0)};
      name_row(kLinks, first_row, topology_.link_name(link));
      for (std::size_t i : by_link[l]) {
        const TransferRecord& t = execution_.transfers[i];
        std::size_t lane = 0;
        while (lane < busy_until.size() && busy_until[lane] > t.start) ++lane;
        if (lane == busy_until.size()) {
          busy_until.emplace_back();
          name_row(kLinks, row++, topology_.link_name(link) + ", at the same time");
        }
        busy_until[lane] = t.end;
        write_transfer(i, link, first_row + lane);
      }
    }
  }

  void write_transfer(std::size_t index, LinkId link, std::size_t row) {
    const TransferRecord& t = execution_.transfers[index];
    const Box box = {.process = kLinks, .row = row, .start = t.start, .end = t.end};
    add_box(box, operation_label(graph_, t.producer) + " to " + topology_.device(t.to).name,
            "transfer",
            Object()
                .number("transfer", static_cast<std::int64_t>(index))
                .number("bytes", t.bytes)
                .time("requested_us", t.requested)
                .time("alone_us", t.alone_time));
    // Arrows come in at the first link of the route and go out at the last.
    const Route& route = topology_.route(t.from, t.to);
    if (link == route.links.front()) transfer_boxes_[index].first = box;
    if (link == route.links.back()) transfer_boxes_[index].second = box;
  }

  void write_arrows() {
    std::map<std::pair<OperationId, DeviceId>, std::size_t> transfer_of;
    for (std::size_t i = 0; i < execution_.transfers.size(); ++i) {
      const TransferRecord& t = execution_.transfers[i];
      transfer_of.emplace(std::pair(t.producer, t.to), i);
      add_arrow(operation_boxes_[t.producer.index()], transfer_boxes_[i].first);
    }
    for (const Edge& edge : graph_.edges()) {
      const DeviceId to = assignment_[edge.destination];
      const Box& target = operation_boxes_[edge.destination.index()];
      if (assignment_[edge.source] == to) {
        add_arrow(operation_boxes_[edge.source.index()], target);
      } else {
        add_arrow(transfer_boxes_[transfer_of.at({edge.source, to})].second, target);
      }
    }
  }

  // Viewers bind an arrow to the boxes that its ends lie in, so it starts just before the end.
  void add_arrow(const Box& from, const Box& to) {
    constexpr std::int64_t kNanosecond = 1000;
    const SimTime inside(std::max(from.start.ticks(), from.end.ticks() - kNanosecond));
    const auto id = static_cast<std::int64_t>(arrow_count_++);
    add(event("s", "data", from).text("cat", "data").number("id", id).time("ts", inside));
    add(event("f", "data", to)
            .text("bp", "e")
            .text("cat", "data")
            .number("id", id)
            .time("ts", to.start));
  }

  const Graph& graph_;
  const Topology& topology_;
  const Assignment& assignment_;
  const Execution& execution_;
  std::string events_;
  std::vector<Box> operation_boxes_;                 // [operations]
  std::vector<std::pair<Box, Box>> transfer_boxes_;  // [transfers], on the first and the last link
  std::size_t arrow_count_ = 0;
};

}  // namespace

std::string chrome_trace(const Graph& graph, const Topology& topology, const Assignment& assignment,
                         const Execution& execution) {
  return TraceWriter(graph, topology, assignment, execution).write();
}

}  // namespace doppler
