#include "learner/checkpoint_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "common/check.h"
#include "common/error.h"
#include "common/hash.h"
#include "learner/hdf5_file.h"

namespace doppler {
namespace {

constexpr std::size_t kHeaderBytes = 512;  // the smallest user block that HDF5 looks behind
constexpr std::string_view kFormat = "doppler-checkpoint";
constexpr std::string_view kVersionKey = "\nformat_version: ";
constexpr const char* kWhatToDo = "; take an earlier checkpoint";

// ---- the header

std::string make_header(std::span<const std::byte> image) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_bytes(image)));
  std::string header(kFormat);
  header += kVersionKey;
  header += std::to_string(kCheckpointFormatVersion);
  header += "\nhdf5_bytes: " + std::to_string(image.size());
  header += "\nhdf5_fnv1a64: " + std::string(hash);
  header += "\n# An HDF5 file follows at byte 512; HDF5 tools read this file as it is.";
  DP_CHECK_LT(header.size(), kHeaderBytes);
  header.resize(kHeaderBytes, '\n');
  return header;
}

// The HDF5 part of a file whose every byte is as it was written.
std::span<const std::byte> verified_image(std::span<const std::byte> bytes,
                                          const std::string& name) {
  const auto refuse = [&](const std::string& reason) { throw FormatError(name + ": " + reason); };
  if (bytes.empty()) refuse(std::string("this file is empty") + kWhatToDo);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kFormat) || !text.substr(kFormat.size()).starts_with(kVersionKey)) {
    refuse("not a Doppler checkpoint (it does not begin with \"" + std::string(kFormat) +
           "\"): of another program, or damaged" + kWhatToDo);
  }
  const std::string_view version_text = text.substr(kFormat.size() + kVersionKey.size(), 20);
  std::int64_t version = -1;
  std::from_chars(version_text.data(), version_text.data() + version_text.size(), version);
  if (version != kCheckpointFormatVersion) {
    refuse("format version " + std::to_string(version) + ", but this program reads version " +
           std::to_string(kCheckpointFormatVersion) +
           "; load it with the release of Doppler that wrote it");
  }
  if (bytes.size() <= kHeaderBytes) refuse(std::string("cut short") + kWhatToDo);
  const std::span<const std::byte> image = bytes.subspan(kHeaderBytes);
  if (text.substr(0, kHeaderBytes) != make_header(image)) {
    refuse(std::string("damaged: its content is not what was written (size or hash differs)") +
           kWhatToDo);
  }
  return image;
}

// ---- names and shapes

void check_tensor_name(const std::string& name, const std::string& place) {
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part.find('\0') != std::string_view::npos) {
      throw FormatError(place + ": \"" + name +
                        "\" cannot be the name of a tensor; parts between slashes must "
                        "be neither empty nor \".\"");
    }
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
}

void write_tensors(Hdf5Group& parent, const std::string& group_name,
                   const std::vector<NamedTensor>& tensors) {
  Hdf5Group group = parent.create_group(group_name);
  std::int64_t position = 0;
  for (const NamedTensor& tensor : tensors) {
    check_tensor_name(tensor.name, group.place());
    if (group.has(tensor.name)) {
      throw FormatError(group.place() + ": two tensors are called \"" + tensor.name + "\"");
    }
    Hdf5Dataset dataset = group.write<float>(tensor.name, tensor.shape, tensor.values);
    dataset.set_attribute("position", position++);
  }
}

struct PlacedTensor {
  std::int64_t position = 0;
  NamedTensor tensor;
};

void collect_tensors(const Hdf5Group& group, const std::string& prefix,
                     std::vector<PlacedTensor>& found) {
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      collect_tensors(group.group(name), prefix + name + "/", found);
      continue;
    }
    const Hdf5Dataset dataset = group.dataset(name);
    found.push_back({dataset.attribute<std::int64_t>("position"),
                     {prefix + name, dataset.shape(), dataset.read<float>()}});
  }
}

