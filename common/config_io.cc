#include "common/config_io.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/config_schema.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/text_file.h"
#include "common/yaml_section.h"

namespace doppler {
namespace {

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const ConfigKey& key : config_keys()) keys.push_back(key.key);
  return keys;
}

const ConfigKey* find_key(const std::string& key) {
  const auto& keys = config_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

void apply_override(Config& config, const std::string& text) {
  const std::string place = "--set " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw ConfigError(place + ": expected key=value, as in --set run.seed=3");
  }
  const std::string key = text.substr(0, equals);
  const ConfigKey* const known = find_key(key);
  if (known == nullptr) {
    throw ConfigError(place + ": " + key + " " + describe_unknown_key(key, known_keys()));
  }
  try {
    known->read(config, text.substr(equals + 1), false);
  } catch (const ConfigError& error) {
    throw ConfigError(place + ": " + key + ": " + error.what());
  }
}

// A graph that is given by an override takes the place of the file's, whichever way that gave its
// own.
void replace_graph_source(Config& config, const std::vector<std::string>& overrides) {
  const bool replaced =
      std::any_of(overrides.begin(), overrides.end(), [](const std::string& text) {
        return text.starts_with("graph.path=") || text.starts_with("graph.generate=");
      });
  if (replaced) config.graph = GraphConfig{};
}

void require(bool condition, const char* what) {
  if (!condition) throw ConfigError(what);
}

void validate_stage(const StageConfig& stage, const std::string& section, bool by_seconds) {
  if (!stage.enabled) return;
  const auto refuse = [&](const std::string& what) { throw ConfigError(section + "." + what); };
  if (by_seconds && stage.share_of_seconds == 0) {
    refuse(
        "share_of_seconds: is 0 although the run has run.budget_seconds; give it a share or set "
        "enabled: false");
  }
  if (!by_seconds && stage.episodes == 0) {
    refuse(
        "episodes: is 0 and run.budget_seconds is 0 too; give one of them or set enabled: false");
  }
  if (stage.learning_rate_start == 0) {
    refuse("learning_rate_start: is 0, so nothing would be learned; set it or set enabled: false");
  }
  if (stage.learning_rate_end > stage.learning_rate_start) {
    refuse("learning_rate_end: is above learning_rate_start; a learning rate only falls");
  }
}

void validate_step_encoder(const ModelConfig& model) {
  const bool per_step = model.encode == EncodeTime::kPerStep;
  require(per_step || model.place != PlacePolicy::kPooled,
          "model.place: pooled reads what has been placed so far; set model.encode to per-step");
  require(!per_step || model.place != PlacePolicy::kOnePass,
          "model.place: one-pass places everything before the first step; set it to pooled or "
          "learned, or model.encode to per-episode");
  require(!per_step || model.select != SelectPolicy::kJoint,
          "model.select: joint does not go with model.encode: per-step; set one of them otherwise");
  require(!per_step || model.hidden_width % 8 == 0,
          "model.hidden_width: must be a multiple of 8 where model.encode is per-step");
}

void validate_device_table(const ModelConfig& model) {
  if (!model.device_table) return;
  require(model.operation_table,
          "model.device_table: adds to the terms per operation; set model.operation_table to true");
  require(model.place == PlacePolicy::kLearned && model.encode == EncodeTime::kPerEpisode,
          "model.device_table: only goes with model.place: learned and model.encode: per-episode");
}

std::string section_of(const std::string& key) {
  return key.substr(0, key.rfind('.'));
}
std::string name_of(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

// "range, unit", where there are any.
std::string describe_values(const ConfigKey& key) {
  std::string text = key.range.empty() ? key.type : key.range;
  if (!key.unit.empty()) text += ", " + key.unit;
  return text;
}

}  // namespace

Config load_config(const std::string& path, const std::vector<std::string>& overrides) {
  if (path.empty()) return parse_config("", "defaults", overrides);
  return parse_config(read_text_file(path), path, overrides);
}

