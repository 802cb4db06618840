// Assignments as text: one a line, the device ids of all operations in operation order, separated
// by commas. Blank lines and lines that begin with # are skipped. Or one assignment as the programs
// write it: a JSON object with an array "assignment" of device ids.
#ifndef DOPPLER_COMMON_ASSIGNMENT_TEXT_H_
#define DOPPLER_COMMON_ASSIGNMENT_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/assignment.h"

namespace doppler {

// All assignments of `text`, each of `operation_count` ids in 0..device_count-1. `file` names the
// text in messages. Throws FormatError "file:line:column: what is wrong; what to do", also if there
// is none.
std::vector<Assignment> parse_assignments(std::string_view text, const std::string& file,
                                          std::size_t operation_count, int device_count);

// One line, without its end.
std::string format_assignment(const Assignment& assignment);

}  // namespace doppler

#endif  // DOPPLER_COMMON_ASSIGNMENT_TEXT_H_
