#include "sim/memory_meter.h"

#include <algorithm>

#include "common/error.h"

namespace doppler {
namespace {

constexpr std::int64_t kLargestTotal = std::int64_t{1} << 62;

void check_total(const Graph& graph) {
  std::int64_t total = 0;
  const auto add = [&](std::int64_t bytes) {
    if (bytes > kLargestTotal - total) {
      throw ConfigError("graph " + graph.name() +
                        ": its tensors and their copies exceed 2^62 bytes; check output bytes, "
                        "edges and inputs");
    }
    total += bytes;
  };
  for (const Operation& operation : graph.operations()) add(operation.output_bytes);
  for (std::size_t e = 0; e < graph.edge_count(); ++e) {
    add(graph.edge_bytes(EdgeId(static_cast<std::int32_t>(e))));
  }
  for (const InputTensor& input : graph.inputs()) {
    for (std::size_t i = 0; i < input.consumers.size(); ++i) add(input.bytes);
  }
}

}  // namespace

MemoryMeter::MemoryMeter(const Graph& graph, const Topology& topology) : graph_(&graph) {
  check_total(graph);
  const std::size_t devices = topology.devices().size();
  for (const Device& device : topology.devices()) {
    capacity_.push_back(device.memory_bytes.value_or(0));
  }
  for (auto* counts : {&held_, &peak_, &allocated_, &freed_}) counts->assign(devices, 0);
  const std::size_t n = graph.operation_count();
  read_offsets_.assign(n + 1, 0);
  first_read_.push_back(0);
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId reader : input.consumers) ++read_offsets_[reader.index() + 1];
    first_read_.push_back(first_read_.back() + static_cast<std::int32_t>(input.consumers.size()));
  }
  for (std::size_t i = 0; i < n; ++i) read_offsets_[i + 1] += read_offsets_[i];
  const auto reads = static_cast<std::size_t>(first_read_.back());
  reads_.resize(reads);
  std::vector<std::int32_t> next(read_offsets_.begin(), read_offsets_.end() - 1);
  std::int32_t slot = 0;
  for (const InputTensor& input : graph.inputs()) {
    for (OperationId reader : input.consumers) {
      reads_[static_cast<std::size_t>(next[reader.index()]++)] = slot++;
    }
  }
  output_users_.resize(n);
  edge_transfer_.resize(graph.edge_count());
  copies_.resize(graph.edge_count());
  read_copy_.resize(reads);
  input_copies_.resize(reads);
  first_on_device_.resize(devices);
}

void MemoryMeter::reset(const Assignment& assignment) {
  assignment_ = &assignment;
  for (auto* counts : {&held_, &peak_, &allocated_, &freed_}) counts->assign(capacity_.size(), 0);
  for (std::size_t i = 0; i < graph_->inputs().size(); ++i) {
    const InputTensor& input = graph_->inputs()[i];
    std::fill(first_on_device_.begin(), first_on_device_.end(), -1);
    std::int32_t slot = first_read_[i];
    for (OperationId reader : input.consumers) {
      const DeviceId device = assignment[reader];
      std::int32_t& first = first_on_device_[device.index()];
      if (first < 0) {
        first = slot;
        input_copies_[static_cast<std::size_t>(slot)] = {.readers = 0, .bytes = input.bytes};
        allocate(device, input.bytes);
      }
      ++input_copies_[static_cast<std::size_t>(first)].readers;
      read_copy_[static_cast<std::size_t>(slot++)] = first;
    }
  }
}

void MemoryMeter::allocate(DeviceId device, std::int64_t bytes) {
  held_[device] += bytes;
  allocated_[device] += bytes;
  peak_[device] = std::max(peak_[device], held_[device]);
}

void MemoryMeter::free_bytes(DeviceId device, std::int64_t bytes) {
  held_[device] -= bytes;
  freed_[device] += bytes;
}

void MemoryMeter::release_output(OperationId operation) {
  if (--output_users_[operation.index()] == 0) {
    free_bytes((*assignment_)[operation], graph_->operation(operation).output_bytes);
  }
}

void MemoryMeter::operation_starts(OperationId operation) {
  allocate((*assignment_)[operation], graph_->operation(operation).output_bytes);
}

void MemoryMeter::operation_ends(OperationId operation, int local_reader_count,
                                 int transfer_count) {
  const DeviceId device = (*assignment_)[operation];
  const auto predecessors = graph_->predecessors(operation);
  const auto in_edges = graph_->in_edges(operation);
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    if ((*assignment_)[predecessors[i]] == device) {
      release_output(predecessors[i]);
      continue;
    }
    Copy& copy = copies_[static_cast<std::size_t>(edge_transfer_[in_edges[i].index()])];
    if (--copy.readers == 0) free_bytes(device, copy.bytes);
  }
  for (std::int32_t i = read_offsets_[operation.index()]; i < read_offsets_[operation.index() + 1];
       ++i) {
    const std::int32_t slot = reads_[static_cast<std::size_t>(i)];
    Copy& copy =
        input_copies_[static_cast<std::size_t>(read_copy_[static_cast<std::size_t>(slot)])];
    if (--copy.readers == 0) free_bytes(device, copy.bytes);
  }
  output_users_[operation.index()] = local_reader_count + transfer_count;
}

void MemoryMeter::transfer_starts(DeviceId to, std::int64_t bytes) {
  allocate(to, bytes);
}

void MemoryMeter::transfer_ends(std::int32_t transfer, OperationId producer) {
  copies_[static_cast<std::size_t>(transfer)] = {};
  release_output(producer);
}

void MemoryMeter::copy_is_read(EdgeId edge, std::int32_t transfer, std::int64_t bytes) {
  Copy& copy = copies_[static_cast<std::size_t>(transfer)];
  ++copy.readers;
  copy.bytes = bytes;
  edge_transfer_[edge.index()] = transfer;
}

void MemoryMeter::finish() {
  for (std::size_t o = 0; o < graph_->operation_count(); ++o) {
    const OperationId id(static_cast<std::int32_t>(o));
    if (graph_->out_degree(id) == 0) {
      free_bytes((*assignment_)[id], graph_->operation(id).output_bytes);
    }
  }
}

double MemoryMeter::largest_overflow_fraction() const {
  double largest = 0;
  for (std::size_t d = 0; d < capacity_.size(); ++d) {
    const DeviceId device(static_cast<std::int32_t>(d));
    if (capacity_[device] == 0) continue;
    const std::int64_t over = peak_[device] - capacity_[device];
    largest = std::max(largest, static_cast<double>(over) / static_cast<double>(capacity_[device]));
  }
  return largest;
}

}  // namespace doppler
