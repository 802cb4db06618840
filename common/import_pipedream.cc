#include "common/import_pipedream.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "common/import_draft.h"
#include "common/nearest_name.h"
#include "common/text_check.h"
#include "common/text_lines.h"

namespace doppler {
namespace {

constexpr std::string_view kSeparator = " -- ";

struct Layer {
  std::string id;
  std::string kind;
  double forward_ms = 0;
  double backward_ms = 0;
  double activation_bytes = 0;
  double parameter_bytes = 0;
  Place place;
};

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    report_.check_text(content);
    const std::vector<std::string_view> lines = split_lines(content);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (trim(lines[i]).empty() || is_edge(lines[i])) continue;
      add_layer(read_layer(lines[i], i + 1));
    }
    if (layers_.empty()) {
      report_.fail({1, 1}, "layers",
                   "there are none; expected lines 'node1 -- Conv2d(...) -- "
                   "forward_compute_time=..., ...'");
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!trim(lines[i]).empty() && is_edge(lines[i])) read_edge(lines[i], i + 1);
    }
    if (options_.pass == Pass::kTraining) add_backward_pass();
    warn_of_lists_and_passes();
    return std::move(draft_).finish(graph_name_of(report_.file()), options_, report_);
  }

 private:
  static bool is_edge(std::string_view line) {
    return line.starts_with('\t') || line.starts_with(' ');
  }

  Layer read_layer(std::string_view line, std::size_t number) {
    const std::size_t id_end = line.find(kSeparator);
    const std::size_t attributes = line.rfind(std::string(kSeparator) + "forward_compute_time=");
    if (id_end == std::string_view::npos || attributes == std::string_view::npos ||
        attributes < id_end) {
      report_.fail({number, 1}, "layer",
                   "expected 'id -- description -- forward_compute_time=..., "
                   "backward_compute_time=..., activation_size=..., parameter_size=...', found " +
                       quote(line));
    }
    Layer layer;
    layer.place = {number, 1};
    layer.id = std::string(trim(line.substr(0, id_end)));
    if (layer.id.empty()) report_.fail({number, 1}, "layer", "its id is empty");
    if (attributes > id_end) {
      const std::size_t start = id_end + kSeparator.size();
      const std::string_view description =
          start <= attributes ? line.substr(start, attributes - start) : std::string_view();
      layer.kind = std::string(trim(description.substr(0, description.find('('))));
    }
    read_attributes(line, attributes + kSeparator.size(), layer);
    return layer;
  }

  void read_attributes(std::string_view line, std::size_t start, Layer& layer) {
    static const std::vector<std::string> names = {"forward_compute_time", "backward_compute_time",
                                                   "activation_size", "parameter_size"};
    const std::array<double*, 4> values = {&layer.forward_ms, &layer.backward_ms,
                                           &layer.activation_bytes, &layer.parameter_bytes};
    std::array<bool, 4> seen{};
    const std::size_t end = std::min(line.find(kSeparator, start), line.size());
    if (end < line.size()) ++staged_;  // "-- stage_id=0": a placement, which is not the graph's
    std::size_t position = start;
    while (position < end) {
      const std::size_t stop = attribute_end(line, position, end);
      const std::string_view attribute = trim(line.substr(position, stop - position));
      const std::size_t equals = attribute.find('=');
      const std::string name(trim(attribute.substr(0, equals)));
      const Place place{layer.place.line, position + 1};
      const auto at = std::find(names.begin(), names.end(), name);
      if (equals == std::string_view::npos || at == names.end()) {
        report_.fail(place, "layer " + layer.id,
                     "attribute " + quote(attribute) + " is not known" + suggest_name(name, names));
      }
      const auto index = static_cast<std::size_t>(at - names.begin());
      if (seen[index]) report_.fail(place, "layer " + layer.id + ": " + name, "stands twice");
      seen[index] = true;
      *values[index] =
          read_value(trim(attribute.substr(equals + 1)), place, "layer " + layer.id + ": " + name);
      position = stop + 1;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!seen[i]) {
        report_.fail(layer.place, "layer " + layer.id, names[i] + " is missing at its end");
      }
    }
  }

  // The comma behind the attribute at `position`, not one within a list; or `end`.
  static std::size_t attribute_end(std::string_view line, std::size_t position, std::size_t end) {
    int depth = 0;
    for (; position < end; ++position) {
      if (line[position] == '[') ++depth;
      if (line[position] == ']') --depth;
      if (line[position] == ',' && depth <= 0) break;
    }
    return position;
  }

  // A number, or a list of them "[1.0; 2.0]", which is summed.
  double read_value(std::string_view text, Place place, const std::string& field) {
    double sum = 0;
    const bool is_list = text.starts_with('[') && text.ends_with(']') && text.size() >= 2;
    if (is_list) {
      text = text.substr(1, text.size() - 2);
      ++lists_;
      if (first_list_.empty()) first_list_ = field;
    }
    while (true) {
      const std::size_t end = is_list ? text.find_first_of(";,") : std::string_view::npos;
      const std::string_view item = trim(text.substr(0, end));
      const std::optional<double> value = parse_decimal(item);
      if (!value) {
        report_.fail(place, field,
                     "expected a number or a list '[1.0; 2.0]', found " + quote(item));
      }
      if (*value < 0) report_.fail(place, field, "must not be negative, but is " + quote(item));
      sum += *value;
      if (end == std::string_view::npos) break;
      text = text.substr(end + 1);
    }
    return sum;
  }

  std::int64_t bytes_of(double value, const Layer& layer, const std::string& field) const {
    if (const auto bytes = to_bytes(value)) return *bytes;
    report_.fail(layer.place, "layer " + layer.id + ": " + field,
                 "is more bytes than 2^62; check the unit");
  }

  void add_layer(Layer layer) {
    const auto number =
        draft_.add_node({.id = layer.id,
                         .operation = make_operation(layer, layer.id, layer.forward_ms),
                         .place = layer.place,
                         .may_be_input = layer.forward_ms == 0 && layer.backward_ms == 0 &&
                                         layer.parameter_bytes == 0,
                         .counts_as_free = true,
                         .own_inputs = {}});
    if (!number) {
      report_.fail(layer.place, "layer " + layer.id, "stands twice; give one of them another id");
    }
    const std::int64_t parameters = bytes_of(layer.parameter_bytes, layer, "parameter_size");
    if (parameters > 0 && options_.pass == Pass::kForward) {
      draft_.node(*number).own_inputs = {
          {.name = layer.id + ".parameters", .bytes = parameters, .consumers = {}}};
    }
    layers_.push_back(std::move(layer));
  }

  Operation make_operation(const Layer& layer, std::string name, double milliseconds) const {
    Operation operation;
    operation.name = std::move(name);
    operation.kind = layer.kind;
    operation.output_bytes = bytes_of(layer.activation_bytes, layer, "activation_size");
    operation.measured_durations = {
        {.device_kind = options_.device_kind, .seconds = milliseconds / 1e3}};
    return operation;
  }

  void read_edge(std::string_view line, std::size_t number) {
    const std::size_t separator = line.find(kSeparator);
    if (separator == std::string_view::npos) {
      report_.fail({number, 1}, "edge", "expected 'source -- destination', found " + quote(line));
    }
    const std::size_t behind = separator + kSeparator.size();
    const std::size_t source = find_layer(line, 0, separator, number, "edge source");
    const std::size_t destination =
        find_layer(line, behind, line.size(), number, "edge destination");
    if (source == destination) {
      report_.fail({number, behind + 1}, "edge destination",
                   quote(trim(line.substr(behind))) + " feeds itself; a dataflow graph must not");
    }
    draft_.add_edge(
        {.source = source, .destination = destination, .bytes = {}, .place = {number, 1}});
  }

  std::size_t find_layer(std::string_view line, std::size_t begin, std::size_t end,
                         std::size_t number, const std::string& field) const {
    const std::string id(trim(line.substr(begin, end - begin)));
    if (const auto layer = draft_.find(id)) return *layer;
    report_.fail({number, begin + 1}, field, "no layer is called " + quote(id));
  }

  // The mirror image of the graph behind the graph: the gradient of each layer's input needs the
  // gradient of its output and what the forward layer kept.
  void add_backward_pass() {
    const std::vector<ImportDraft::Edge> forward_edges = draft_.edges();
    std::vector<std::optional<std::size_t>> backward(layers_.size());
    std::vector<bool> precedes(layers_.size(), false);
    for (const ImportDraft::Edge& edge : forward_edges) precedes[edge.destination] = true;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Layer& layer = layers_[i];
      const std::int64_t parameters = bytes_of(layer.parameter_bytes, layer, "parameter_size");
      std::vector<std::size_t> readers = {i};
      const bool is_input = draft_.node(i).may_be_input && !precedes[i] && !options_.keep_inputs;
      if (!is_input) {
        Operation operation = make_operation(layer, layer.id + ".backward", layer.backward_ms);
        operation.kind += ".backward";
        backward[i] = draft_.add_node({.id = layer.id + ".backward",
                                       .operation = std::move(operation),
                                       .place = layer.place,
                                       .may_be_input = false,
                                       .counts_as_free = true,
                                       .own_inputs = {}});
        if (!backward[i]) {
          report_.fail(layer.place, "layer " + layer.id,
                       "its backward operation has the id of another layer");
        }
        draft_.add_edge({.source = i, .destination = *backward[i], .bytes = {}, .place = {}});
        readers.push_back(*backward[i]);
      }
      if (parameters > 0) {
        draft_.add_input(layer.id + ".parameters", parameters, std::move(readers));
      }
    }
    for (const ImportDraft::Edge& edge : forward_edges) {
      if (!backward[edge.source] || !backward[edge.destination]) continue;
      // The gradient of an activation is as large as the activation.
      draft_.add_edge({.source = *backward[edge.destination],
                       .destination = *backward[edge.source],
                       .bytes = draft_.node(edge.source).operation.output_bytes,
                       .place = {}});
    }
  }

  void warn_of_lists_and_passes() {
    if (lists_ > 0) {
      report_.warn({}, std::to_string(lists_) + " sizes are lists (first: " + first_list_ +
                           "); each is summed, as if the layer had one output");
    }
    if (staged_ > 0) {
      report_.warn({}, std::to_string(staged_) +
                           " layers carry a stage; a placement is no part of a graph and left out");
    }
    const bool has_backward = std::any_of(layers_.begin(), layers_.end(),
                                          [](const Layer& layer) { return layer.backward_ms > 0; });
    if (has_backward && options_.pass == Pass::kForward) {
      report_.warn({}, "backward times are left out; --training adds the backward pass");
    }
  }

  ImportReport report_;
  const ImportOptions& options_;
  ImportDraft draft_{CostUnit::kPhysical};
  std::vector<Layer> layers_;  // by number in the draft
  std::size_t lists_ = 0;
  std::string first_list_;
  std::size_t staged_ = 0;
};

}  // namespace

Imported import_pipedream(std::string_view content, const std::string& file,
                          const ImportOptions& options) {
  return Reader(file, options).read(content);
}

}  // namespace doppler
