// Runs a fuzz target without libFuzzer: mutates its seeds and everything that ended in a new way.
//
//   NAME [--seconds S] [--inputs N] [--seed K] [FILE...]
//
// Ends after S seconds or N inputs, whichever comes first (default: 60 s, no limit), or runs the
// given files once. The sequence of inputs is a function of the seed. An input that takes longer
// than 10 s, crashes or throws what it must not is written to NAME.crash in the current folder.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "common/random.h"
#include "tests/fuzz/fuzz_target.h"

// Of the sanitizers' runtime; absent without them.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): their name
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace doppler::fuzz {
namespace {

constexpr std::size_t kLongestInput = 16384;
constexpr unsigned kHangSeconds = 10;

std::string current_input;     // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::string crash_file;        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::string outcome_of_input;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Only calls that a signal handler may make.
void save_input() {
  const int file = ::open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  const ssize_t written = ::write(file, current_input.data(), current_input.size());
  static_cast<void>(written);
  ::close(file);
}

void on_signal(int signal) {
  save_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// What formats are made of. The first kNumberTokens are numbers.
constexpr std::size_t kNumberTokens = 11;
constexpr auto kTokens =
    std::to_array<std::string_view>({"0",
                                     "-1",
                                     "1",
                                     "2",
                                     "4294967296",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "1e308",
                                     "1e-400",
                                     "nan",
                                     "0.5",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "\\",
                                     ",",
                                     ", ",
                                     ":",
                                     ";",
                                     "=",
                                     "->",
                                     "--",
                                     " -- ",
                                     "\t",
                                     "\n",
                                     "\r\n",
                                     "/*",
                                     "//",
                                     "#",
                                     "<",
                                     ">",
                                     "null",
                                     "true",
                                     "[]",
                                     "{}",
                                     "subgraph",
                                     "node",
                                     "size",
                                     "\xff",
                                     "\xc3\xa9",

                                     "\x7f",
                                     "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"});

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  // Half of all inputs come from one of the first `seed_count`: whoever strays far from what can be
  // read meets the same few checks again and again.
  std::string mutate(const std::vector<std::string>& corpus, std::size_t seed_count) {
    std::string input = corpus[below(below(2) == 0 ? seed_count : corpus.size())];
    const std::size_t steps = 1 + below(1U << below(4));
    for (std::size_t i = 0; i < steps; ++i) step(input, corpus);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random_.next_below(bound));
  }

  void step(std::string& input, const std::vector<std::string>& corpus) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = 1 + below(1U << below(7));
    switch (below(10)) {
      case 0:  // flip a bit
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:  // another byte
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:  // twice
        input.insert(at, input.substr(std::min(at, input.size()), length));
        break;
      case 4:
      case 5:
        input.insert(at, kTokens[below(kTokens.size())]);
        break;
      default:
        move_parts(input, at, length, corpus);
        break;
    }
  }

  void move_parts(std::string& input, std::size_t at, std::size_t length,
                  const std::vector<std::string>& corpus) {
    switch (below(4)) {
      case 0: {  // a part of another
        const std::string& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size() + 1);
        input.replace(at, length, other.substr(from, 1 + below(other.size())));
        break;
      }
      case 1: {  // a number becomes another
        const std::size_t digit = input.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end =
            std::min(input.find_first_not_of("0123456789", digit), input.size());
        input.replace(digit, end - digit, kTokens[below(kNumberTokens)]);
        break;
      }
      case 2:  // cut off
        if (below(4) == 0) input.resize(at);
        break;
      default: {  // a part to another place
        const std::string part = input.substr(at, length);
        input.erase(at, length);
        input.insert(below(input.size() + 1), part);
        break;
      }
    }
  }

  RandomStream random_;
};

void run_one(const std::string& input) {
  current_input = input;
  ::alarm(kHangSeconds);
  // A copy of exactly this size, so that reading behind it is seen.
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ::alarm(0);
}

int run_files(const std::vector<std::string>& files) {
  for (const std::string& name : files) {
    std::ifstream file(name, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
      return 2;
    }
    run_one(std::string(std::istreambuf_iterator<char>(file), {}));
    std::printf("%s: %s\n", name.c_str(), last_outcome().c_str());
  }
  return 0;
}

int run_mutations(double seconds, std::uint64_t most_inputs, std::uint64_t seed) {
  constexpr std::size_t kLargestCorpus = 2000;
  constexpr std::size_t kMostOfOneEnd = 20;
  constexpr std::size_t kMostRead = 500;
  std::vector<std::string> corpus = seeds();
  const std::size_t seed_count = corpus.size();
  std::map<std::string, std::size_t> kept;  // inputs in the corpus, by how they ended
  for (const std::string& input : corpus) {
    run_one(input);
    if (last_outcome() != "read") {
      std::fprintf(stderr, "a seed is not read: %s\n", last_outcome().c_str());
      return 1;
    }
  }
  Mutator mutator(seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t count = 0;
  std::uint64_t read = 0;
  for (; count < most_inputs; ++count) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (passed.count() >= seconds) break;
    const std::string input = mutator.mutate(corpus, seed_count);
    run_one(input);
    read += last_outcome() == "read" ? 1 : 0;
    std::size_t& of_this_end = kept[last_outcome()];
    if (of_this_end < (last_outcome() == "read" ? kMostRead : kMostOfOneEnd) &&
        corpus.size() < kLargestCorpus) {
      ++of_this_end;
      corpus.push_back(input);
    }
  }
  std::printf("%llu inputs, %llu of them read, %zu different ends\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(read),
              kept.size());
  return 0;
}

int driver_main(int argc, char** argv) {
  double seconds = 60;
  std::uint64_t inputs = UINT64_MAX;
  std::uint64_t seed = 1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--seconds" && has_value) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (flag == "--inputs" && has_value) {
      inputs = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seed" && has_value) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag.starts_with("--")) {
      std::fprintf(stderr, "usage: %s [--seconds S] [--inputs N] [--seed K] [FILE...]\n", argv[0]);
      return 2;
    } else {
      files.push_back(flag);
    }
  }
  const std::string program = argv[0];
  crash_file = program.substr(program.rfind('/') + 1) + ".crash";
  for (int signal : {SIGABRT, SIGALRM}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(save_input);
  } else {
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
  }
  return files.empty() ? run_mutations(seconds, inputs, seed) : run_files(files);
}

}  // namespace

std::string& last_outcome() {
  return outcome_of_input;
}

}  // namespace doppler::fuzz

// What a target throws and must not ends here without being caught: std::terminate() aborts.
int main(int argc, char** argv) {
  return doppler::fuzz::driver_main(argc, argv);
}