Config parse_config(std::string_view text, const std::string& file,
                    const std::vector<std::string>& overrides) {
  Config config;
  for (const YamlValue& value : read_yaml(text, file, known_keys())) {
    try {
      find_key(value.key)->read(config, value.text, value.quoted);
    } catch (const ConfigError& error) {
      throw ConfigError(value.place + ": " + value.key + ": " + error.what());
    }
  }
  replace_graph_source(config, overrides);
  for (const std::string& text_of_override : overrides) apply_override(config, text_of_override);
  try {
    validate(config);
  } catch (const ConfigError& error) {
    throw ConfigError(file + ": " + error.what());
  }
  return config;
}

void validate(const Config& config) {
  require(!config.run.name.empty() && config.run.name.find('/') == std::string::npos &&
              config.run.name != "." && config.run.name != "..",
          "run.name: must be the name of a folder, without '/'");
  require(!config.graph.path.empty() || !config.graph.generate.empty(),
          "graph.path: no graph is given; add --set graph.path=FILE, or --set "
          "graph.generate=chain-mm");
  require(config.graph.path.empty() || config.graph.generate.empty(),
          "graph.path: graph.generate is given too; remove one of them");
  require(
      config.model.select != SelectPolicy::kJoint || config.model.place == PlacePolicy::kLearned,
      "model.select: joint looks at operations and devices together; set model.place to learned");
  require(config.model.select == SelectPolicy::kLearned ||
              config.model.place != PlacePolicy::kEarliestStart,
          "model.select: neither it nor model.place is learned, so there is nothing to train; set "
          "one to learned");

  validate_step_encoder(config.model);
  validate_device_table(config.model);

  require(config.run.budget_seconds == 0 || config.refinement.seconds < config.run.budget_seconds,
          "refinement.seconds: is not below run.budget_seconds, which it is part of");

  const StageConfig& imitation = config.stages.imitation;
  const StageConfig& simulation = config.stages.simulation;
  const StageConfig& real = config.stages.real;
  require(imitation.enabled || simulation.enabled || real.enabled,
          "stages: every stage has enabled: false; enable one");
  const bool by_seconds = config.run.budget_seconds > 0;
  validate_stage(imitation, "stages.imitation", by_seconds);
  validate_stage(simulation, "stages.simulation", by_seconds);
  validate_stage(real, "stages.real", by_seconds);

  const bool physical = config.simulation.mode == SimulationMode::kPhysical;
  require(
      !physical || !config.simulation.topology.empty(),
      "simulation.topology: the physical mode needs one; add --set simulation.topology=FILE, see "
      "configs/topologies");
  require(
      physical || config.simulation.topology.empty(),
      "simulation.topology: is given although simulation.mode is reference; set it to physical");
  require(physical || !real.enabled,
          "stages.real.enabled: graphs of the reference mode tell no FLOPs and bytes that could be "
          "run; set simulation.mode to physical");
  require(config.model.aggregate_rank % 8 == 0, "model.aggregate_rank: must be a multiple of 8");
  require(config.model.place_hidden % 8 == 0, "model.place_hidden: must be a multiple of 8");
  require(config.learner.batch_episodes % config.learner.group_episodes == 0,
          "learner.batch_episodes: must be a multiple of learner.group_episodes");
  require(config.learner.mode == TrainingMode::kSynchronous || config.learner.clip_ratio > 0,
          "learner.clip_ratio: is 0, so nothing would correct for older weights in asynchronous "
          "mode; set it above 0, or learner.mode to synchronous");
  require(config.learner.epochs == 1 || config.learner.clip_ratio > 0,
          "learner.clip_ratio: is 0, so the second gradient step on a batch would not know how far "
          "the first has moved the policy; set it above 0, or learner.epochs to 1");
  if (config.learner.gradients == GradientSource::kWorkers) {
    require(config.learner.mode == TrainingMode::kSynchronous,
            "learner.gradients: workers know no ratio to the weights that an asynchronous update "
            "begins with; set learner.mode to synchronous, or learner.gradients to learner");
    require(
        config.learner.epochs == 1,
        "learner.gradients: workers compute a batch's gradient once, before its first step; set "
        "learner.epochs to 1, or learner.gradients to learner");
    require(config.learner.group_episodes > 1,
            "learner.gradients: workers compare the episodes of a ticket with each other; set "
            "learner.group_episodes to 2 or more, or learner.gradients to learner");
    require(
        config.model.encode == EncodeTime::kPerEpisode,
        "learner.gradients: workers bring no gradient of messages that are passed at each step; "
        "set learner.gradients to learner");
  }
  require(config.checkpoint.every_updates > 0 || config.checkpoint.every_seconds > 0,
          "checkpoint.every_seconds: is 0 and so is checkpoint.every_updates; a run needs "
          "checkpoints to be resumed, set one of them");
}

