#include "common/config_io.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config_schema.h"
#include "common/error.h"
#include "common/graph_source.h"
#include "common/text_file.h"
#include "common/yaml_section.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace doppler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A text that is valid but for what a test adds to it.
Config parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "c.yaml", overrides);
}
std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return test::message_of<ConfigError>([&] { parse(text, overrides); });
}
const std::string kGraph = "graph:\n  generate: chain-mm\n";

TEST(ConfigIo, ReadsSectionsAndKeepsDefaultsElsewhere) {
  const Config config = parse(kGraph +
                              "run:\n  seed: 18446744073709551615\n  budget_seconds: 1.5\n"
                              "model:\n  operation_table: false\n  select: critical-path\n"
                              "stages:\n  teacher: heft\n  simulation: {episodes: 7}\n");
  EXPECT_THAT(config.graph.generate, testing::ElementsAre("chain-mm"));
  EXPECT_EQ(config.run.seed, 18446744073709551615ULL);
  EXPECT_EQ(config.run.budget_seconds, 1.5);
  EXPECT_FALSE(config.model.operation_table);
  EXPECT_EQ(config.model.select, SelectPolicy::kCriticalPath);
  EXPECT_EQ(config.stages.teacher, Teacher::kHeft);
  EXPECT_EQ(config.stages.simulation.episodes, 7);
  EXPECT_EQ(config.stages.imitation.episodes, Config().stages.imitation.episodes);
}

TEST(ConfigIo, EveryKeyStandsForItsOwnField) {
  // Written and read again from a configuration in which each key in turn differs from its default,
  // exactly that key differs: no two keys share a field, none is forgotten.
  const Config defaults;
  for (const ConfigKey& key : config_keys()) {
    std::string changed;
    const std::string before = key.write(defaults);
    if (key.type == "true or false") {
      changed = before == "true" ? "false" : "true";
    } else if (key.type == "one of") {
      const std::size_t bar = key.range.rfind(" | ");
      if (bar == std::string::npos) continue;  // a single choice cannot differ
      changed = key.range.substr(bar + 3);
      if (changed == before) changed = key.range.substr(0, key.range.find(" | "));
    } else if (key.type == "text") {
      changed = "some text";
    } else if (key.type.starts_with("name=number")) {
      changed = "some=0.5";
    } else {
      // Of these values at least one differs from the default and lies in the range of any key that
      // there is.
      changed = key.range.starts_with("8..") ? "1000" : before == "1" ? "2" : "1";
    }
    Config config;
    key.read(config, changed, false);
    for (const ConfigKey& other : config_keys()) {
      EXPECT_EQ(other.write(config) != other.write(defaults), other.key == key.key)
          << key.key << " against " << other.key;
    }
  }
}

TEST(ConfigIo, OverridesGoThroughTheSameChecks) {
  const Config config = parse(kGraph, {"run.seed=3", "run.name=a=b", "run.seed=4"});
  EXPECT_EQ(config.run.seed, 4U);
  EXPECT_EQ(config.run.name, "a=b");
  EXPECT_EQ(error_of(kGraph, {"run.sed=3"}),
            "--set run.sed=3: run.sed is no key; did you mean 'run.seed'?");
  EXPECT_EQ(error_of(kGraph, {"run.seed=x"}),
            "--set run.seed=x: run.seed: must be an integer in plain digits, but is 'x'");
  EXPECT_THAT(error_of(kGraph, {"run.seed"}), HasSubstr("expected key=value"));
  EXPECT_THAT(error_of(kGraph, {"seed=3"}), HasSubstr("did you mean 'run.seed'?"));
}

