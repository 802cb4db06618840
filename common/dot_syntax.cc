#include "common/dot_syntax.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/dot_lexer.h"
#include "common/text_check.h"

namespace doppler {
namespace {

constexpr int kDeepestNesting = 64;
constexpr std::size_t kMostEdges = 4'000'000;

using Kind = DotToken::Kind;
using NodeSet = std::vector<std::size_t>;  // in the order of the text, each once

class Parser {
 public:
  Parser(std::string_view content, const ImportReport& report)
      : content_(content), report_(report), lexer_(content, report) {
    advance();
  }

  DotGraph parse() {
    if (is(Kind::kKeyword, "strict")) advance();
    if (is(Kind::kKeyword, "graph")) {
      fail(token_, "the graph is undirected; data flows in one direction: use digraph and ->");
    }
    if (!is(Kind::kKeyword, "digraph")) fail_expected("'digraph'");
    advance();
    if (token_.kind == Kind::kId) {
      graph_.name = token_.text;
      advance();
    }
    expect("{");
    Scope scope;
    parse_statements(scope, 0);
    graph_.attributes = std::move(scope.graph_attributes);
    expect("}");
    if (token_.kind != Kind::kEnd) {
      fail(token_, "found " + quote(token_.text) + " behind the graph; one file holds one graph");
    }
    return std::move(graph_);
  }

 private:
  // What holds between one pair of braces.
  struct Scope {
    DotAttributes graph_attributes;
    DotAttributes node_defaults;
    DotAttributes edge_defaults;
    NodeSet nodes;
    std::unordered_map<std::size_t, bool> has_node;
  };

  [[noreturn]] void fail(const DotToken& token, const std::string& what) const {
    report_.fail(place_at(content_, token.offset), "DOT", what);
  }
  [[noreturn]] void fail_expected(const std::string& expected) const {
    const std::string found =
        token_.kind == Kind::kEnd ? "the end of the file" : quote(token_.text);
    fail(token_, "expected " + expected + ", found " + found);
  }

  void advance() { token_ = lexer_.next(); }
  bool is(Kind kind, std::string_view text) const {
    return token_.kind == kind && token_.text == text;
  }
  bool is_symbol(std::string_view text) const { return is(Kind::kSymbol, text); }
  void expect(const std::string& symbol) {
    if (!is_symbol(symbol)) fail_expected("'" + symbol + "'");
    advance();
  }
  // Places are asked for in the order of the text, so that one pass over it counts the lines.
  Place place_of(const DotToken& token) {
    while (line_starts_ < token.offset) {
      const std::size_t end = content_.find('\n', line_starts_);
      if (end == std::string_view::npos || end >= token.offset) break;
      line_starts_ = end + 1;
      ++line_;
    }
    return {.line = line_, .column = token.offset - line_starts_ + 1};
  }

  void parse_statements(Scope& scope, int depth) {
    while (!is_symbol("}") && token_.kind != Kind::kEnd) {
      if (is_symbol(";")) {
        advance();
      } else {
        parse_statement(scope, depth);
      }
    }
  }

  void parse_statement(Scope& scope, int depth) {
    if (token_.kind == Kind::kKeyword && token_.text != "subgraph") {
      const std::string keyword = token_.text;
      if (keyword == "strict" || keyword == "digraph") fail_expected("a statement");
      advance();
      if (!is_symbol("[")) fail_expected("'[' behind '" + keyword + "'");
      DotAttributes& target = keyword == "node"   ? scope.node_defaults
                              : keyword == "edge" ? scope.edge_defaults
                                                  : scope.graph_attributes;
      parse_attributes(target);
      return;
    }
    const bool starts_with_id = token_.kind == Kind::kId;
    const DotToken first = token_;
    if (starts_with_id) {
      advance();
      if (is_symbol("=")) {
        advance();
        scope.graph_attributes[first.text] = parse_value();
        return;
      }
    }
    NodeSet ends =
        starts_with_id ? NodeSet{parse_node(first, scope)} : parse_subgraph(scope, depth);
    if (is_symbol("->") || is_symbol("--")) {
      parse_edges(std::move(ends), scope, depth);
    } else if (starts_with_id && is_symbol("[")) {
      parse_attributes(graph_.nodes[ends.front()].attributes);
    }
  }

