// What all importers share: the options that they take and what they return.
//
// An importer turns the content of a file in somebody else's format into a Graph. It is strict:
// what it cannot read is a FormatError "file:line:column: field: what is wrong; what to do" (for
// JSON: "file: /path/to/field: ..."). What can be read but is probably not meant, or is left out of
// the graph, is a warning. The same content gives the same graph on every machine. The formats and
// how their costs are turned: docs/graph_formats.md.
#ifndef DOPPLER_COMMON_IMPORT_H_
#define DOPPLER_COMMON_IMPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/graph.h"
#include "common/graph_text.h"

namespace doppler {

enum class Pass { kForward, kTraining };  // which operations a profile of a network becomes

struct ImportOptions {
  // What a time belongs to that the file states without naming the device.
  std::string device_kind = std::string(kAnyDeviceKind);
  // PipeDream: kTraining adds a backward operation to each layer.
  Pass pass = Pass::kForward;
  // Sources that cost nothing stay operations; otherwise they become input tensors.
  bool keep_inputs = false;
  // ONNX: sizes of symbolic dimensions, by name.
  std::map<std::string, std::int64_t> dimensions = {};
  // dnn-partitioning: what turns the time of a transfer into bytes where the file states no bytes.
  std::optional<double> bytes_per_second = {};
};

// Devices that a file speaks of. A graph holds none; the topology has to state them.
struct DeviceHint {
  std::string kind;
  std::int64_t count = 0;
  std::optional<std::int64_t> memory_bytes;
  bool operator==(const DeviceHint&) const = default;
};

struct Imported {
  Graph graph;
  std::vector<Warning> warnings;
  std::vector<DeviceHint> devices;
  // What the file calls each operation; empty where it has no ids. [operations]
  std::vector<std::string> operation_ids;
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_H_
