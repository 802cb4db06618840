// Whole text files, read and written in one piece.
#ifndef DOPPLER_COMMON_TEXT_FILE_H_
#define DOPPLER_COMMON_TEXT_FILE_H_

#include <string>
#include <string_view>

namespace doppler {

// The content of `path`; "-" is standard input. ConfigError where there is no such file or it is a
// folder (the path is wrong), SystemError where the system refuses to read it.
std::string read_text_file(const std::string& path);

// What messages call the file that read_text_file() reads: `path`, or "standard input".
std::string input_name(const std::string& path);

// Replaces `path` as a whole: whoever reads it sees the old content or the new, never a part. Keeps
// the mode of what it replaces, and follows symbolic links. What is no regular file (a pipe, a
// device, /dev/fd/3) is written as it stands; "-" is standard output. Throws SystemError, and
// ConfigError where `path` is a folder.
void write_text_file(const std::string& path, std::string_view content);

// Throws now what write_text_file(path, ...) would throw for want of a folder or of the right to
// write in it: for programs that work long before they write. Changes nothing.
void check_output_file(const std::string& path);

}  // namespace doppler

#endif  // DOPPLER_COMMON_TEXT_FILE_H_
