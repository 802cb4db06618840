// RunFolder: the files of one run that people and scripts read, apart from checkpoints and
// trajectories: config.yaml, metrics.jsonl, best/assignment.json, summary.json, log.txt
// (docs/formats.md). Files that are replaced are replaced atomically. One learner holds the folder
// at a time. Not thread-safe.
#ifndef DOPPLER_LEARNER_RUN_FOLDER_H_
#define DOPPLER_LEARNER_RUN_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace doppler {

class RunFolder {
 public:
  // A new run. Throws ConfigError when something is there already (a run is continued with resume,
  // never overwritten).
  static RunFolder create(const std::string& path, const std::string& config_yaml);
  // An existing one. Throws ConfigError when there is none, or when another process is training in
  // it.
  static RunFolder open(const std::string& path);

  RunFolder(RunFolder&&) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }
  std::string config_path() const { return path_ + "/config.yaml"; }
  std::string log_path() const { return path_ + "/log.txt"; }

  // Drops the rows of updates after `last_update`, which a resumed run does again, and a
  // half-written last line.
  void trim_metrics(std::uint64_t last_update);
  // One JSON object, without line end. Reaches the file at the latest with flush_metrics().
  void append_metrics(const std::string& json_line);
  void flush_metrics();

  // Each replaces a file as a whole. Throws SystemError.
  // best/assignment.json of the first graph, best/assignment-0001.json of the second, ...
  void write_best_assignment(std::size_t graph, const std::string& json);
  void write_summary(const std::string& json);
  // A run that goes on has no summary until its next end.
  void remove_summary();

 private:
  struct Impl;
  RunFolder(std::string path, std::unique_ptr<Impl> impl);
  std::string path_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppler

#endif  // DOPPLER_LEARNER_RUN_FOLDER_H_
