#include "sim/explain.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "sim/critical_steps.h"

namespace doppler {
namespace {

std::string seconds(SimTime time) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.9f", time.seconds());
  return buffer.data();
}

std::string share(SimTime part, SimTime whole) {
  const double percent = whole == SimTime(0) ? 0
                                             : 100 * static_cast<double>(part.ticks()) /
                                                   static_cast<double>(whole.ticks());
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%5.1f %%", percent);
  return buffer.data();
}

class Explainer {
 public:
  Explainer(const Graph& graph, const Topology& topology, const Assignment& assignment,
            const Execution& execution)
      : graph_(graph), topology_(topology), assignment_(assignment), execution_(execution) {}

  std::string text() const {
    std::vector<std::array<std::string, 5>> rows = {
        {"start, s", "end, s", "step", "on", "waited for"}};
    SimTime computing;
    SimTime moving;
    SimTime shared;
    for (const ScheduleStep& step : critical_steps(execution_)) {
      (step.is_transfer ? moving : computing) += step.end - step.start;
      if (step.is_transfer) {
        const TransferRecord& t = execution_.transfers[static_cast<std::size_t>(step.index)];
        shared += std::max(SimTime(0), t.end - t.start - t.alone_time);
      }
      rows.push_back(
          {seconds(step.start), seconds(step.end), what(step), where(step), describe(step.wait)});
    }
    std::string text = "critical path of the schedule\n" + table(rows);
    const auto total = [&](const std::string& name, SimTime part) {
      text += name + seconds(part) + " s  " + share(part, execution_.makespan) + "\n";
    };
    text += "\n";
    total("makespan             ", execution_.makespan);
    total("  computing          ", computing);
    total("  moving tensors     ", moving);
    total("    lost to sharing  ", shared);
    // Between the end of what a step waited for and its start; simulations have none of it.
    const SimTime between = execution_.makespan - computing - moving;
    if (between > SimTime(0)) total("  between steps      ", between);
    return text;
  }

 private:
  const TransferRecord& transfer(std::int32_t index) const {
    return execution_.transfers[static_cast<std::size_t>(index)];
  }
  const std::string& device_name(DeviceId device) const { return topology_.device(device).name; }
  std::string output(std::int32_t transfer_index) const {
    return "output of " + operation_label(graph_, transfer(transfer_index).producer);
  }

  std::string what(const ScheduleStep& step) const {
    if (!step.is_transfer) return operation_label(graph_, OperationId(step.index));
    return "move " + output(step.index) + ", " + std::to_string(transfer(step.index).bytes) +
           " bytes";
  }
  std::string where(const ScheduleStep& step) const {
    if (!step.is_transfer) return device_name(assignment_[OperationId(step.index)]);
    const TransferRecord& t = transfer(step.index);
    return device_name(t.from) + " -> " + device_name(t.to);
  }
  std::string describe(const Wait& wait) const {
    const auto held = [&] {
      return ", held by " + output(wait.index) + " to " + device_name(transfer(wait.index).to);
    };
    switch (wait.kind) {
      case Wait::Kind::kNothing:
        return "nothing";
      case Wait::Kind::kOperation:
        return "input from " + operation_label(graph_, OperationId(wait.index));
      case Wait::Kind::kTransfer:
        return "input from " + operation_label(graph_, transfer(wait.index).producer) + ", moved";
      case Wait::Kind::kDevice:
        return "device, taken by " + operation_label(graph_, OperationId(wait.index));
      case Wait::Kind::kLink:
        return "link " + topology_.link_name(LinkId(wait.resource)) + held();
      case Wait::Kind::kSharedGroup:
        return "shared group " + topology_.group(SharedGroupId(wait.resource)).name + held();
      case Wait::Kind::kCopyEngine:
        return "copy engine of " + device_name(DeviceId(wait.resource)) + held();
    }
    return {};
  }

  static std::string table(const std::vector<std::array<std::string, 5>>& rows) {
    std::array<std::size_t, 5> width{};
    for (const auto& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    }
    std::string text;
    for (const auto& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string padding(width[c] - row[c].size(), ' ');
        const bool number = c < 2;  // to the right
        if (number) text += padding;
        text += row[c];
        if (!number && c + 1 < row.size()) text += padding;
        text += c + 1 < row.size() ? "  " : "\n";
      }
    }
    return text;
  }

  const Graph& graph_;
  const Topology& topology_;
  const Assignment& assignment_;
  const Execution& execution_;
};

}  // namespace

std::string operation_label(const Graph& graph, OperationId operation) {
  const std::string& name = graph.operation(operation).name;
  const std::string number = std::to_string(operation.value());
  return name.empty() ? number : name + " (" + number + ")";
}

std::string explain(const Graph& graph, const Topology& topology, const Assignment& assignment,
                    const Execution& execution) {
  return Explainer(graph, topology, assignment, execution).text();
}

}  // namespace doppler
