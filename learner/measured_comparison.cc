#include "learner/measured_comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace doppler {
namespace {

double milliseconds(const MeasuredPlacement& placement) {
  return 1e3 * placement.placement.makespan.seconds();
}

}  // namespace

std::string comparison_table(const MeasuredComparison& comparison) {
  std::string text = fmt::format("  measured on {}, median of {} rounds in turn\n",
                                 comparison.backend, comparison.rounds);
  text += fmt::format("  {:<32} {:>14} {:>22}\n", "", "milliseconds", "interval");
  std::vector<const MeasuredPlacement*> rows;
  for (const MeasuredPlacement& placement : comparison.placements) rows.push_back(&placement);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return a->placement.makespan > b->placement.makespan;
  });
  for (const MeasuredPlacement* row : rows) {
    if (!row->failure.empty()) {
      text += fmt::format("  {:<32} {:>14}\n", row->name, row->failure);
      continue;
    }
    text += fmt::format("  {:<32} {:>14.4f} {:>10.4f} .. {:<8.4f}\n", row->name, milliseconds(*row),
                        1e3 * row->low_seconds, 1e3 * row->high_seconds);
  }
  if (comparison.ratio > 0) {
    text += fmt::format("  {} takes {:.4f} of {} ({:.4f} .. {:.4f})\n",
                        comparison.placements[*comparison.best_learned].name, comparison.ratio,
                        comparison.placements[*comparison.best_baseline].name, comparison.ratio_low,
                        comparison.ratio_high);
  }
  return text;
}

std::string comparison_json(const MeasuredComparison& comparison) {
  using Json = nlohmann::ordered_json;
  Json placements = Json::array();
  for (const MeasuredPlacement& placement : comparison.placements) {
    Json item = {{"name", placement.name}, {"learned", placement.learned}};
    if (placement.failure.empty()) {
      item["median_seconds"] = placement.placement.makespan.seconds();
      item["low_seconds"] = placement.low_seconds;
      item["high_seconds"] = placement.high_seconds;
    } else {
      item["failure"] = placement.failure;
    }
    placements.push_back(std::move(item));
  }
  Json json = {
      {"backend", comparison.backend}, {"rounds", comparison.rounds}, {"placements", placements}};
  if (comparison.ratio > 0) {
    json["best_learned"] = comparison.placements[*comparison.best_learned].name;
    json["best_baseline"] = comparison.placements[*comparison.best_baseline].name;
    json["ratio"] = comparison.ratio;
    json["ratio_low"] = comparison.ratio_low;
    json["ratio_high"] = comparison.ratio_high;
  }
  return json.dump();
}

}  // namespace doppler
