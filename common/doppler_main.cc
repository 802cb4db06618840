// doppler: a thin front that starts the program of a verb, so that light verbs start in
// milliseconds and only those that need LibTorch load it.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "common/cli.h"
#include "common/error.h"
#include "common/nearest_name.h"
#include "common/program_path.h"

namespace doppler {
namespace {

struct Verb {
  const char* name;
  const char* summary;
  const char* program;
  const char* first_argument;  // in front of the user's; null: none
};

constexpr std::array kVerbs = {
    Verb{"train", "learn to place a graph, as a configuration file says", "doppler-train", nullptr},
    Verb{"resume", "go on with a run that was stopped", "doppler-train", "resume"},
    Verb{"actor", "take part in a run while it goes on", "doppler-actor", nullptr},
    Verb{"assign", "place a graph by a trained policy", "doppler-assign", nullptr},
    Verb{"baseline", "cost the classical schedulers on a graph", "doppler-baseline", nullptr},
    Verb{"simulate", "cost given assignments of a graph", "doppler-simulate", nullptr},
    Verb{"execute", "run assignments of a graph for real and measure them", "doppler-execute",
         nullptr},
    Verb{"calibrate", "measure a machine and write the topology that simulates it",
         "doppler-calibrate", nullptr},
    Verb{"fidelity", "compare simulated with measured makespans", "doppler-fidelity", nullptr},
    Verb{"search", "search for a placement by measured runs", "doppler-search", nullptr},
    Verb{"graph", "check, show or generate a graph", "doppler-graph", nullptr},
    Verb{"topology", "check, show or import the description of a machine", "doppler-topology",
         nullptr},
    Verb{"status", "show how a run is doing", "doppler-status", nullptr},
    Verb{"inspect", "show what the checkpoints and logs of a run hold", "doppler-inspect", nullptr},
    Verb{"doctor", "find out whether runs would work on this machine", "doppler-doctor", nullptr},
};

std::string usage() {
  std::string text =
      "doppler learns to place dataflow graphs on devices.\n\nUsage: doppler VERB [arguments]\n\n"
      "Verbs:\n";
  for (const Verb& verb : kVerbs) {
    std::string name = verb.name;
    name.resize(12, ' ');
    text += "  " + name + verb.summary + "\n";
  }
  return text +
         "\ndoppler VERB --help describes a verb; doppler --version prints the version.\n\n"
         "Example:\n  doppler train configs/quickstart.yaml\n";
}

// A launcher of MPI started this process as one of several, and not as the first: those host
// workers.
bool is_later_mpi_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    const char* rank = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
    if (rank != nullptr && std::atoi(rank) > 0) return true;
  }
  return false;
}

[[noreturn]] void start(const Verb& verb, int argument_count, char** arguments) {
  const bool trains = std::string(verb.program) == "doppler-train";
  const std::string program =
      sibling_program(trains && is_later_mpi_rank() ? "doppler-actor-host" : verb.program);
  std::vector<std::string> words = {program};
  if (verb.first_argument != nullptr) words.emplace_back(verb.first_argument);
  for (int i = 0; i < argument_count; ++i) words.emplace_back(arguments[i]);
  std::vector<char*> raw;
  raw.reserve(words.size() + 1);
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  throw SystemError("execv(" + program + "): " + std::generic_category().message(errno));
}

const Verb& find_verb(const std::string& name) {
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) {
    if (name == verb.name) return verb;
    known.emplace_back(verb.name);
  }
  throw ConfigError("'" + name + "' is no verb" + suggest_name(name, known) +
                    " See doppler --help");
}

int doppler_main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h" || (first == "help" && argc == 2)) {
    std::cout << usage();
    return static_cast<int>(ExitCode::kDone);
  }
  if (first == "--version") {
    std::cout << "doppler " << DP_VERSION << "\n";
    return static_cast<int>(ExitCode::kDone);
  }
  if (first.empty()) {
    std::cerr << usage();
    return static_cast<int>(ExitCode::kBadInput);
  }
  if (first == "help") {
    std::string help = "--help";
    std::array<char*, 1> arguments = {help.data()};
    start(find_verb(argv[2]), 1, arguments.data());
  }
  start(find_verb(first), argc - 2, argv + 2);
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  return doppler::run_program(argc, argv, doppler::doppler_main);
}
