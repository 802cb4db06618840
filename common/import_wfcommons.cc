#include "common/import_wfcommons.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/import_draft.h"
#include "common/json_field.h"
#include "common/text_check.h"

namespace doppler {
namespace {

struct DataFile {
  std::string id;
  std::int64_t bytes = 0;
  std::vector<std::size_t> writers;
  std::vector<std::size_t> readers;
};

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    const nlohmann::json document = parse_strict_json(content, report_);
    const JsonField root(document, "", report_);
    const JsonField version = root.at("schemaVersion");
    if (version.text() != "1.5") {
      version.fail("WfFormat " + quote(version.text()) +
                   " is not read, only 1.5; newer and older files can be converted with the "
                   "tools of WfCommons");
    }
    const JsonField specification = root.at("workflow").at("specification");
    if (const auto files = specification.find("files")) {
      for (const JsonField& file : files->elements()) read_file(file);
    }
    const std::vector<JsonField> tasks = specification.at("tasks").elements();
    for (const JsonField& task : tasks) read_task(task);
    if (const auto execution = root.at("workflow").find("execution")) read_execution(*execution);
    for (std::size_t i = 0; i < tasks.size(); ++i) read_relations(tasks[i], i);
    add_edges();
    add_inputs();
    warn_of_gaps();
    std::string name = graph_name_of(report_.file());
    return std::move(draft_).finish(name, options_, report_);
  }

 private:
  void read_file(const JsonField& field) {
    DataFile file{.id = field.at("id").text(),
                  .bytes = field.at("sizeInBytes").bytes(),
                  .writers = {},
                  .readers = {}};
    if (!file_of_.emplace(file.id, files_.size()).second) {
      field.at("id").fail(quote(file.id) + " is the id of another file as well");
    }
    files_.push_back(std::move(file));
  }

  void read_task(const JsonField& task) {
    const std::string id = task.at("id").text();
    Operation operation;
    operation.name = id;
    operation.kind = "task";
    const auto number = draft_.add_node({.id = id,
                                         .operation = std::move(operation),
                                         .place = {},
                                         .may_be_input = false,
                                         .counts_as_free = true,
                                         .own_inputs = {}});
    if (!number) task.at("id").fail(quote(id) + " is the id of another task as well");
    for (const std::size_t file : files_of(task, "inputFiles")) {
      files_[file].readers.push_back(*number);
    }
    for (const std::size_t file : files_of(task, "outputFiles")) {
      std::vector<std::size_t>& writers = files_[file].writers;
      writers.push_back(*number);
      std::int64_t& bytes = draft_.node(*number).operation.output_bytes;
      bytes = add_bytes(bytes, files_[file].bytes, task);
    }
  }

  static std::int64_t add_bytes(std::int64_t a, std::int64_t b, const JsonField& field) {
    const auto sum = to_bytes(static_cast<double>(a) + static_cast<double>(b));
    if (!sum) field.fail("its files have more than 2^62 bytes");
    return a + b;
  }

  // Each once, in the order of the task's list.
  std::vector<std::size_t> files_of(const JsonField& task, const std::string& key) {
    std::vector<std::size_t> files;
    const auto list = task.find(key);
    if (!list) return files;
    std::set<std::size_t> seen;
    for (const JsonField& entry : list->elements()) {
      const auto at = file_of_.find(entry.text());
      if (at == file_of_.end()) {
        entry.fail("file " + quote(entry.text()) +
                   " is not listed in /workflow/specification/files");
      }
      if (seen.insert(at->second).second) files.push_back(at->second);
    }
    return files;
  }