std::vector<NamedTensor> read_tensors(const Hdf5Group& parent, const std::string& group_name) {
  const Hdf5Group group = parent.group(group_name);
  std::vector<PlacedTensor> found;
  collect_tensors(group, "", found);
  std::sort(found.begin(), found.end(),
            [](const PlacedTensor& a, const PlacedTensor& b) { return a.position < b.position; });
  std::vector<NamedTensor> tensors;
  tensors.reserve(found.size());
  for (PlacedTensor& placed : found) {
    if (placed.position != static_cast<std::int64_t>(tensors.size())) {
      throw FormatError(group.place() + "/" + placed.tensor.name + ": position " +
                        std::to_string(placed.position) + ", expected " +
                        std::to_string(tensors.size()) + "; a tensor is missing or twice there");
    }
    tensors.push_back(std::move(placed.tensor));
  }
  return tensors;
}

// Groups "0", "1", ...: zero-padded, so that every tool lists them in order.
std::string element_name(std::size_t i) {
  char name[24];
  std::snprintf(name, sizeof name, "%04zu", i);
  return name;
}

// ---- parts

void write_counts(Hdf5Group& root, const EpisodeCounts& counts) {
  Hdf5Group group = root.create_group("counts");
  for (const EpisodeCountField& field : kEpisodeCountFields) {
    group.set_attribute(field.name, counts.*field.count);
  }
}

EpisodeCounts read_counts(const Hdf5Group& root) {
  const Hdf5Group group = root.group("counts");
  EpisodeCounts counts;
  for (const EpisodeCountField& field : kEpisodeCountFields) {
    counts.*field.count = group.attribute<std::uint64_t>(field.name);
  }
  return counts;
}

template <typename Ids>
std::vector<std::int32_t> id_values(const Ids& ids) {
  std::vector<std::int32_t> values;
  values.reserve(ids.size());
  for (const auto id : ids) values.push_back(id.value());
  return values;
}

void write_placement(Hdf5Group& graph, const std::string& name, const BestPlacement& placement) {
  Hdf5Group group = graph.create_group(name);
  group.set_attribute("makespan_ticks", placement.makespan.ticks());
  group.set_attribute("episode", placement.episode);
  group.set_attribute("seed", placement.seed);
  group.set_attribute("found_by", placement.found_by);
  group.write<std::int32_t>("assignment", id_values(placement.assignment));
  group.write<std::int32_t>("order", id_values(placement.order));
}

// [operations] numbers, or none.
std::vector<std::int32_t> read_per_operation(const Hdf5Group& group, const std::string& name,
                                             std::int64_t operation_count) {
  const Hdf5Dataset dataset = group.dataset(name);
  const std::vector<std::int64_t> shape = dataset.shape();
  if (shape.size() != 1 || (shape[0] != 0 && shape[0] != operation_count)) {
    throw FormatError(dataset.place() + ": expected one entry for each of the " +
                      std::to_string(operation_count) + " operations, or none");
  }
  std::vector<std::int32_t> values = dataset.read<std::int32_t>();
  for (std::int32_t value : values) {
    if (value < 0)
      throw FormatError(dataset.place() + ": holds the negative id " + std::to_string(value));
  }
  return values;
}

BestPlacement read_placement(const Hdf5Group& graph, const std::string& name,
                             std::int64_t operation_count) {
  const Hdf5Group group = graph.group(name);
  BestPlacement placement;
  placement.makespan = SimTime(group.attribute<std::int64_t>("makespan_ticks"));
  placement.episode = group.attribute<std::uint64_t>("episode");
  placement.seed = group.attribute<std::uint64_t>("seed");
  placement.found_by = group.string_attribute("found_by");
  for (std::int32_t device : read_per_operation(group, "assignment", operation_count)) {
    placement.assignment.push_back(DeviceId(device));
  }
  std::vector<bool> seen(static_cast<std::size_t>(operation_count), false);
  for (std::int32_t operation : read_per_operation(group, "order", operation_count)) {
    if (operation >= operation_count || seen[static_cast<std::size_t>(operation)]) {
      throw FormatError(group.place() + "/order: operation " + std::to_string(operation) +
                        " is there twice or does not exist");
    }
    seen[static_cast<std::size_t>(operation)] = true;
    placement.order.push_back(OperationId(operation));
  }
  return placement;
}

