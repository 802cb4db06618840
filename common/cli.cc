#include "common/cli.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/error.h"
#include "common/nearest_name.h"
#include "common/text_check.h"

namespace doppler {
namespace {

// Leaves a program from within parse_flags(); caught by run_program() alone.
struct ProgramExit {
  int code;
};

int fail(const std::string& title, const std::string& message, ExitCode code) {
  std::cout.flush();
  std::cerr << title << ": " << message << "\n";
  return static_cast<int>(code);
}

void add_once(std::string name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

// The options of a command and of those of its subcommands that the command line names.
void collect_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) add_once("--" + name, names);
    for (const std::string& name : option->get_snames()) add_once("-" + name, names);
  }
  for (const CLI::App* command : app.get_subcommands()) collect_options(*command, names);
}

// CLI11 reads nan and inf as numbers, and a range lets nan pass; no flag of ours means either.
void check_finite(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_type_name().starts_with("FLOAT")) continue;
    for (const std::string& text : option->results()) {
      if (std::isfinite(std::strtod(text.c_str(), nullptr))) continue;
      throw ConfigError(option->get_name() + ": " + quote(text) +
                        " is no finite number; give one in decimal");
    }
  }
  for (const CLI::App* command : app.get_subcommands()) check_finite(*command);
}

std::string as_sentence(const std::string& text) {
  return text.ends_with('?') ? text : text + ".";
}

std::string describe_problem(const CLI::App& app, const CLI::ParseError& problem) {
  // A misspelt option is also a missing one, or leaves its value behind as a stray argument: it
  // comes first.
  for (const std::string& argument : app.remaining(true)) {
    if (!argument.starts_with('-') || argument == "-") continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> known;
    collect_options(app, known);
    return name + " is no option" + as_sentence(suggest_name(name, known)) + " See --help";
  }
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  if (!commands.empty() && app.get_subcommands().empty()) {
    std::vector<std::string> known;
    known.reserve(commands.size());
    for (const CLI::App* command : commands) known.push_back(command->get_name());
    const std::vector<std::string> remaining = app.remaining(true);
    if (!remaining.empty()) {
      return "'" + remaining.front() + "' is no command" +
             as_sentence(suggest_name(remaining.front(), known)) + " See --help";
    }
  }
  std::string text = problem.what();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text + "; see --help";
}

}  // namespace

std::string program_title(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (name.starts_with("doppler-")) name[7] = ' ';
  return name;
}

int run_program(int argc, char** argv, const std::function<int(int, char**)>& program) {
  std::string title = program_title(argc > 0 ? argv[0] : "doppler");
  // One program, two verbs.
  if (title == "doppler train" && argc > 1 && std::string(argv[1]) == "resume") {
    title = "doppler resume";
  }
  try {
    const int code = program(argc, argv);
    if (!std::cout.flush() || std::fflush(stdout) != 0) {
      throw SystemError("write(standard output): the output is incomplete");
    }
    return code;
  } catch (const ProgramExit& exit) {
    return exit.code;
  } catch (const SystemError& error) {
    return fail(title, error.what(), ExitCode::kEnvironment);
  } catch (const Error& error) {
    return fail(title, error.what(), ExitCode::kBadInput);
  } catch (const CLI::ParseError& problem) {  // of an app that did not use parse_flags()
    return fail(title, problem.what(), ExitCode::kBadInput);
  } catch (const std::bad_alloc&) {
    return fail(title, "out of memory", ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    return fail(title, std::string("unexpected: ") + error.what(), ExitCode::kEnvironment);
  }
}

void parse_flags(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    check_finite(app);
  } catch (const CLI::Success& wish) {  // --help and its like
    std::ostringstream text;
    app.exit(wish, text, text);
    std::cout << text.str() << (text.str().ends_with('\n') ? "" : "\n") << std::flush;
    throw ProgramExit{0};
  } catch (const CLI::ParseError& problem) {
    throw ConfigError(describe_problem(app, problem));
  }
}

}  // namespace doppler