  void read_execution(const JsonField& execution) {
    std::set<std::string> machines;
    for (const JsonField& task : execution.at("tasks").elements()) {
      const JsonField id = task.at("id");
      const auto number = draft_.find(id.text());
      if (!number) {
        id.fail("task " + quote(id.text()) + " is not listed in /workflow/specification/tasks");
      }
      Operation& operation = draft_.node(*number).operation;
      if (!operation.measured_durations.empty()) {
        id.fail("task " + quote(id.text()) + " was executed twice; keep one of them");
      }
      operation.measured_durations = {{.device_kind = options_.device_kind,
                                       .seconds = task.at("runtimeInSeconds").not_negative()}};
      if (const auto command = task.find("command")) {
        if (const auto program = command->find("program")) operation.kind = program->text();
      }
      if (const auto ran_on = task.find("machines")) {
        for (const JsonField& machine : ran_on->elements()) machines.insert(machine.text());
      }
    }
    if (machines.size() > 1) {
      report_.warn({}, "the tasks ran on " + std::to_string(machines.size()) +
                           " machines; their times are taken as measured on one kind of device");
    }
  }

  void read_relations(const JsonField& task, std::size_t number) {
    if (const auto parents = task.find("parents")) {
      for (const JsonField& parent : parents->elements()) {
        add_relation(find_task(parent), number, parent);
      }
    }
    if (const auto children = task.find("children")) {
      for (const JsonField& child : children->elements()) {
        add_relation(number, find_task(child), child);
      }
    }
  }

  std::size_t find_task(const JsonField& field) const {
    if (const auto number = draft_.find(field.text())) return *number;
    field.fail("no task has the id " + quote(field.text()));
  }

  void add_relation(std::size_t parent, std::size_t child, const JsonField& field) {
    if (parent == child) field.fail("a task must not precede itself");
    relations_.emplace(std::pair(parent, child), 0);
  }

  void add_edges() {
    for (const DataFile& file : files_) {
      for (const std::size_t writer : file.writers) {
        for (const std::size_t reader : file.readers) {
          if (writer == reader) continue;
          const auto [at, is_new] = relations_.emplace(std::pair(writer, reader), 0);
          if (is_new) unrelated_.push_back(file.id);
          at->second += file.bytes;
        }
      }
      if (file.writers.size() > 1) overwritten_.push_back(file.id);
    }
    for (const auto& [relation, bytes] : relations_) {
      if (bytes == 0) ++empty_relations_;
      draft_.add_edge(
          {.source = relation.first, .destination = relation.second, .bytes = bytes, .place = {}});
    }
  }

  void add_inputs() {
    for (const DataFile& file : files_) {
      if (file.writers.empty()) draft_.add_input(file.id, file.bytes, file.readers);
    }
  }

  void warn_of_gaps() {
    std::size_t without_time = 0;
    for (std::size_t i = 0; i < draft_.node_count(); ++i) {
      if (!draft_.node(i).operation.measured_durations.empty()) continue;
      ++without_time;
      draft_.node(i).counts_as_free = false;
    }
    if (without_time > 0) {
      report_.warn({},
                   std::to_string(without_time) + " tasks were not executed; they take no time");
    }
    if (!unrelated_.empty()) {
      report_.warn({}, std::to_string(unrelated_.size()) +
                           " times a task reads a file of another that is not its parent (first: " +
                           quote(unrelated_.front()) + "); an edge is added");
    }
    if (!overwritten_.empty()) {
      report_.warn({}, std::to_string(overwritten_.size()) +
                           " files are written by several tasks (first: " +
                           quote(overwritten_.front()) + "); each of them sends it");
    }
    if (empty_relations_ > 0) {
      report_.warn({}, std::to_string(empty_relations_) +
                           " edges carry no file; they order tasks and send nothing");
    }
  }

  ImportReport report_;
  const ImportOptions& options_;
  ImportDraft draft_{CostUnit::kPhysical};
  std::vector<DataFile> files_;
  std::unordered_map<std::string, std::size_t> file_of_;
  // (parent, child) by number in the draft, and the bytes between them.
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> relations_;
  std::vector<std::string> unrelated_;
  std::vector<std::string> overwritten_;
  std::size_t empty_relations_ = 0;
};

}  // namespace

Imported import_wfcommons(std::string_view content, const std::string& file,
                          const ImportOptions& options) {
  return Reader(file, options).read(content);
}

}  // namespace doppler
