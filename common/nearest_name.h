// "Did you mean": the known name that lies nearest to one that is not known.
#ifndef DOPPLER_COMMON_NEAREST_NAME_H_
#define DOPPLER_COMMON_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace doppler {

// The known name with the fewest edits (insert, delete, replace, swap of neighbours) from `name`,
// the first of several; empty if all take more edits than a typing error explains (a third of the
// length, at least 2).
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "; did you mean 'x'?" or, with nothing near, "; known: a, b, c".
std::string suggest_name(std::string_view name, std::span<const std::string> known);

}  // namespace doppler

#endif  // DOPPLER_COMMON_NEAREST_NAME_H_