void write_graph(Hdf5Group& graphs, std::size_t i, const GraphState& state) {
  Hdf5Group group = graphs.create_group(element_name(i));
  group.set_attribute("name", state.name);
  group.set_attribute("content_hash", state.content_hash);
  group.set_attribute("operation_count", state.operation_count);
  group.set_attribute("lower_bound_ticks", state.lower_bound.ticks());
  write_placement(group, "best", state.best);
  write_placement(group, "greedy", state.greedy);
  write_placement(group, "measured", state.measured);
  std::vector<std::string> names;
  std::vector<std::int64_t> times;
  for (const NamedTime& baseline : state.baselines) {
    names.push_back(baseline.name);
    times.push_back(baseline.time.ticks());
  }
  group.write_strings("baseline_names", names);
  group.write<std::int64_t>("baseline_ticks", times);
}

GraphState read_graph(const Hdf5Group& graphs, std::size_t i) {
  const Hdf5Group group = graphs.group(element_name(i));
  GraphState state;
  state.name = group.string_attribute("name");
  state.content_hash = group.attribute<std::uint64_t>("content_hash");
  state.operation_count = group.attribute<std::int64_t>("operation_count");
  state.lower_bound = SimTime(group.attribute<std::int64_t>("lower_bound_ticks"));
  if (state.operation_count < 0) {
    throw FormatError(group.place() + " @operation_count: negative");
  }
  state.best = read_placement(group, "best", state.operation_count);
  state.greedy = read_placement(group, "greedy", state.operation_count);
  state.measured = read_placement(group, "measured", state.operation_count);
  const std::vector<std::string> names = group.dataset("baseline_names").read_strings();
  const std::vector<std::int64_t> times = group.dataset("baseline_ticks").read<std::int64_t>();
  if (names.size() != times.size()) {
    throw FormatError(group.place() + ": baseline_names and baseline_ticks differ in length");
  }
  for (std::size_t k = 0; k < names.size(); ++k)
    state.baselines.push_back({names[k], SimTime(times[k])});
  return state;
}

void write_versions(Hdf5Group& root, const std::vector<WeightVersion>& versions) {
  Hdf5Group group = root.create_group("recent_versions");
  for (std::size_t i = 0; i < versions.size(); ++i) {
    Hdf5Dataset dataset = group.write<std::byte>(element_name(i), versions[i].bytes);
    dataset.set_attribute("version", versions[i].version);
  }
}

std::vector<WeightVersion> read_versions(const Hdf5Group& root) {
  const Hdf5Group group = root.group("recent_versions");
  std::vector<WeightVersion> versions;
  const std::size_t count = group.names().size();
  for (std::size_t i = 0; i < count; ++i) {
    const Hdf5Dataset dataset = group.dataset(element_name(i));
    versions.push_back({dataset.attribute<std::uint64_t>("version"), dataset.read<std::byte>()});
    if (i > 0 && versions[i].version <= versions[i - 1].version) {
      throw FormatError(dataset.place() + ": versions do not ascend");
    }
  }
  return versions;
}

Stage read_stage(const Hdf5Group& root) {
  const auto value = root.attribute<std::uint32_t>("stage");
  if (value < 1 || value > 3) {
    throw FormatError(root.place() + " @stage: " + std::to_string(value) +
                      " is no stage; they are 1, 2, 3");
  }
  return static_cast<Stage>(value);
}