TEST(ConfigIo, AnOverriddenGraphReplacesThatOfTheFile) {
  const Config config = parse(kGraph, {"graph.path=g.txt"});
  EXPECT_THAT(config.graph.path, testing::ElementsAre("g.txt"));
  EXPECT_THAT(config.graph.generate, testing::IsEmpty());
  EXPECT_THAT(parse("graph:\n  path: g.txt\n", {"graph.generate=chain-mm"}).graph.path,
              testing::IsEmpty());
  EXPECT_THAT(parse("graph:\n  path: a.txt, b c.txt\n", {}).graph.path,
              testing::ElementsAre("a.txt", "b c.txt"));
  EXPECT_THAT(error_of("graph:\n  path: g.txt\n  generate: chain-mm\n"),
              HasSubstr("graph.generate is given too"));
}

TEST(ConfigIo, EveryMistakeIsReportedAtItsPlace) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"run:\n  sed: 3\n", "c.yaml:2:3: run.sed: is no key; did you mean 'run.seed'?"},
      {"rnu:\n  seed: 3\n", "c.yaml:1:1: rnu: is no key; did you mean 'run'?"},
      {"model:\n  seed: 3\n", "c.yaml:2:3: model.seed: is no key; did you mean 'run.seed'?"},
      {"network:\n  zzzzzzzzzzzzzzzz: 3\n",
       "is no key; known: network.join, network.weights_by, network.transport"},
      {"run:\n  seed: 3\n  seed: 4\n", "c.yaml:3:3: run.seed: is given twice, first on line 2"},
      {"run:\n  seed: 3\nrun:\n  name: x\n", "c.yaml:3:1: run: is given twice, first on line 1"},
      {"run.seed: 3\n", "c.yaml:1:1: run.seed: keys with dots are for --set"},
      {"run: 3\n", "c.yaml:1:6: run: is a section"},
      {"run: [1]\n", "c.yaml:1:6: run: is a section"},
      {"run:\n  seed: [1]\n", "c.yaml:2:9: run.seed: must be a single value"},
      {"run:\n  seed: {a: 1}\n", "run.seed: must be a single value"},
      {"run:\n  seed:\n", "c.yaml:2:3: run.seed: has no value"},
      {"run:\n  seed: ~\n", "run.seed: has no value"},
      {"run:\n  seed: '3'\n", "c.yaml:2:9: run.seed: must be an integer, but is the text '3'"},
      {"run:\n  seed: !!str 3\n", "has the tag"},
      {"run:\n  seed: 010\n", "must be an integer in plain digits, but is '010'"},
      {"run:\n  seed: 0x10\n", "plain digits, but is '0x10'"},
      {"run:\n  seed: 1e3\n", "plain digits, but is '1e3'"},
      {"run:\n  seed: 3.0\n", "plain digits, but is '3.0'"},
      {"run:\n  seed: -1\n", "run.seed: must be in 0..18446744073709551615, but is -1"},
      {"run:\n  seed: 18446744073709551616\n", "must be in 0..18446744073709551615"},
      {"simulation:\n  devices: 0\n", "simulation.devices: must be in 1..4096, but is 0"},
      {"simulation:\n  devices: 9999999999999999999\n", "must be in 1..4096"},
      {"run:\n  budget_seconds: -1\n", "run.budget_seconds: must be >= 0, but is -1"},
      {"run:\n  budget_seconds: .nan\n", "must be a finite number, but is '.nan'"},
      {"run:\n  budget_seconds: inf\n", "must be a finite number"},
      {"run:\n  budget_seconds: 1e999\n", "must be a finite number"},
      {"run:\n  budget_seconds: 10s\n", "must be a finite number, but is '10s'"},
      {"learner:\n  gradient_norm_limit: 0\n", "gradient_norm_limit: must be > 0, but is 0"},
      {"learner:\n  clip_ratio: 11\n", "learner.clip_ratio: must be >= 0, <= 10, but is 11"},
      {"archive:\n  enabled: yes\n", "must be true or false, but is 'yes'"},
      {"archive:\n  enabled: \"true\"\n", "must be true or false, but is 'true' in quotes"},
      {"stages:\n  teacher: hefd\n",
       "must be one of critical-path | heft | etf | peft | enum-opt | local-search | best, but is "
       "'hefd'"},
      {"- a\n- b\n", "c.yaml:1:1: the file must consist of sections"},
      {"just text\n", "c.yaml:1:1: the file must consist of sections"},
      {"run:\n\tseed: 3\n", "c.yaml:2:6: this is no YAML"},
      {"run: {seed: 3\n", "this is no YAML"},
      {"run:\n  seed: 3\n---\nrun:\n  seed: 4\n", "c.yaml: holds 2 documents"},
      {"[a]: 3\n", "a key must be a name"},
  };
  for (const Case& wrong : cases) {
    const std::string message = error_of(wrong.text);
    EXPECT_THAT(message, StartsWith("c.yaml:")) << wrong.text;
    EXPECT_THAT(message, HasSubstr(wrong.message)) << wrong.text;
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
  }
}

