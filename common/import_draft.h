// ImportDraft: a graph on its way in, as the file tells it: nodes with the names that the file
// gives them, and edges between them. finish() turns it into a Graph and warns, in the same words
// for every format, of what real files contain: duplicate edges, inputs that nothing consumes,
// nodes without edges, operations that cost nothing.
#ifndef DOPPLER_COMMON_IMPORT_DRAFT_H_
#define DOPPLER_COMMON_IMPORT_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/graph.h"
#include "common/import.h"
#include "common/import_report.h"

namespace doppler {

class ImportDraft {
 public:
  struct Node {
    std::string id;  // unique in the file
    Operation operation;
    Place place;
    bool may_be_input = false;            // costs nothing: an input tensor, if nothing precedes it
    bool counts_as_free = true;           // whether finish() may warn that it costs nothing
    std::vector<InputTensor> own_inputs;  // of this node alone: its parameters
  };
  struct Edge {
    std::size_t source;
    std::size_t destination;
    std::optional<std::int64_t> bytes;
    Place place;
  };

  explicit ImportDraft(CostUnit cost_unit) : cost_unit_(cost_unit) {}

  // The number of the new node, or nothing if a node has that id already.
  std::optional<std::size_t> add_node(Node node);
  std::optional<std::size_t> find(const std::string& id) const;
  Node& node(std::size_t number) { return nodes_[number]; }
  const Node& node(std::size_t number) const { return nodes_[number]; }
  std::size_t node_count() const { return nodes_.size(); }
  void add_edge(Edge edge) { edges_.push_back(edge); }
  const std::vector<Edge>& edges() const { return edges_; }
  // A tensor that several nodes consume.
  void add_input(std::string name, std::int64_t bytes, std::vector<std::size_t> consumers);

  // Operations keep the order in which their nodes were added. Throws FormatError.
  Imported finish(const std::string& graph_name, const ImportOptions& options,
                  ImportReport& report) &&;

 private:
  struct Input {
    std::string name;
    std::int64_t bytes;
    std::vector<std::size_t> consumers;
  };

  void drop_duplicate_edges(ImportReport& report);
  std::vector<bool> choose_inputs(const ImportOptions& options) const;
  void warn_of_oddities(const std::vector<bool>& is_input, ImportReport& report) const;

  CostUnit cost_unit_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Input> inputs_;
  std::unordered_map<std::string, std::size_t> number_of_;
};

// The name of a graph that is read from `file`: the file's, without folders and ending.
std::string graph_name_of(const std::string& file);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_DRAFT_H_
