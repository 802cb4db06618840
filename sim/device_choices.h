// DeviceChoices: the devices that each operation may run on, as lists. CostTable::allowed() answers
// for one pair; whatever enumerates or draws devices needs the list.
#ifndef DOPPLER_SIM_DEVICE_CHOICES_H_
#define DOPPLER_SIM_DEVICE_CHOICES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "common/assignment.h"
#include "common/cost_table.h"
#include "common/ids.h"
#include "common/random.h"

namespace doppler {

// Immutable; any number of threads may read it. The cost table is not needed afterwards.
class DeviceChoices {
 public:
  explicit DeviceChoices(const CostTable& costs);

  // Never empty, by device id.
  std::span<const DeviceId> of(OperationId operation) const {
    const std::size_t begin = offsets_[operation.index()];
    return {devices_.data() + begin, offsets_[operation.index() + 1] - begin};
  }
  // The operations with at least two choices, by id: all that there is to decide.
  const std::vector<OperationId>& free_operations() const { return free_operations_; }

  // Each device of each operation with the same chance.
  Assignment draw(RandomStream& random) const;

 private:
  std::vector<std::size_t> offsets_;  // [operations + 1]
  std::vector<DeviceId> devices_;
  std::vector<OperationId> free_operations_;
};

}  // namespace doppler

#endif  // DOPPLER_SIM_DEVICE_CHOICES_H_
