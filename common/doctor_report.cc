#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/doctor.h"

namespace doppler {

const char* outcome_name(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kOk:
      return "ok";
    case CheckOutcome::kWarning:
      return "warning";
    case CheckOutcome::kFailed:
      return "failed";
  }
  return "unknown";
}

CheckOutcome worst_outcome(const Checks& checks) {
  CheckOutcome worst = CheckOutcome::kOk;
  for (const Check& check : checks) worst = std::max(worst, check.outcome);
  return worst;
}

std::string checks_text(const Checks& checks) {
  std::string text;
  for (const Check& check : checks) {
    std::string outcome = outcome_name(check.outcome);
    outcome.resize(9, ' ');
    std::string name = check.name;
    name.resize(std::max<std::size_t>(name.size(), 20), ' ');
    text += outcome + name + " " + check.finding + "\n";
    if (!check.cure.empty()) text += std::string(30, ' ') + "-> " + check.cure + "\n";
  }
  return text;
}

std::string checks_json(const Checks& checks, const std::string& host) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"outcome", outcome_name(check.outcome)},
                    {"finding", check.finding},
                    {"cure", check.cure}});
  }
  const nlohmann::ordered_json json = {
      {"host", host}, {"outcome", outcome_name(worst_outcome(checks))}, {"checks", list}};
  return json.dump(2) + "\n";
}

}  // namespace doppler
