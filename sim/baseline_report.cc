#include "sim/baseline_report.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/error.h"
#include "common/reference_cost.h"
#include "common/text_file.h"

namespace doppler {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kReferenceUnit = 1e10;  // ticks

double cost(const BaselineReport& report, SimTime makespan) {
  return displayed_cost(makespan, report.physical);
}

std::optional<double> mean_cost(const BaselineReport& report, const BaselineResult& result) {
  if (!result.mean_makespan_ticks) return std::nullopt;
  return *result.mean_makespan_ticks / (report.physical ? 1e12 : kReferenceUnit);
}

std::optional<double> ratio_to_bound(const BaselineReport& report, const BaselineResult& result) {
  if (!report.bounds || report.bounds->largest <= SimTime(0)) return std::nullopt;
  return static_cast<double>(result.makespan.ticks()) /
         static_cast<double>(report.bounds->largest.ticks());
}

// By search through everything, or because no assignment can be below the bound.
bool is_optimal(const BaselineReport& report, const BaselineResult& result) {
  const bool at_bound = report.bounds && result.makespan == report.bounds->largest;
  return result.feasible && (result.optimal || at_bound);
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename Id, typename Container>
Json list_of(const Container& ids) {
  Json list = Json::array();
  for (Id id : ids) list.push_back(id.value());
  return list;
}

Json to_json(const BaselineReport& report, const BaselineResult& result) {
  Json json;
  json["name"] = result.name;
  json["cost"] = cost(report, result.makespan);
  json["makespan_ticks"] = result.makespan.ticks();
  json["ratio_to_bound"] = or_null(ratio_to_bound(report, result));
  json["optimal"] = is_optimal(report, result);
  json["feasible"] = result.feasible;
  json["stopped_early"] = result.stopped_early;
  json["mean_cost"] = or_null(mean_cost(report, result));
  json["evaluations"] = result.evaluations;
  json["seconds"] = result.seconds;
  json["assignment"] = list_of<DeviceId>(result.assignment);
  json["order"] = list_of<OperationId>(result.order);
  return json;
}

// The bounds by name.
std::vector<std::pair<const char*, SimTime>> parts_of(const LowerBounds& bounds) {
  return {{"critical_path", bounds.critical_path},
          {"work", bounds.work},
          {"communication", bounds.communication},
          {"windows", bounds.windows}};
}

Json bounds_to_json(const BaselineReport& report) {
  if (!report.bounds) return nullptr;
  Json json;
  for (const auto& [name, bound] : parts_of(*report.bounds)) json[name] = cost(report, bound);
  json["largest"] = cost(report, report.bounds->largest);
  json["largest_ticks"] = report.bounds->largest.ticks();
  if (report.physical) {
    const SimTime within = report.bounds->within_memory;
    json["within_memory"] = within == SimTime::max() ? Json(nullptr) : Json(cost(report, within));
  }
  return json;
}

std::string fixed(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << *value;
  return text.str();
}

// Enough of the digits to tell assignments apart: costs of the reference are large numbers, seconds
// are small ones.
std::string shown_cost(const BaselineReport& report, const std::optional<double>& value) {
  return fixed(value, report.physical ? 9 : 4);
}

void print_row(std::ostream& out, const std::array<std::string, 6>& cells,
               const std::string& remark) {
  out << std::left << std::setw(25) << cells[0] << std::right << std::setw(14) << cells[1]
      << std::setw(9) << cells[2] << std::setw(14) << cells[3] << std::setw(13) << cells[4]
      << std::setw(11) << cells[5] << remark << "\n";
}

}  // namespace

Json to_json(const BaselineReport& report) {
  Json json;
  json["graph"] = report.graph;
  json["devices"] = report.devices;
  json["seed"] = report.seed;
  json["lower_bounds"] = bounds_to_json(report);
  json["baselines"] = Json::array();
  for (const BaselineResult& result : report.results) {
    json["baselines"].push_back(to_json(report, result));
  }
  return json;
}

void print_table(const BaselineReport& report, std::ostream& out) {
  print_row(
      out,
      {"algorithm", report.physical ? "seconds" : "cost", "ratio", "mean", "evaluations", "took"},
      "");
  for (const BaselineResult& result : report.results) {
    std::string remark = !result.feasible             ? "  infeasible"
                         : is_optimal(report, result) ? "  optimal"
                                                      : "";
    if (result.stopped_early) remark += "  stopped early";
    print_row(
        out,
        {result.name, shown_cost(report, cost(report, result.makespan)),
         fixed(ratio_to_bound(report, result), 4), shown_cost(report, mean_cost(report, result)),
         std::to_string(result.evaluations), fixed(result.seconds, 3) + " s"},
        remark);
  }
  if (!report.bounds) return;
  out << "\n";
  constexpr std::array kMeanings = {"longest path", "work / devices",
                                    "longest path, transfers that cannot be avoided",
                                    "work between what comes before and behind"};
  const auto parts = parts_of(*report.bounds);
  const auto bound_row = [&](const std::string& name, SimTime bound) {
    out << std::left << std::setw(49) << name << std::right << std::setw(14)
        << shown_cost(report, cost(report, bound)) << "\n";
  };
  bound_row("lower bound", report.bounds->largest);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bound_row(std::string("  ") + kMeanings[i], parts[i].second);
  }
  const SimTime within = report.bounds->within_memory;
  if (within == SimTime::max()) {
    out << "no assignment fits into memory: an operation needs more than any device has\n";
  } else if (within > report.bounds->largest) {
    bound_row("lower bound of what fits into memory", within);
  }
}

void prepare_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    throw ConfigError("--output " + folder + ": is a file; name a folder");
  }
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw SystemError("--output: create_directories(" + folder + "): " + error.message() +
                      "; name a folder that can be made");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw SystemError("--output: access(" + folder +
                      "): " + std::generic_category().message(errno) +
                      "; name a folder that can be written to");
  }
}

void write_assignments(const BaselineReport& report, const std::string& folder) {
  for (const BaselineResult& result : report.results) {
    Json json = to_json(report, result);
    json["graph"] = report.graph;
    json["devices"] = report.devices;
    write_text_file((std::filesystem::path(folder) / (result.name + ".json")).string(),
                    json.dump(2) + "\n");
  }
}

}  // namespace doppler
