// A graph as Graphviz DOT: to look at (`dot -Tsvg`), and to read again without loss.
//
// Operations are nodes n0, n1, ... in id order, input tensors boxes i0, i1, ...; every cost is an
// attribute. import_dot() makes an equal graph (equal content_hash()) of the result.
#ifndef DOPPLER_COMMON_EXPORT_DOT_H_
#define DOPPLER_COMMON_EXPORT_DOT_H_

#include <string>
#include <string_view>

#include "common/graph.h"

namespace doppler {

std::string format_dot(const Graph& graph);

// Undoes what format_dot() does to a text with quotes, backslashes or line ends, given as the DOT
// language reads it.
std::string decode_dot_text(std::string_view text);

}  // namespace doppler

#endif  // DOPPLER_COMMON_EXPORT_DOT_H_
