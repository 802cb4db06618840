#include "gpuexec/arena_plan.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"

namespace doppler {
namespace {

// More buffers than this on one device are laid out side by side: comparing all pairs would take
// longer than it is worth.
constexpr std::size_t kMostCompared = 8192;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + ArenaPlan::kAlignment - 1) / ArenaPlan::kAlignment * ArenaPlan::kAlignment;
}

class Planner {
 public:
  Planner(const RunPlan& plan, const Precedence& precedence, const std::vector<std::int64_t>& bytes)
      : plan_(plan), precedence_(precedence), bytes_(bytes) {
    position_.resize(static_cast<std::size_t>(plan.operation_count()));
    std::int32_t position = 0;
    for (OperationId id : plan.graph().topological_order()) position_[id.index()] = position++;
  }

  // Lays out the buffers of one device; returns the end of the last.
  std::int64_t lay_out(std::vector<std::int32_t> buffers, std::vector<std::int64_t>& offset) const {
    std::stable_sort(buffers.begin(), buffers.end(),
                     [this](std::int32_t a, std::int32_t b) { return order(a) < order(b); });
    std::int64_t end = 0;
    std::vector<std::int32_t> placed;
    std::vector<std::int32_t> taken;
    for (std::int32_t buffer : buffers) {
      const std::int64_t size = aligned(bytes_[static_cast<std::size_t>(buffer)]);
      std::int64_t at = end;
      if (buffers.size() <= kMostCompared && !resident(buffer)) {
        taken.clear();
        for (std::int32_t other : placed) {
          if (!ends_before(other, buffer)) taken.push_back(other);
        }
        std::sort(taken.begin(), taken.end(), [&](std::int32_t a, std::int32_t b) {
          return offset[static_cast<std::size_t>(a)] < offset[static_cast<std::size_t>(b)];
        });
        at = 0;
        for (std::int32_t other : taken) {
          const auto o = static_cast<std::size_t>(other);
          if (offset[o] >= at + size) break;
          at = std::max(at, offset[o] + aligned(bytes_[o]));
        }
      }
      offset[static_cast<std::size_t>(buffer)] = at;
      end = std::max(end, at + size);
      placed.push_back(buffer);
    }
    return end;
  }

 private:
  bool resident(std::int32_t buffer) const {
    return plan_.buffers()[static_cast<std::size_t>(buffer)].resident;
  }
  bool is_copy(std::int32_t buffer) const {
    return buffer >= plan_.operation_count() && buffer < plan_.first_input_buffer();
  }
  // Whose end or start the life of a buffer begins with; -1 for input tensors.
  std::int32_t writer(std::int32_t buffer) const {
    if (buffer < plan_.operation_count()) return buffer;
    if (!is_copy(buffer)) return -1;
    const auto transfer = static_cast<std::size_t>(buffer - plan_.operation_count());
    return plan_.transfers()[transfer].producer.value();
  }
  std::int32_t order(std::int32_t buffer) const {
    const std::int32_t by = writer(buffer);
    // What is there from the start comes first.
    if (by < 0 || (buffer < plan_.operation_count() && plan_.is_given(buffer))) return -1;
    return position_[static_cast<std::size_t>(by)];
  }

  // Whether all users of `buffer` are certain to have ended before `next` is written.
  bool ends_before(std::int32_t buffer, std::int32_t next) const {
    if (resident(buffer)) return false;
    const std::int32_t by = writer(next);
    const auto all_before = [&](std::span<const std::int32_t> users) {
      return std::all_of(users.begin(), users.end(),
                         [&](std::int32_t user) { return precedence_.before(user, by); });
    };
    if (is_copy(buffer)) return all_before(plan_.consumers(buffer - plan_.operation_count()));
    if (!all_before(plan_.local_consumers(buffer))) return false;
    for (std::int32_t t = plan_.first_transfer(buffer); t < plan_.end_transfer(buffer); ++t) {
      // The transfer has ended when one of its consumers starts.
      const auto users = plan_.consumers(t);
      const bool ended = std::any_of(users.begin(), users.end(), [&](std::int32_t user) {
        return user == by || precedence_.before(user, by);
      });
      if (!ended) return false;
    }
    return true;
  }

  const RunPlan& plan_;
  const Precedence& precedence_;
  const std::vector<std::int64_t>& bytes_;
  std::vector<std::int32_t> position_;  // [operations], in topological order
};

}  // namespace

ArenaPlan plan_arena(const RunPlan& plan, const Precedence& precedence,
                     const std::vector<std::int64_t>& buffer_bytes,
                     const IdVector<DeviceId, std::int64_t>& scratch_bytes) {
  DP_CHECK_EQ(buffer_bytes.size(), plan.buffers().size());
  const auto devices = static_cast<std::size_t>(plan.device_count());
  DP_CHECK_EQ(scratch_bytes.size(), devices);
  ArenaPlan arena;
  arena.offset.assign(plan.buffers().size(), 0);
  arena.scratch.assign(devices, 0);
  arena.bytes.assign(devices, 0);
  std::vector<std::vector<std::int32_t>> on_device(devices);
  for (std::size_t b = 0; b < plan.buffers().size(); ++b) {
    on_device[plan.buffers()[b].device.index()].push_back(static_cast<std::int32_t>(b));
  }
  const Planner planner(plan, precedence, buffer_bytes);
  for (std::size_t d = 0; d < devices; ++d) {
    const DeviceId device(static_cast<std::int32_t>(d));
    const std::int64_t end = planner.lay_out(std::move(on_device[d]), arena.offset);
    arena.scratch[device] = end;
    arena.bytes[device] = end + aligned(scratch_bytes[device]);
  }
  return arena;
}

}  // namespace doppler
