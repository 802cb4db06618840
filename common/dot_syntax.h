// The DOT language of Graphviz, as far as a graph is in it: nodes, edges, attributes. No layout.
//
// Reads what Graphviz documents: strict, digraph, quoted and concatenated strings, HTML strings,
// attribute lists, defaults by scope, subgraphs (also as ends of edges), chains of edges, ports
// (skipped) and the three kinds of comments. Every node, edge and attribute keeps its place, which
// neither of the libraries that read DOT does.
#ifndef DOPPLER_COMMON_DOT_SYNTAX_H_
#define DOPPLER_COMMON_DOT_SYNTAX_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/import_report.h"

namespace doppler {

struct DotAttribute {
  std::string value;  // \" stands as ", all other escapes as they were written
  Place place;        // of the value
};

using DotAttributes = std::map<std::string, DotAttribute>;

struct DotNode {
  std::string id;
  Place place;  // where it is first named
  DotAttributes attributes;
};

struct DotEdge {
  std::size_t source;  // positions in DotGraph::nodes
  std::size_t destination;
  Place place;  // of the arrow
  DotAttributes attributes;
};

struct DotGraph {
  std::string name;  // empty: anonymous
  DotAttributes attributes;
  std::vector<DotNode> nodes;  // in the order in which they are first named
  std::vector<DotEdge> edges;  // in the order of the text
};

// Throws FormatError with line and column; also for an undirected graph.
DotGraph parse_dot(std::string_view content, const ImportReport& report);

}  // namespace doppler

#endif  // DOPPLER_COMMON_DOT_SYNTAX_H_
