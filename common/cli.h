// What all programs share: flags, exit codes, and how a failure is told. Machine-readable output
// goes to stdout, messages to stderr.
#ifndef DOPPLER_COMMON_CLI_H_
#define DOPPLER_COMMON_CLI_H_

#include <functional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace doppler {

// Calls `program` and turns what it throws into one line on stderr, "doppler VERB: ...", and an
// exit code: ConfigError and FormatError 2, SystemError and everything unforeseen 3. Output that
// cannot be written is a failure too.
int run_program(int argc, char** argv, const std::function<int(int, char**)>& program);

// Parses the command line. --help prints and leaves run_program() with exit code 0; a wrong command
// line throws ConfigError, with the nearest option where one is misspelt. Call it within
// run_program().
void parse_flags(CLI::App& app, int argc, char** argv);

// "doppler graph" for ".../doppler-graph".
std::string program_title(const std::string& path);

}  // namespace doppler

#endif  // DOPPLER_COMMON_CLI_H_
