#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>

#include "common/doctor.h"
#include "common/environment_variable.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;

// The learner has a connection for each worker, beside files of its own.
constexpr rlim_t kFewOpenFiles = 1024;
constexpr rlim_t kTooFewOpenFiles = 256;
// As measured: a learner of a small graph, and a worker.
constexpr double kLearnerMegabytes = 600;
constexpr double kWorkerMegabytes = 50;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The folders of this process's control group (version 2), innermost first: a limit of any of them
// holds.
std::vector<fs::path> control_groups() {
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  std::vector<fs::path> folders;
  const fs::path root = "/sys/fs/cgroup";
  while (std::getline(in, line)) {
    if (!line.starts_with("0::/")) continue;
    fs::path folder = fs::path(line.substr(4));
    for (; !folder.empty(); folder = folder.parent_path()) folders.push_back(root / folder);
  }
  folders.push_back(root);
  return folders;
}

std::optional<double> cpu_quota() {
  std::optional<double> smallest;
  for (const fs::path& folder : control_groups()) {
    const auto quota = parse_cpu_quota(first_line(folder / "cpu.max"));
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
  }
  return smallest;
}

Check check_cores(unsigned cores) {
  const auto quota = cpu_quota();
  Check check{.name = "cores", .finding = fmt::format("{} usable", cores)};
  if (quota) check.finding += fmt::format(", a quota of {:.3g}", *quota);
  if (quota && *quota < cores - 0.5) {
    check.outcome = CheckOutcome::kWarning;
    check.cure =
        fmt::format("the default of a worker a core is too many for the quota: --workers {}",
                    std::max(1, static_cast<int>(std::floor(*quota))));
  }
  return check;
}

Check check_threads(unsigned cores) {
  Check check{.name = "threads", .finding = "OMP_NUM_THREADS is not set"};
  const auto threads = environment_number("OMP_NUM_THREADS");
  if (!threads) return check;
  check.finding = fmt::format("OMP_NUM_THREADS={}", *threads);
  if (*threads > static_cast<int>(cores)) {
    check.outcome = CheckOutcome::kWarning;
    check.cure = fmt::format(
        "more threads than the {} usable cores take them from the workers: unset OMP_NUM_THREADS",
        cores);
  }
  return check;
}

Check check_open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  Check check{.name = "open files"};
  check.finding = limit.rlim_cur == RLIM_INFINITY ? "no limit" : fmt::format("{}", limit.rlim_cur);
  if (limit.rlim_cur >= kFewOpenFiles) return check;
  check.outcome =
      limit.rlim_cur < kTooFewOpenFiles ? CheckOutcome::kFailed : CheckOutcome::kWarning;
  check.cure = "the learner needs one for each worker: ulimit -n 4096";
  return check;
}

Check check_memory(unsigned cores) {
  std::ifstream in("/proc/meminfo");
  std::string line;
  double available = 0;  // MB
  while (std::getline(in, line)) {
    if (line.starts_with("MemAvailable:")) available = std::atof(line.c_str() + 13) / 1024;
  }
  for (const fs::path& folder : control_groups()) {
    const double limit = std::atof(first_line(folder / "memory.max").c_str()) / (1 << 20);
    if (limit > 0) available = std::min(available, limit);
  }
  const double wanted = kLearnerMegabytes + kWorkerMegabytes * cores;
  Check check{.name = "memory", .finding = fmt::format("{:.1f} GB available", available / 1024)};
  if (available >= wanted) return check;
  check.outcome = CheckOutcome::kWarning;
  check.cure = fmt::format(
      "a learner and a worker for each core take about {:.1f} GB: ask for more, or give --workers",
      wanted / 1024);
  return check;
}

}  // namespace

std::optional<double> parse_cpu_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  double quota = 0;
  double period = 0;
  const auto parse = [](std::string_view text, double& value) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size() && value > 0;
  };
  if (!parse(cpu_max.substr(0, space), quota) || !parse(cpu_max.substr(space + 1), period)) {
    return std::nullopt;
  }
  return quota / period;
}

Checks check_limits() {
  // As the programs count them: what this process may run on.
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return {check_cores(cores), check_threads(cores), check_open_files(), check_memory(cores)};
}

}  // namespace doppler