double read_seconds(const Hdf5Group& root, const std::string& name) {
  const double value = root.attribute<double>(name);
  if (!(value >= 0)) throw FormatError(root.place() + " @" + name + ": not a duration");
  return value;
}

}  // namespace

std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint, const std::string& name) {
  Hdf5File file = Hdf5File::create_in_memory(name);
  {
    Hdf5Group root = file.root();
    root.set_attribute("format", kFormat);
    root.set_attribute("format_version", kCheckpointFormatVersion);
    root.set_attribute("hdf5_version", hdf5_library_version());
    root.set_attribute("config_hash", checkpoint.config_hash);
    root.set_attribute("lineage", checkpoint.lineage);
    root.set_attribute("stage", static_cast<std::uint32_t>(checkpoint.stage));
    root.set_attribute("stage_update", checkpoint.stage_update);
    root.set_attribute("update", checkpoint.update);
    root.set_attribute("next_episode", checkpoint.next_episode);
    root.set_attribute("next_ticket", checkpoint.next_ticket);
    root.set_attribute("elapsed_seconds", checkpoint.elapsed_seconds);
    root.set_attribute("stage_elapsed_seconds", checkpoint.stage_elapsed_seconds);
    root.set_attribute("learning_rate", checkpoint.learning_rate);
    root.set_attribute("archive_segment", checkpoint.archive_segment);
    root.set_attribute("archive_rows", checkpoint.archive_rows);
    root.write_string("config_yaml", checkpoint.config_yaml);
    write_counts(root, checkpoint.counts);
    write_tensors(root, "parameters", checkpoint.parameters);
    write_tensors(root, "optimizer", checkpoint.optimizer);
    write_versions(root, checkpoint.recent_versions);
    Hdf5Group graphs = root.create_group("graphs");
    for (std::size_t i = 0; i < checkpoint.graphs.size(); ++i) {
      write_graph(graphs, i, checkpoint.graphs[i]);
    }
  }
  const std::vector<std::byte> image = file.image();
  file.close();
  const std::string header = make_header(image);
  std::vector<std::byte> bytes(kHeaderBytes + image.size());
  std::memcpy(bytes.data(), header.data(), kHeaderBytes);
  std::memcpy(bytes.data() + kHeaderBytes, image.data(), image.size());
  return bytes;
}

Checkpoint decode_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  const Hdf5File file = Hdf5File::open_image(verified_image(bytes, name), name);
  const Hdf5Group root = file.root();
  Checkpoint checkpoint;
  checkpoint.config_yaml = root.dataset("config_yaml").read_string();
  checkpoint.config_hash = root.attribute<std::uint64_t>("config_hash");
  checkpoint.lineage = root.attribute<std::uint32_t>("lineage");
  checkpoint.stage = read_stage(root);
  checkpoint.stage_update = root.attribute<std::uint64_t>("stage_update");
  checkpoint.update = root.attribute<std::uint64_t>("update");
  checkpoint.next_episode = root.attribute<std::uint64_t>("next_episode");
  checkpoint.next_ticket = root.attribute<std::uint64_t>("next_ticket");
  checkpoint.elapsed_seconds = read_seconds(root, "elapsed_seconds");
  checkpoint.stage_elapsed_seconds = read_seconds(root, "stage_elapsed_seconds");
  checkpoint.counts = read_counts(root);
  checkpoint.learning_rate = root.attribute<double>("learning_rate");
  checkpoint.parameters = read_tensors(root, "parameters");
  checkpoint.optimizer = read_tensors(root, "optimizer");
  checkpoint.recent_versions = read_versions(root);
  checkpoint.archive_segment = root.string_attribute("archive_segment");
  checkpoint.archive_rows = root.attribute<std::uint64_t>("archive_rows");
  const Hdf5Group graphs = root.group("graphs");
  const std::size_t graph_count = graphs.names().size();
  for (std::size_t i = 0; i < graph_count; ++i) checkpoint.graphs.push_back(read_graph(graphs, i));
  return checkpoint;
}

}  // namespace doppler
