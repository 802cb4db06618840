// Graphviz DOT: a digraph whose nodes and edges carry costs as attributes.
//
// `size` is what SimGrid's files use: the FLOPs of a node and the bytes of an edge, where an edge
// without a size, or with a negative one, only orders its ends. Every attribute that format_dot()
// writes is read as well, so that a graph survives the way through DOT. Attributes that say nothing
// about costs (label, color, ...) are passed over.
#ifndef DOPPLER_COMMON_IMPORT_DOT_H_
#define DOPPLER_COMMON_IMPORT_DOT_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

Imported import_dot(std::string_view content, const std::string& file,
                    const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_DOT_H_
