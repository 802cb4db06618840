// JoinFile: RUN_DIR/join, by which processes that see the run's folder find a live run and may take
// part in it. It holds the run's keys, so only its owner may read it. Written when a run begins or
// is resumed, removed when it ends.
#ifndef DOPPLER_COMMON_JOIN_FILE_H_
#define DOPPLER_COMMON_JOIN_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace doppler {

struct JoinFile {
  std::string place;             // this_place() of the learner: where the local endpoint is found
  std::string local_endpoint;    // "ipc://..."; empty: none
  std::string network_endpoint;  // "tcp://..."; empty: none
  std::string keys;              // ClientKeys, as text
  std::uint64_t run_token = 0;
  bool operator==(const JoinFile&) const = default;
};

// Machine (its boot) and network namespace of this process: equal ones see each other's ipc names.
std::string this_place();

std::string join_file_path(const std::string& run_dir);
// Mode 0600 from the start; whoever reads sees the old file, the new one or none. Throws
// SystemError.
void save_join_file(const std::string& run_dir, const JoinFile& file);
// nullopt: there is none. Throws FormatError when it is something else, SystemError when it cannot
// be read.
std::optional<JoinFile> load_join_file(const std::string& run_dir);
void remove_join_file(const std::string& run_dir);

}  // namespace doppler

#endif  // DOPPLER_COMMON_JOIN_FILE_H_
