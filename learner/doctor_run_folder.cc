#include "learner/doctor_run_folder.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/child_output.h"
#include "common/error.h"
#include "learner/file_operations.h"
#include "learner/trajectory_archive.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;

constexpr double kLittleGigabytes = 2;
constexpr double kTooLittleGigabytes = 0.2;
constexpr double kClockSeconds = 5;
constexpr auto kReadTimeout = std::chrono::seconds(30);

// A folder beside the runs, for as long as it is needed.
class ProbeFolder {
 public:
  explicit ProbeFolder(const std::string& parent) : path_(parent + "/.doppler-doctor-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      throw SystemError(std::string("mkdtemp: ") + std::strerror(errno));
    }
  }
  ProbeFolder(const ProbeFolder&) = delete;
  ProbeFolder& operator=(const ProbeFolder&) = delete;
  ~ProbeFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The folder itself or the nearest one above it that exists.
std::string existing_folder(const std::string& run_dir) {
  std::error_code error;
  fs::path folder = fs::absolute(run_dir, error).lexically_normal();
  while (!fs::is_directory(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

Check check_writing(const std::string& folder) {
  const std::string text = "probe";
  const std::string path = folder + "/file";
  write_file_durably(system_file_operations(), path,
                     std::as_bytes(std::span(text.data(), text.size())));
  Check check{.name = "run folder", .finding = "can be written"};
  const double ahead =
      std::chrono::duration<double>(fs::last_write_time(path) - fs::file_time_type::clock::now())
          .count();
  if (std::abs(ahead) > kClockSeconds) {
    check.outcome = CheckOutcome::kWarning;
    check.finding += fmt::format(", but the clock of its server is {:.0f} s off", ahead);
    check.cure = "ages in doppler status are wrong by that; set the clocks (NTP)";
  }
  return check;
}

Check check_locking(const std::string& folder) {
  const std::string reason = why_flock_fails(folder);
  if (reason.empty()) return {.name = "file locks", .finding = "work (flock)"};
  return {"file locks", CheckOutcome::kWarning, "do not work here (flock): " + reason,
          "nothing keeps two learners out of one run folder: mount with flock, or take care"};
}

// Writes an episode and has it read while the log is open.
Check check_log(const std::string& folder, const std::string& inspect) {
  ArchiveHeader header;
  header.run_name = "doctor";
  header.tick_unit = "picoseconds";
  header.graphs = {{"one operation", 1, 1}};
  TrajectoryArchive archive(folder, header);
  Trajectory episode;
  episode.makespan = SimTime(1);
  episode.operations = {OperationId(0)};
  episode.devices = {DeviceId(0)};
  episode.select_log_probabilities = {0};
  episode.place_log_probabilities = {0};
  archive.append(std::move(episode), TrajectoryStatus::kTrained, true);
  if (!archive.flush()) {
    return {"log", CheckOutcome::kFailed, archive.take_alarm().value_or("cannot be written"),
            "lay runs on another file system, or train without: --set archive.enabled=false"};
  }
  const ChildOutput read = child_output({inspect, folder, "--json"}, kReadTimeout);
  if (read.exit_code == 0) {
    return {.name = "log", .finding = "can be read while it grows (HDF5, SWMR)"};
  }
  return {"log", CheckOutcome::kWarning, "cannot be read while it grows (HDF5, SWMR)",
          "doppler inspect will work when the run has ended; set HDF5_USE_FILE_LOCKING=FALSE if "
          "the file system knows no locks"};
}

Check check_room(const std::string& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) {
    return {"free disk", CheckOutcome::kWarning, std::strerror(errno), "look at the file system"};
  }
  const double free =
      static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / (1 << 30);
  Check check{.name = "free disk", .finding = fmt::format("{:.1f} GB", free)};
  // A file system without a fixed number of files says 0 of 0.
  if (info.f_files > 0 && info.f_favail < 1000) {
    check.outcome = CheckOutcome::kWarning;
    check.finding += fmt::format(", room for {} files", info.f_favail);
  }
  if (free < kLittleGigabytes) {
    check.outcome = free < kTooLittleGigabytes ? CheckOutcome::kFailed : CheckOutcome::kWarning;
  }
  if (check.outcome != CheckOutcome::kOk) {
    check.cure =
        "a run writes about 100 bytes an episode and its checkpoints: make room, or lay it "
        "elsewhere with --run-dir";
  }
  return check;
}

}  // namespace

Checks check_run_folder(const std::string& run_dir, const std::string& inspect) {
  const std::string folder = existing_folder(run_dir);
  Checks checks;
  try {
    const ProbeFolder probe(folder);
    checks.push_back(check_writing(probe.path()));
    checks.push_back(check_locking(probe.path()));
    checks.push_back(check_log(probe.path(), inspect));
  } catch (const Error& error) {
    checks.push_back({checks.empty() ? "run folder" : "log", CheckOutcome::kFailed,
                      folder + ": " + error.what(),
                      "lay runs where you may write, with --run-dir"});
  }
  checks.push_back(check_room(folder));
  return checks;
}

}  // namespace doppler
