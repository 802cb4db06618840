// WfCommons instances (WfFormat 1.5, JSON): tasks of a scientific workflow with the files that they
// read and write, and how long each ran on the machines of one execution.
//
// Becomes a physical graph with measured durations; an edge carries the bytes of the files that the
// parent writes and the child reads. A file that no task writes becomes an input tensor.
#ifndef DOPPLER_COMMON_IMPORT_WFCOMMONS_H_
#define DOPPLER_COMMON_IMPORT_WFCOMMONS_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

Imported import_wfcommons(std::string_view content, const std::string& file,
                          const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_WFCOMMONS_H_
