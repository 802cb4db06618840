#include "common/import_stg.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "common/import_draft.h"
#include "common/text_check.h"
#include "common/text_lines.h"

namespace doppler {
namespace {

struct Number {
  std::int64_t value;
  std::size_t column;
};

struct Task {
  std::int64_t cost = 0;
  std::vector<Number> predecessors;
  std::size_t line = 0;
};

class Reader {
 public:
  Reader(const std::string& file, const ImportOptions& options)
      : report_(file), options_(options) {}

  Imported read(std::string_view content) {
    report_.check_text(content);
    const std::vector<std::string_view> lines = split_lines(content);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string_view text = trim(lines[i]);
      if (text.empty() || text.starts_with('#')) continue;
      if (count_line_ == 0) {
        read_count(lines[i], i + 1);
      } else {
        read_task(lines[i], i + 1);
      }
    }
    if (count_line_ == 0) {
      report_.fail({1, 1}, "number of tasks", "is missing; the file holds comments only");
    }
    check_count();
    const std::int64_t entry = tasks_.begin()->first;
    const std::int64_t exit = tasks_.rbegin()->first;
    const bool has_dummies = static_cast<std::int64_t>(tasks_.size()) == count_ + 2;
    if (has_dummies) {
      check_dummy(entry, "entry");
      check_dummy(exit, "exit");
    }
    for (const auto& [id, task] : tasks_) {
      if (has_dummies && (id == entry || id == exit)) continue;
      Operation operation;
      operation.name = std::to_string(id);
      operation.kind = "task";
      operation.compute_time = SimTime(task.cost);
      draft_.add_node({.id = operation.name,
                       .operation = operation,
                       .place = {task.line, 1},
                       .may_be_input = false,
                       .counts_as_free = true,
                       .own_inputs = {}});
    }
    for (const auto& [id, task] : tasks_) {
      if (has_dummies && id == exit) continue;
      add_edges(id, task, has_dummies ? entry : -1);
    }
    return std::move(draft_).finish(graph_name_of(report_.file()), options_, report_);
  }

 private:
  std::vector<Number> read_numbers(std::string_view line, std::size_t number) const {
    std::vector<Number> numbers;
    std::size_t position = 0;
    while ((position = line.find_first_not_of(" \t", position)) != std::string_view::npos) {
      const std::size_t end = std::min(line.find_first_of(" \t", position), line.size());
      const std::string_view token = line.substr(position, end - position);
      const auto value = parse_integer(token);
      if (!value || *value < 0) {
        report_.fail({number, position + 1}, "task",
                     "expected integers that are not negative (id, cost, number of predecessors, "
                     "predecessors), found " +
                         quote(token));
      }
      numbers.push_back({.value = *value, .column = position + 1});
      position = end;
    }
    return numbers;
  }

  void read_count(std::string_view line, std::size_t number) {
    const std::vector<Number> numbers = read_numbers(line, number);
    if (numbers.size() != 1) {
      report_.fail({number, numbers[1].column}, "number of tasks",
                   "expected nothing else on its line; with communication costs or in another "
                   "layout the file is not of this format");
    }
    count_ = numbers[0].value;
    count_line_ = number;
    if (count_ == 0) report_.fail({number, numbers[0].column}, "number of tasks", "is 0");
  }

  void read_task(std::string_view line, std::size_t number) {
    const std::vector<Number> numbers = read_numbers(line, number);
    if (numbers.size() < 3) {
      report_.fail({number, 1}, "task",
                   "expected id, cost and number of predecessors, found " +
                       std::to_string(numbers.size()) + " numbers");
    }
    const std::string field = "task " + std::to_string(numbers[0].value);
    const auto stated = static_cast<std::uint64_t>(numbers[2].value);
    if (stated != numbers.size() - 3) {
      report_.fail({number, numbers[2].column}, field,
                   "says " + std::to_string(stated) + " predecessors, but " +
                       std::to_string(numbers.size() - 3) + " follow");
    }
    Task task;
    task.cost = numbers[1].value;
    task.predecessors.assign(numbers.begin() + 3, numbers.end());
    task.line = number;
    const auto [at, is_new] = tasks_.emplace(numbers[0].value, std::move(task));
    if (!is_new) {
      report_.fail({number, numbers[0].column}, field,
                   "stands twice, first in line " + std::to_string(at->second.line));
    }
  }

  void check_count() {
    const auto found = static_cast<std::int64_t>(tasks_.size());
    const std::string counts =
        "line " + std::to_string(count_line_) + " says " + std::to_string(count_) + " tasks";
    if (found == count_) {
      check_not_cut(counts);
      report_.warn({count_line_, 1},
                   counts + " and so many follow: there are no dummy entry and exit to leave out");
    } else if (found - 2 != count_) {  // without overflow: found is small
      report_.fail({count_line_, 1}, "number of tasks",
                   counts + ", which with a dummy entry and exit makes 2 more, but " +
                       std::to_string(found) + " follow; the file may be cut off");
    }
    if (tasks_.begin()->first != 0) {
      report_.warn({tasks_.begin()->second.line, 1},
                   "ids begin at " + std::to_string(tasks_.begin()->first) +
                       " instead of 0; they are taken as they stand");
    }
  }

  // Two tasks short of a file with dummies looks like a file without. But one that begins with the
  // dummy entry ends with the dummy exit.
  void check_not_cut(const std::string& counts) const {
    const Task& first = tasks_.begin()->second;
    const bool has_entry = first.cost == 0 && first.predecessors.empty();
    if (!has_entry || tasks_.rbegin()->second.cost == 0) return;
    report_.fail({count_line_, 1}, "number of tasks",
                 counts +
                     " and so many follow, but the first is a dummy entry and the last is no "
                     "dummy exit; with both there should be 2 more, so the file may be cut off");
  }

  void check_dummy(std::int64_t id, const std::string& what) const {
    const Task& task = tasks_.at(id);
    if (task.cost != 0 || (what == "entry" && !task.predecessors.empty())) {
      report_.fail({task.line, 1}, "task " + std::to_string(id),
                   "should be the dummy " + what + " with cost 0" +
                       (what == "entry" ? " and no predecessors" : "") +
                       "; line 1 counts tasks without the two dummies");
    }
  }

  void add_edges(std::int64_t id, const Task& task, std::int64_t entry) {
    for (const Number& predecessor : task.predecessors) {
      const Place place{task.line, predecessor.column};
      const std::string field = "task " + std::to_string(id) + ": predecessor";
      if (!tasks_.contains(predecessor.value)) {
        report_.fail(place, field, std::to_string(predecessor.value) + " is no task of the file");
      }
      if (predecessor.value == entry) continue;
      const auto source = draft_.find(std::to_string(predecessor.value));
      const auto destination = draft_.find(std::to_string(id));
      if (!source || !destination) {
        report_.fail(place, field, "the dummy exit must not precede a task");
      }
      if (*source == *destination) report_.fail(place, field, "a task must not precede itself");
      draft_.add_edge(
          {.source = *source, .destination = *destination, .bytes = {}, .place = place});
    }
  }

  ImportReport report_;
  const ImportOptions& options_;
  ImportDraft draft_{CostUnit::kDurations};
  std::int64_t count_ = 0;
  std::size_t count_line_ = 0;  // 0: not read yet
  std::map<std::int64_t, Task> tasks_;
};

}  // namespace

Imported import_stg(std::string_view content, const std::string& file,
                    const ImportOptions& options) {
  return Reader(file, options).read(content);
}

}  // namespace doppler