TEST(ConfigIo, RulesBetweenKeysNameThem) {
  struct Case {
    std::vector<std::string> overrides;
    const char* message;
  };
  const Case cases[] = {
      {{"graph.generate="}, "graph.path: no graph is given"},
      {{"graph.path=g.txt", "graph.generate=chain-mm"}, "graph.generate is given too"},
      {{"run.name=a/b"}, "run.name: must be the name of a folder"},
      {{"run.name=.."}, "run.name"},
      {{"model.select=critical-path", "model.place=earliest-start"}, "nothing to train"},
      {{"stages.imitation.enabled=false", "stages.simulation.enabled=false"}, "every stage"},
      {{"stages.simulation.episodes=0"}, "stages.simulation.episodes: is 0"},
      {{"run.budget_seconds=1", "stages.imitation.share_of_seconds=0"},
       "stages.imitation.share_of_seconds: is 0"},
      {{"stages.simulation.learning_rate_start=0"}, "learning_rate_start: is 0"},
      {{"stages.simulation.learning_rate_end=1"}, "learning_rate_end: is above"},
      {{"learner.batch_episodes=12", "learner.group_episodes=8"}, "must be a multiple"},
      {{"learner.mode=asynchronous", "learner.clip_ratio=0"}, "learner.clip_ratio: is 0"},
      {{"learner.epochs=4", "learner.clip_ratio=0"}, "or learner.epochs to 1"},
      {{"learner.gradients=workers", "learner.mode=asynchronous"},
       "set learner.mode to synchronous"},
      {{"learner.gradients=workers", "learner.epochs=2"}, "set learner.epochs to 1"},
      {{"learner.gradients=workers", "model.encode=per-step"},
       "messages that are passed at each step"},
      {{"learner.gradients=workers", "learner.group_episodes=1"}, "learner.group_episodes to 2"},
      {{"model.aggregate_rank=12"}, "model.aggregate_rank: must be a multiple of 8"},
      {{"model.place=pooled"}, "set model.encode to per-step"},
      {{"model.device_table=true", "model.operation_table=false"}, "set model.operation_table"},
      {{"model.device_table=true", "model.place=one-pass"}, "only goes with model.place: learned"},
      {{"model.place=one-pass", "model.encode=per-step"}, "one-pass places everything before"},
      {{"model.select=joint", "model.encode=per-step"}, "joint does not go with"},
      {{"model.select=topological", "model.place=earliest-start"}, "nothing to train"},
      {{"model.select=topological", "model.place=earliest-start", "model.encode=per-step"},
       "nothing to train"},
      {{"model.hidden_width=12", "model.encode=per-step"}, "must be a multiple of 8 where"},
      {{"model.place_hidden=12"}, "model.place_hidden: must be a multiple of 8"},
      {{"checkpoint.every_seconds=0"}, "checkpoint.every_seconds"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT(error_of(kGraph, wrong.overrides), HasSubstr(wrong.message));
  }
}

TEST(ConfigIo, TheEffectiveConfigurationReadsBackTheSame) {
  const Config config = parse(kGraph, {"run.name=a \"quoted\" \\ name: # ü\x01",
                                       "run.budget_seconds=0.1", "learner.gradient_norm_limit=1e-7",
                                       "stages.teacher=heft", "archive.decisions_per_second=-1"});
  const std::string text = to_yaml(config);
  const Config again = parse(text);
  EXPECT_EQ(to_yaml(again), text);
  EXPECT_EQ(again.run.name, config.run.name);
  EXPECT_EQ(config_hash(again), config_hash(config));
  for (const ConfigKey& key : config_keys()) EXPECT_EQ(key.write(again), key.write(config));
}

TEST(ConfigIo, TheHashSeesEveryValue) {
  EXPECT_EQ(config_hash(parse(kGraph)), config_hash(parse(kGraph, {"run.seed=1"})));
  EXPECT_NE(config_hash(parse(kGraph)), config_hash(parse(kGraph, {"run.seed=2"})));
}

TEST(ConfigIo, AnEmptySectionIsAllDefaults) {
  EXPECT_EQ(config_hash(parse(kGraph + "run:\nmodel:\n")), config_hash(parse(kGraph)));
}

TEST(ConfigIo, EveryConfigurationFileLoads) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DP_SOURCE_DIR) + "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const std::string path = entry.path().string();
    const bool names_graph = read_text_file(path).find("generate:") != std::string::npos;
    std::vector<std::string> overrides;
    if (!names_graph) {
      // The user names the graph, and is told so.
      EXPECT_THAT(test::message_of<ConfigError>([&] { load_config(path, {}); }),
                  HasSubstr("graph.path: no graph is given; add --set graph.path=FILE"));
      overrides.emplace_back("graph.path=g.txt");
    }
    EXPECT_NO_THROW(load_config(path, overrides)) << path;
  }
  EXPECT_GE(count, 2);
}

