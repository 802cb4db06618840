// Standard Task Graph Set (.stg): tasks with a cost and their predecessors, without communication.
//
//   line 1      how many tasks there are, without the two dummies
//   then        id  cost  number of predecessors  predecessors...    one task a line, any order
//   then        comment lines that begin with #
//
// Becomes a graph that states durations, one tick a unit of cost, and transfers that take no time;
// the dummy entry (id 0) and exit (the last id) are left out. Operations are named after their ids.
#ifndef DOPPLER_COMMON_IMPORT_STG_H_
#define DOPPLER_COMMON_IMPORT_STG_H_

#include <string>
#include <string_view>

#include "common/import.h"

namespace doppler {

Imported import_stg(std::string_view content, const std::string& file,
                    const ImportOptions& options);

}  // namespace doppler

#endif  // DOPPLER_COMMON_IMPORT_STG_H_