std::string to_yaml(const Config& config) {
  std::string text = "# Effective configuration; docs/configuration.md describes every key.\n";
  std::string section;
  for (const ConfigKey& key : config_keys()) {
    const std::string own = section_of(key.key);
    if (own != section) {
      // Opens every level of `own` that `section` does not share.
      std::size_t begin = 0;
      std::size_t depth = 0;
      while (begin <= own.size()) {
        const std::size_t end = std::min(own.find('.', begin), own.size());
        const std::string prefix = own.substr(0, end);
        const bool open = section == prefix || section.starts_with(prefix + ".");
        if (!open) {
          if (depth == 0) text += "\n";
          text += std::string(2 * depth, ' ') + own.substr(begin, end - begin) + ":";
          text += "  # " + section_effect(prefix) + "\n";
        }
        begin = end + 1;
        ++depth;
      }
      section = own;
    }
    const auto depth = static_cast<std::size_t>(std::count(own.begin(), own.end(), '.')) + 1;
    text += std::string(2 * depth, ' ') + name_of(key.key) + ": " + key.write(config);
    text += "  # " + key.effect + " (" + describe_values(key) + ")\n";
  }
  return text;
}

std::vector<std::string> forbidden_changes(const Config& before, const Config& now) {
  static constexpr std::array<std::string_view, 8> kFree = {
      "run.name",    "run.workers", "run.budget_seconds", "learner.threads",
      "refinement.", "checkpoint.", "archive.",           "network."};
  std::vector<std::string> changes;
  for (const ConfigKey& key : config_keys()) {
    const bool free = std::any_of(kFree.begin(), kFree.end(), [&](std::string_view prefix) {
      return key.key.starts_with(prefix);
    });
    const std::string old_value = key.write(before);
    const std::string new_value = key.write(now);
    if (free || old_value == new_value || key.key.ends_with(".episodes")) continue;
    changes.push_back(key.key + ": " + old_value + ", now " + new_value);
  }
  return changes;
}

std::uint64_t config_hash(const Config& config) {
  Hasher hasher;
  for (const ConfigKey& key : config_keys()) {
    hasher.add(std::string_view(key.key));
    hasher.add(std::string_view(key.write(config)));
  }
  return hasher.digest();
}

std::string config_reference_markdown() {
  const Config defaults;
  std::string text =
      "# Configuration\n\n"
      "Every key of a configuration file. This page is made from `common/config_schema.cc`; a test "
      "compares both, and\n"
      "`DOPPLER_UPDATE_GOLDEN=1 ctest -R config_io_test` writes it anew.\n\n"
      "A file is YAML: sections with keys below them. An unknown key, a key given twice, a value "
      "of the wrong type or out "
      "of\nrange is an error that names file, line and column. `--set run.seed=3` changes a key "
      "from the command line, "
      "through\nthe same checks.\n";
  std::string section;
  for (const ConfigKey& key : config_keys()) {
    const std::string own = section_of(key.key);
    if (own != section) {
      section = own;
      text += "\n## " + section + "\n\n" + section_effect(section) + "\n\n";
      text += "| key | default | values | effect |\n|---|---|---|---|\n";
    }
    std::string values = describe_values(key);
    for (std::size_t bar = values.find('|'); bar != std::string::npos;
         bar = values.find('|', bar + 2)) {
      values.insert(bar, "\\");
    }
    text += "| `" + key.key + "` | `" + key.write(defaults) + "` | " + values + " | " + key.effect +
            " |\n";
  }
  return text;
}

}  // namespace doppler
