#include "common/export_dot.h"

#include <cctype>

#include "common/text_check.h"

namespace doppler {
namespace {

// Quoted for DOT. The language itself knows only \" within a string; that \\ and \n mean what they
// mean elsewhere is Graphviz' rule for labels and decode_dot_text()'s for the rest.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"') {
      result += "\\\"";
    } else if (c == '\\') {
      result += "\\\\";
    } else if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

template <typename Range, typename Format>
std::string joined(const Range& range, const Format& format) {
  std::string text;
  for (const auto& item : range) text += (text.empty() ? "" : " ") + format(item);
  return text;
}

// A word without blanks, colons and percent signs.
std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || c == ':' || c == '%' || byte == 0x7f) {
      result += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      result += c;
    }
  }
  return result;
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string write() {
    text_ = "digraph " + in_quotes(graph_.name()) + " {\n";
    const bool physical = graph_.cost_unit() == CostUnit::kPhysical;
    text_ += std::string("  doppler_graph=1; cost_unit=") + (physical ? "physical" : "durations") +
             "; input_count=" + std::to_string(graph_.input_count()) + ";\n";
    for (std::size_t i = 0; i < graph_.operation_count(); ++i) write_operation(i);
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) write_input(i);
    for (const Edge& edge : graph_.edges()) {
      text_ += "  n" + std::to_string(edge.source.value()) + " -> n" +
               std::to_string(edge.destination.value());
      if (edge.bytes) text_ += " [bytes=" + std::to_string(*edge.bytes) + "]";
      text_ += ";\n";
    }
    return text_ + "}\n";
  }

 private:
  void attribute(const std::string& name, const std::string& value) {
    text_ += (first_ ? "" : ", ") + name + "=" + value;
    first_ = false;
  }

  void write_operation(std::size_t index) {
    const Operation& o = graph_.operations()[index];
    text_ += "  n" + std::to_string(index) + " [";
    first_ = true;
    const std::string shown = o.name.empty() ? std::to_string(index) : o.name;
    attribute("label", in_quotes(o.kind.empty() ? shown : shown + "\n" + o.kind));
    attribute("name", in_quotes(o.name));
    attribute("kind", in_quotes(o.kind));
    const auto number = [](auto value) { return std::to_string(value); };
    if (o.flops != 0) attribute("flops", in_quotes(format_decimal(o.flops)));
    if (o.output_bytes != 0) attribute("output_bytes", number(o.output_bytes));
    if (o.compute_time != SimTime(0)) attribute("compute_ticks", number(o.compute_time.ticks()));
    if (o.transfer_time != SimTime(0)) attribute("transfer_ticks", number(o.transfer_time.ticks()));
    if (!o.output_shape.empty())
      attribute("output_shape", in_quotes(joined(o.output_shape, number)));
    if (!o.measured_durations.empty()) {
      attribute(
          "measured_seconds", in_quotes(joined(o.measured_durations, [](const auto& measured) {
            return percent_encoded(measured.device_kind) + ":" + format_decimal(measured.seconds);
          })));
    }
    if (o.group.value() != GroupId().value()) attribute("group_id", number(o.group.value()));
    if (o.role == Role::kReduce) attribute("role", "reduce");
    if (!o.block_coordinates.empty()) {
      attribute("block_coordinates", in_quotes(joined(o.block_coordinates, number)));
    }
    if (o.pinned_device) attribute("pinned_device", number(o.pinned_device->value()));
    if (!o.forbidden_devices.empty()) {
      attribute("forbidden_devices", in_quotes(joined(o.forbidden_devices, [](DeviceId device) {
                  return std::to_string(device.value());
                })));
    }
    text_ += "];\n";
  }

  void write_input(std::size_t index) {
    const InputTensor& input = graph_.inputs()[index];
    const std::string id = "i" + std::to_string(index);
    text_ += "  " + id + " [";
    first_ = true;
    attribute("shape", "box");
    attribute("input", "true");
    attribute("label", in_quotes(input.name));
    attribute("name", in_quotes(input.name));
    attribute("bytes", std::to_string(input.bytes));
    text_ += "];\n";
    for (OperationId consumer : input.consumers) {
      text_ += "  " + id + " -> n" + std::to_string(consumer.value()) + ";\n";
    }
  }

  const Graph& graph_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string format_dot(const Graph& graph) {
  return Writer(graph).write();
}

std::string decode_dot_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    ++i;
    result += text[i] == 'n' ? '\n' : text[i];
  }
  return result;
}

}  // namespace doppler
