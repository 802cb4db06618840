#include "sim/least_transfer_dealing.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "common/check.h"

namespace doppler {
namespace {

class Dealing {
 public:
  Dealing(std::span<const std::vector<DealingOption>> options, int device_count)
      : options_(options),
        device_count_(static_cast<std::size_t>(device_count)),
        even_share_(static_cast<std::int64_t>(options.size() / device_count_)),
        chosen_(options.size()),
        dealt_(device_count_) {}

  std::vector<DeviceId> run() {
    for (std::size_t item = 0; item < options_.size(); ++item) add(item);
    std::vector<DeviceId> devices;
    devices.reserve(options_.size());
    for (std::size_t item = 0; item < options_.size(); ++item) {
      devices.push_back(options_[item][chosen_[item]].device);
    }
    return devices;
  }

 private:
  struct Step {  // how a device is reached on the cheapest path so far
    DealingCost cost;
    std::size_t from = 0;    // the device that hands an operation on; of no meaning for the first
    std::size_t item = 0;    // that operation
    std::size_t option = 0;  // its new option
    bool first = true;       // the operation that is added comes here itself
  };

  static DealingCost cost(const DealingOption& option) {
    return {0, option.transfer_ticks, option.load_ticks};
  }

  // Adds one operation to an optimal dealing of the ones before it along a cheapest path: it takes
  // a device, which may hand one of its operations on to another device, and so on. The result is
  // optimal again, because there was no cycle of negative cost.
  void add(std::size_t item) {
    std::vector<std::optional<Step>> steps(device_count_);
    for (std::size_t k = 0; k < options_[item].size(); ++k) {
      std::optional<Step>& step = steps[options_[item][k].device.index()];
      if (step && step->cost <= cost(options_[item][k])) continue;
      step = Step{.cost = cost(options_[item][k]), .item = item, .option = k};
    }
    find_paths(steps);

    std::size_t end = device_count_;
    DealingCost least;
    for (std::size_t d = 0; d < device_count_; ++d) {
      if (!steps[d]) continue;
      const auto count = static_cast<std::int64_t>(dealt_[d].size());
      const DealingCost sum =
          steps[d]->cost + DealingCost{std::max<std::int64_t>(0, count + 1 - even_share_), 0, 0};
      if (end == device_count_ || sum < least) {
        end = d;
        least = sum;
      }
    }
    DP_CHECK_LT(end, device_count_);
    for (std::size_t d = end;;) {
      const Step& step = *steps[d];
      chosen_[step.item] = step.option;
      dealt_[d].push_back(step.item);
      if (step.first) break;
      std::erase(dealt_[step.from], step.item);
      d = step.from;
    }
  }

  // Bellman and Ford over the devices. An edge from a to b is the operation on a that is cheapest
  // to move to b.
  void find_paths(std::vector<std::optional<Step>>& steps) const {
    std::vector<std::optional<Step>> edges(device_count_ * device_count_);
    for (std::size_t a = 0; a < device_count_; ++a) {
      for (std::size_t item : dealt_[a]) {
        for (std::size_t k = 0; k < options_[item].size(); ++k) {
          const std::size_t b = options_[item][k].device.index();
          if (b == a) continue;
          const DealingCost delta = cost(options_[item][k]) - cost(options_[item][chosen_[item]]);
          std::optional<Step>& edge = edges[a * device_count_ + b];
          if (edge && edge->cost <= delta) continue;
          edge = Step{.cost = delta, .from = a, .item = item, .option = k, .first = false};
        }
      }
    }
    bool changed = true;
    for (std::size_t round = 1; changed && round < device_count_; ++round) {
      changed = false;
      for (std::size_t a = 0; a < device_count_; ++a) {
        if (!steps[a]) continue;
        for (std::size_t b = 0; b < device_count_; ++b) {
          const std::optional<Step>& edge = edges[a * device_count_ + b];
          if (!edge) continue;
          const DealingCost sum = steps[a]->cost + edge->cost;
          if (steps[b] && steps[b]->cost <= sum) continue;
          steps[b] = *edge;
          steps[b]->cost = sum;
          changed = true;
        }
      }
    }
  }

  std::span<const std::vector<DealingOption>> options_;
  const std::size_t device_count_;
  const std::int64_t even_share_;
  std::vector<std::size_t> chosen_;              // [operations], an index of its options
  std::vector<std::vector<std::size_t>> dealt_;  // [devices], operations
};

}  // namespace

std::vector<DeviceId> deal_with_least_transfer(std::span<const std::vector<DealingOption>> options,
                                               int device_count) {
  return Dealing(options, device_count).run();
}

}  // namespace doppler
