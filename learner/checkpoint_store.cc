#include "learner/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "common/check.h"
#include "common/error.h"
#include "learner/checkpoint_file.h"

namespace doppler {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kDigits = 12;
constexpr std::string_view kBestName = "best.h5";

// The update number of "checkpoint-000000001234.h5", exactly so; of anything else none.
std::optional<std::uint64_t> update_of(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  std::uint64_t update = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + kDigits, update);
  if (error != std::errc() || end != digits.data() + kDigits) return std::nullopt;
  return update;
}

bool is_unfinished(std::string_view name) {
  if (!name.ends_with(kTemporarySuffix)) return false;
  name.remove_suffix(std::string_view(kTemporarySuffix).size());
  return name == kBestName || update_of(name).has_value();
}

}  // namespace

CheckpointStore::CheckpointStore(const std::string& run_dir, std::int64_t keep,
                                 FileOperations& operations)
    : folder_((std::filesystem::path(run_dir) / "checkpoints").string()),
      keep_(static_cast<std::size_t>(keep)),
      operations_(operations) {
  DP_CHECK_GE(keep, std::int64_t{1});
}

std::string CheckpointStore::path_of(std::uint64_t update) const {
  char name[64];
  std::snprintf(name, sizeof name, "/checkpoint-%012llu.h5",
                static_cast<unsigned long long>(update));
  return folder_ + name;
}

void CheckpointStore::save(const Checkpoint& checkpoint, bool is_best) {
  make_folder(folder_);
  const std::string path = path_of(checkpoint.update);
  const std::vector<std::byte> bytes = encode_checkpoint(checkpoint, path);
  write_file_durably(operations_, path, bytes);
  if (is_best) write_file_durably(operations_, best_path(), bytes);
  prune(checkpoint.update);
}

void CheckpointStore::prune(std::uint64_t newest_update) {
  for (const std::string& name : file_names(folder_)) {
    if (is_unfinished(name)) operations_.unlink(folder_ + "/" + name);
  }
  std::vector<CheckpointEntry> entries = list();
  while (!entries.empty() && entries.back().update > newest_update) {
    operations_.unlink(entries.back().path);
    entries.pop_back();
  }
  for (std::size_t i = 0; i + keep_ < entries.size(); ++i) operations_.unlink(entries[i].path);
}

NewestCheckpoint CheckpointStore::load_newest_valid() const {
  NewestCheckpoint result;
  for (const std::string& name : file_names(folder_)) {
    const std::string path = folder_ + "/" + name;
    if (is_unfinished(name)) {
      result.warnings.push_back(path + ": unfinished, its writer was stopped; not used");
    } else if (name != kBestName && !update_of(name)) {
      result.warnings.push_back(path + ": not the name of a checkpoint; not used");
    }
  }
  std::vector<CheckpointEntry> entries = list();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    try {
      Checkpoint checkpoint = load(entry->path);
      if (checkpoint.update != entry->update) {
        throw FormatError(entry->path + ": holds update " + std::to_string(checkpoint.update) +
                          ", not the one that its name says; rename it back");
      }
      result.loaded = LoadedCheckpoint{std::move(checkpoint), entry->path};
      return result;
    } catch (const Error& problem) {
      result.warnings.push_back(std::string(problem.what()) + " (not used; trying the one before)");
    }
  }
  return result;
}

Checkpoint CheckpointStore::load(const std::string& path) {
  return decode_checkpoint(read_whole_file(path), path);
}

std::vector<CheckpointEntry> CheckpointStore::list() const {
  std::vector<CheckpointEntry> entries;
  for (const std::string& name : file_names(folder_)) {
    if (const auto update = update_of(name)) entries.push_back({folder_ + "/" + name, *update});
  }
  return entries;
}

}  // namespace doppler