  // The node that `id` names, made if it is new; its port is skipped.
  std::size_t parse_node(const DotToken& id, Scope& scope) {
    for (int i = 0; i < 2 && is_symbol(":"); ++i) {
      advance();
      if (token_.kind != Kind::kId) fail_expected("a port behind ':'");
      advance();
    }
    const auto [at, is_new] = number_of_.emplace(id.text, graph_.nodes.size());
    if (is_new) {
      graph_.nodes.push_back(
          {.id = id.text, .place = place_of(id), .attributes = scope.node_defaults});
    }
    add(scope, at->second);
    return at->second;
  }

  static void add(Scope& scope, std::size_t node) {
    if (scope.has_node.emplace(node, true).second) scope.nodes.push_back(node);
  }

  NodeSet parse_subgraph(Scope& outer, int depth) {
    std::optional<std::string> name;
    if (is(Kind::kKeyword, "subgraph")) {
      advance();
      if (token_.kind == Kind::kId) {
        name = token_.text;
        advance();
      }
      if (name && !is_symbol("{")) return subgraphs_[*name];  // one that stands further up
    }
    if (!is_symbol("{")) fail_expected("a node, an edge, a subgraph or '}'");
    if (depth >= kDeepestNesting) {
      fail(token_, "subgraphs are nested more than " + std::to_string(kDeepestNesting) + " deep");
    }
    advance();
    Scope scope;
    scope.node_defaults = outer.node_defaults;
    scope.edge_defaults = outer.edge_defaults;
    parse_statements(scope, depth + 1);
    expect("}");
    for (std::size_t node : scope.nodes) add(outer, node);
    if (name) subgraphs_[*name] = scope.nodes;
    return std::move(scope.nodes);
  }

  void parse_edges(NodeSet sources, Scope& scope, int depth) {
    const std::size_t first = graph_.edges.size();
    while (is_symbol("->") || is_symbol("--")) {
      const DotToken arrow = token_;
      if (arrow.text == "--") {
        fail(arrow, "edges of a digraph are written ->, found '--'");
      }
      advance();
      NodeSet destinations;
      if (token_.kind == Kind::kId) {
        const DotToken id = token_;
        advance();
        destinations = {parse_node(id, scope)};
      } else {
        destinations = parse_subgraph(scope, depth);
      }
      if (sources.size() * destinations.size() > kMostEdges - graph_.edges.size()) {
        fail(arrow, "the graph has more than " + std::to_string(kMostEdges) + " edges");
      }
      const Place place = place_at_any(arrow);
      for (std::size_t source : sources) {
        for (std::size_t destination : destinations) {
          graph_.edges.push_back({.source = source,
                                  .destination = destination,
                                  .place = place,
                                  .attributes = scope.edge_defaults});
        }
      }
      sources = std::move(destinations);
    }
    if (!is_symbol("[")) return;
    DotAttributes attributes;
    parse_attributes(attributes);
    for (std::size_t i = first; i < graph_.edges.size(); ++i) {
      for (const auto& [name, value] : attributes) graph_.edges[i].attributes[name] = value;
    }
  }

  // An arrow lies before what has been read behind it.
  Place place_at_any(const DotToken& token) {
    return token.offset >= line_starts_ ? place_of(token) : place_at(content_, token.offset);
  }

  void parse_attributes(DotAttributes& attributes) {
    while (is_symbol("[")) {
      advance();
      while (!is_symbol("]")) {
        if (token_.kind != Kind::kId) fail_expected("an attribute or ']'");
        const std::string name = token_.text;
        const DotToken name_token = token_;
        advance();
        if (is_symbol("=")) {
          advance();
          attributes[name] = parse_value();
        } else {
          attributes[name] = {.value = "true", .place = place_of(name_token)};
        }
        if (is_symbol(",") || is_symbol(";")) advance();
      }
      advance();
    }
  }

  DotAttribute parse_value() {
    if (token_.kind != Kind::kId) fail_expected("a value behind '='");
    DotAttribute attribute{.value = token_.text, .place = place_of(token_)};
    advance();
    return attribute;
  }

  std::string_view content_;
  const ImportReport& report_;
  DotLexer lexer_;
  DotToken token_;
  DotGraph graph_;
  std::unordered_map<std::string, std::size_t> number_of_;
  std::map<std::string, NodeSet> subgraphs_;
  std::size_t line_starts_ = 0;  // of line line_, at or before the last place asked for
  std::size_t line_ = 1;
};

}  // namespace

DotGraph parse_dot(std::string_view content, const ImportReport& report) {
  report.check_text(content);
  return Parser(content, report).parse();
}

}  // namespace doppler
