#include "common/model.h"

#include <algorithm>
#include <set>

#include "common/error.h"

namespace doppler {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '\'';
}

// Reads a statement from left to right; every complaint shows the statement and where it stopped
// making sense.
class StatementReader {
 public:
  explicit StatementReader(std::string_view text) : text_(text) {}

  std::string name(const char* what) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    if (at_ == begin) refuse(std::string("expected ") + what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("expected '") + c + "'");
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  TensorUse use() {
    TensorUse result{name("the name of a tensor"), {}};
    expect('[');
    if (take(']')) return result;
    do {
      result.indices.push_back(name("the name of an index"));
    } while (take(','));
    expect(']');
    return result;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw FormatError("statement '" + std::string(text_) + "', position " +
                      std::to_string(at_ + 1) + ": " + what +
                      "; write it as 'Y[b,o] = matmul X[b,i] W[i,o]'");
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string describe(const TensorUse& use) {
  std::string text = use.tensor + "[";
  for (std::size_t i = 0; i < use.indices.size(); ++i) text += (i > 0 ? "," : "") + use.indices[i];
  return text + "]";
}

// Extents of a tensor's axes, as it was made.
using Shapes = std::map<std::string, std::vector<std::int64_t>>;

std::vector<std::int64_t> shape_of(const Model& model, const TensorUse& use,
                                   const std::string& place) {
  std::set<std::string> seen;
  std::vector<std::int64_t> shape;
  for (const std::string& index : use.indices) {
    const auto extent = model.extents.find(index);
    if (extent == model.extents.end()) {
      throw FormatError(place + ": index " + index + " of " + describe(use) +
                        " has no extent; add it to the model's indices");
    }
    if (extent->second < 1) {
      throw FormatError("index " + index + ": its extent must be at least 1");
    }
    if (!seen.insert(index).second) {
      throw FormatError(place + ": index " + index + " stands twice in " + describe(use) +
                        "; give the axes different names of equal extent");
    }
    shape.push_back(extent->second);
  }
  return shape;
}

void define(const Model& model, const TensorUse& use, const std::string& place, Shapes& shapes) {
  if (!shapes.emplace(use.tensor, shape_of(model, use, place)).second) {
    throw FormatError(place + ": tensor " + use.tensor + " is defined twice; rename one of them");
  }
}

void check_operation(const Model& model, const ModelOperation& operation, Shapes& shapes) {
  const std::string place = "operation " + describe(operation.output);
  if (operation.inputs.empty()) throw FormatError(place + ": it has no inputs");
  std::vector<std::string> input_indices;
  for (const TensorUse& input : operation.inputs) {
    const auto known = shapes.find(input.tensor);
    if (known == shapes.end()) {
      throw FormatError(place + ": tensor " + input.tensor +
                        " is neither an input nor the output of an operation before it");
    }
    if (shape_of(model, input, place) != known->second) {
      throw FormatError(place + ": " + describe(input) +
                        " has other extents than the tensor was made with");
    }
    input_indices.insert(input_indices.end(), input.indices.begin(), input.indices.end());
  }
  for (const std::string& index : operation.output.indices) {
    if (!contains(input_indices, index)) {
      throw FormatError(place + ": no input has the output index " + index);
    }
  }
  for (const auto& [index, blocks] : operation.partition) {
    if (!contains(operation.all_indices(), index)) {
      throw FormatError(place + ": its partition names index " + index + ", which it has not");
    }
    if (blocks < 1 || blocks > model.extents.at(index)) {
      throw FormatError(place + ": index " + index + " cannot be cut into " +
                        std::to_string(blocks) + " blocks; its extent is " +
                        std::to_string(model.extents.at(index)));
    }
  }
  define(model, operation.output, place, shapes);
}

}  // namespace

std::vector<std::string> ModelOperation::contracted_indices() const {
  std::vector<std::string> result;
  for (const TensorUse& input : inputs) {
    for (const std::string& index : input.indices) {
      if (!contains(output.indices, index) && !contains(result, index)) result.push_back(index);
    }
  }
  return result;
}

std::vector<std::string> ModelOperation::all_indices() const {
  std::vector<std::string> result = output.indices;
  for (std::string& index : contracted_indices()) result.push_back(std::move(index));
  return result;
}

TensorUse parse_tensor_use(std::string_view text) {
  StatementReader reader(text);
  TensorUse use = reader.use();
  if (!reader.at_end()) reader.refuse("there is more than one tensor");
  return use;
}

ModelOperation parse_statement(std::string_view text) {
  StatementReader reader(text);
  ModelOperation operation;
  operation.output = reader.use();
  reader.expect('=');
  operation.kind = reader.name("the kind of the operation");
  while (!reader.at_end()) operation.inputs.push_back(reader.use());
  if (operation.inputs.empty()) reader.refuse("expected at least one input");
  return operation;
}

void Model::add_input(std::string_view use) {
  inputs.push_back(parse_tensor_use(use));
}

ModelOperation& Model::add(std::string_view statement) {
  operations.push_back(parse_statement(statement));
  return operations.back();
}

void check_model(const Model& model) {
  if (model.operations.empty()) throw FormatError("model " + model.name + " has no operations");
  if (model.element_bytes < 1) {
    throw FormatError("model " + model.name + ": element_bytes must be at least 1");
  }
  Shapes shapes;
  for (const TensorUse& input : model.inputs) {
    define(model, input, "input " + describe(input), shapes);
  }
  for (const ModelOperation& operation : model.operations) {
    check_operation(model, operation, shapes);
  }
}

}  // namespace doppler
