// MemoryMeter: how many bytes each device holds, and the most that it held.
//
// Lifetimes. The output of an operation is there from its start until the last operation on its
// device that reads it and the last transfer that sends it have ended. A copy on another device is
// there from the start of its transfer until its last reader there has ended. An input tensor is
// there from time 0 on each device that has a reader, until the last one there has ended. An output
// that nobody reads is a result and stays until the end.
//
// Within one instant the order of the simulator's events decides: what an operation or transfer
// ends is freed before anything that starts thereby is allocated. No allocation after construction.
// Not thread-safe; the graph must outlive it.
#ifndef DOPPLER_SIM_MEMORY_METER_H_
#define DOPPLER_SIM_MEMORY_METER_H_

#include <cstdint>
#include <vector>

#include "common/assignment.h"
#include "common/graph.h"
#include "common/ids.h"
#include "common/topology.h"

namespace doppler {

class MemoryMeter {
 public:
  // Throws ConfigError if all tensors and copies together exceed what an int64 of bytes can hold.
  MemoryMeter(const Graph& graph, const Topology& topology);

  // Time 0: the input tensors are there, nothing else. `assignment` must live until finish().
  void reset(const Assignment& assignment);
  void operation_starts(OperationId operation);
  // Frees what the operation was the last to read. Its own output has `local_reader_count` readers
  // on its device and is sent by `transfer_count` transfers.
  void operation_ends(OperationId operation, int local_reader_count, int transfer_count);
  void transfer_starts(DeviceId to, std::int64_t bytes);
  // The output of `producer` is sent; copy_is_read() for each reader of the copy comes next.
  void transfer_ends(std::int32_t transfer, OperationId producer);
  // The destination of `edge` reads the copy of `bytes` that `transfer` brought.
  void copy_is_read(EdgeId edge, std::int32_t transfer, std::int64_t bytes);
  // Frees the results.
  void finish();

  const IdVector<DeviceId, std::int64_t>& peak() const { return peak_; }            // [devices]
  const IdVector<DeviceId, std::int64_t>& allocated() const { return allocated_; }  // in all
  const IdVector<DeviceId, std::int64_t>& freed() const { return freed_; }          // in all
  // The largest (peak - capacity) / capacity of a device, 0 if everything fits.
  double largest_overflow_fraction() const;

 private:
  struct Copy {
    std::int32_t readers = 0;
    std::int64_t bytes = 0;
  };

  void allocate(DeviceId device, std::int64_t bytes);
  void free_bytes(DeviceId device, std::int64_t bytes);
  void release_output(OperationId operation);

  // Constant after construction.
  const Graph* graph_;
  IdVector<DeviceId, std::int64_t> capacity_;  // [devices]; 0: unlimited
  std::vector<std::int32_t> read_offsets_;     // [operations + 1]
  std::vector<std::int32_t> reads_;            // of each operation, slots of read_copy_
  std::vector<std::int32_t> first_read_;       // [inputs + 1], slots of read_copy_

  // State of one run.
  const Assignment* assignment_ = nullptr;
  IdVector<DeviceId, std::int64_t> held_;
  IdVector<DeviceId, std::int64_t> peak_;
  IdVector<DeviceId, std::int64_t> allocated_;
  IdVector<DeviceId, std::int64_t> freed_;
  std::vector<std::int32_t> output_users_;   // [operations], readers and transfers
  std::vector<std::int32_t> edge_transfer_;  // [edges], the copy that the destination reads
  std::vector<Copy> copies_;                 // [edges], by transfer
  std::vector<std::int32_t> read_copy_;  // [reads of inputs], slot of the first read on the device
  std::vector<Copy> input_copies_;       // [reads of inputs], at the slot of the first read
  std::vector<std::int32_t> first_on_device_;  // [devices], scratch of reset()
};

}  // namespace doppler

#endif  // DOPPLER_SIM_MEMORY_METER_H_