TEST(ConfigIo, TheReferencePageIsUpToDate) {
  const std::string path = std::string(DP_SOURCE_DIR) + "/docs/configuration.md";
  const std::string expected = config_reference_markdown();
  if (std::getenv("DOPPLER_UPDATE_GOLDEN") != nullptr) write_text_file(path, expected);
  EXPECT_EQ(read_text_file(path), expected)
      << "DOPPLER_UPDATE_GOLDEN=1 ctest -R config_io_test writes it anew";
}

TEST(ConfigIo, EveryKeyAndSectionIsDescribed) {
  for (const ConfigKey& key : config_keys()) {
    EXPECT_FALSE(key.effect.empty()) << key.key;
    EXPECT_FALSE(section_effect(key.key.substr(0, key.key.rfind('.'))).empty()) << key.key;
  }
}

TEST(GraphSource, LoadsOrGeneratesExactlyOne) {
  const auto load = [](const std::string& path, const std::string& workload) {
    GraphConfig config;
    if (!path.empty()) config.path = {path};
    if (!workload.empty()) config.generate = {workload};
    return load_graphs(config, 4, CostConvention::kPaper);
  };
  EXPECT_EQ(load("", "chain-mm").at(0).graph.operation_count(), 76U);
  const test::TempDir folder;
  const std::string path = folder.write("g.txt", "1\n\n\n\n1,1\n");
  EXPECT_EQ(load(path, "").at(0).graph.operation_count(), 1U);
  EXPECT_THROW(load("", ""), ConfigError);
  EXPECT_THROW(load(path, "chain-mm"), ConfigError);
  EXPECT_THAT(test::message_of<ConfigError>([&] { load("", "chain_mm"); }),
              HasSubstr("did you mean 'chain-mm'?"));
}

TEST(GraphSource, LoadsSeveralInTheirOrderEachOnce) {
  GraphConfig config;
  config.generate = {"ffnn", "chain-mm"};
  const auto loaded = load_graphs(config, 4, CostConvention::kPaper);
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[0].graph.operation_count(), 180U);
  EXPECT_EQ(loaded[1].graph.operation_count(), 76U);
  config.generate = {"ffnn", "chain-mm", "ffnn"};
  EXPECT_THAT(
      test::message_of<ConfigError>([&] { load_graphs(config, 4, CostConvention::kPaper); }),
      HasSubstr("ffnn and ffnn are the same graph; name it once"));
}

}  // namespace
}  // namespace doppler
