// The project's own graph format: JSON, with everything that a Graph holds and units in the keys.
// docs/formats.md describes it, docs/graph.schema.json as a JSON schema.
//
// Reading what was written gives an equal graph (equal content_hash()), and writing that again the
// same bytes. Operations have the ids 0, 1, ... of their places in the list; one operation, edge or
// input stands on a line, so that two versions of a graph can be compared line by line.
#ifndef DOPPLER_COMMON_GRAPH_JSON_H_
#define DOPPLER_COMMON_GRAPH_JSON_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

// Throws ConfigError where a name is no well-formed UTF-8.
std::string format_graph_json(const Graph& graph);

// Whether `content` states this format.
bool is_graph_json(std::string_view content);

// Strict: unknown keys, keys that stand twice and values of another type are errors. Throws
// FormatError "file: /operations/3/flops: what is wrong; what to do".
Imported import_graph_json(std::string_view content, const std::string& file);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_JSON_H_
