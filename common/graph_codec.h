// Graph as bytes, for messages between processes of one run (files have formats of their own).
#ifndef DOPPLER_COMMON_GRAPH_CODEC_H_
#define DOPPLER_COMMON_GRAPH_CODEC_H_

#include <optional>

#include "common/byte_stream.h"
#include "common/graph.h"

namespace doppler {

void put_graph(const Graph& graph, ByteWriter& writer);

// nullopt when the bytes are no graph, or one whose content hash differs from the sender's.
std::optional<Graph> get_graph(ByteReader& reader);

}  // namespace doppler

#endif  // DOPPLER_COMMON_GRAPH_CODEC_H_
