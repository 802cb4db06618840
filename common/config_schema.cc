#include "common/config_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/error.h"
#include "common/workloads.h"

namespace doppler {
namespace {

constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();
constexpr double kAnyNumber = std::numeric_limits<double>::max();

// What a value may be. Each says its type and range and converts between text and value.

struct Flag {
  std::string type() const { return "true or false"; }
  std::string range() const { return ""; }
  void read(bool& value, const std::string& text, bool quoted) const {
    if (quoted || (text != "true" && text != "false")) {
      throw ConfigError("must be true or false, but is '" + text + "'" +
                        (quoted ? " in quotes" : ""));
    }
    value = text == "true";
  }
  std::string write(bool value) const { return value ? "true" : "false"; }
};

struct Integer {
  std::int64_t least;
  std::int64_t largest = kAnyInteger;

  std::string type() const { return "integer"; }
  std::string range() const {
    if (largest == kAnyInteger) return ">= " + std::to_string(least);
    return std::to_string(least) + ".." + std::to_string(largest);
  }
  template <typename T>
  void read(T& value, const std::string& text, bool quoted) const {
    if (quoted) throw ConfigError("must be an integer, but is the text '" + text + "' in quotes");
    const std::string digits = text.starts_with('-') ? text.substr(1) : text;
    const bool plain = !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
    if (!plain || (digits.size() > 1 && digits.front() == '0')) {
      throw ConfigError("must be an integer in plain digits, but is '" + text + "'");
    }
    T parsed{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), parsed);
    const bool fits = result.ec == std::errc() && result.ptr == text.data() + text.size();
    if (!fits || std::cmp_less(parsed, least) || std::cmp_greater(parsed, upper<T>())) {
      throw ConfigError("must be " + in_range<T>() + ", but is " + text);
    }
    value = parsed;
  }
  template <typename T>
  std::string write(T value) const {
    return std::to_string(value);
  }

 private:
  // kAnyInteger is the largest value of the field's own type.
  template <typename T>
  T upper() const {
    return largest == kAnyInteger ? std::numeric_limits<T>::max() : static_cast<T>(largest);
  }
  template <typename T>
  std::string in_range() const {
    return "in " + std::to_string(least) + ".." + std::to_string(upper<T>());
  }
};

struct Number {
  double least;
  double largest = kAnyNumber;
  bool without_least = false;  // the range is open below

  static std::string text_of(double value) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), result.ptr};
  }
  std::string type() const { return "number"; }
  std::string range() const {
    std::string below = least == -kAnyNumber ? "" : (without_least ? "> " : ">= ") + text_of(least);
    if (largest == kAnyNumber) return below;
    return below + (below.empty() ? "" : ", ") + "<= " + text_of(largest);
  }
  void read(double& value, const std::string& text, bool quoted) const {
    if (quoted) throw ConfigError("must be a number, but is the text '" + text + "' in quotes");
    double parsed = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
        !std::isfinite(parsed)) {
      throw ConfigError("must be a finite number, but is '" + text + "'");
    }
    if (parsed < least || parsed > largest || (without_least && parsed == least)) {
      throw ConfigError("must be " + range() + ", but is " + text);
    }
    value = parsed;
  }
  std::string write(double value) const { return text_of(value); }
};

std::string in_quotes(const std::string& text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

struct Text {
  std::string type() const { return "text"; }
  std::string range() const { return ""; }
  void read(std::string& value, const std::string& text, bool) const { value = text; }
  std::string write(const std::string& value) const { return in_quotes(value); }
};

// Several texts, separated by commas; each as `item` says.
template <typename Item>
struct List {
  Item item;

  std::string type() const { return item.type(); }
  std::string range() const { return item.range(); }
  void read(std::vector<std::string>& value, const std::string& text, bool quoted) const {
    std::vector<std::string> items;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      std::string_view part = std::string_view(text).substr(begin, end - begin);
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      if (part.empty()) throw ConfigError("has an empty place between commas in '" + text + "'");
      item.read(items.emplace_back(), std::string(part), quoted);
      begin = end + 1;
    }
    value = std::move(items);
  }
  std::string write(const std::vector<std::string>& value) const {
    std::string text;
    for (const std::string& part : value) text += (text.empty() ? "" : ",") + part;
    return in_quotes(text);
  }
};

// A number for each of several names: "matmul=0.1,add=0.3". Names hold neither comma nor '='.
struct NumberByName {
  Number number;

  std::string type() const { return "name=number, separated by commas"; }
  std::string range() const { return ""; }
  void read(std::map<std::string, double>& value, const std::string& text, bool) const {
    std::vector<std::string> items;
    List<Text>{}.read(items, text, false);
    std::map<std::string, double> numbers;
    for (const std::string& item : items) {
      const std::size_t equals = item.find('=');
      if (equals == 0 || equals == std::string::npos) {
        throw ConfigError("must be a list like matmul=0.1,add=0.3, but has '" + item + "'");
      }
      const std::string name = item.substr(0, equals);
      if (numbers.contains(name)) throw ConfigError("names '" + name + "' twice");
      number.read(numbers[name], item.substr(equals + 1), false);
    }
    value = std::move(numbers);
  }
  std::string write(const std::map<std::string, double>& value) const {
    std::string text;
    for (const auto& [name, one] : value) {
      text += (text.empty() ? "" : ",") + name + "=" + number.write(one);
    }
    return in_quotes(text);
  }
};

// One of a list of names: an enumeration in the order of its enumerators, or text.
struct Choice {
  std::vector<std::string> names;

  std::string type() const { return "one of"; }
  std::string range() const {
    std::string list;
    for (const std::string& name : names) {
      if (!list.empty()) list += " | ";
      list += name.empty() ? "\"\"" : name;
    }
    return list;
  }
  template <typename T>
  void read(T& value, const std::string& text, bool) const {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      throw ConfigError("must be one of " + range() + ", but is '" + text + "'");
    }
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(found - names.begin());
    } else {
      value = text;
    }
  }
  template <typename T>
  std::string write(const T& value) const {
    if constexpr (std::is_enum_v<T>) {
      return names[static_cast<std::size_t>(value)];
    } else {
      return in_quotes(value);
    }
  }
};

// `field` maps a Config& to a reference to the field, and a const Config& to a const one.
template <typename Field, typename Kind>
ConfigKey make_key(const std::string& key, Field field, Kind kind, const std::string& unit,
                   const std::string& effect) {
  return {.key = key,
          .type = kind.type(),
          .range = kind.range(),
          .unit = unit,
          .effect = effect,
          .read = [field, kind](Config& config, const std::string& text,
                                bool quoted) { kind.read(field(config), text, quoted); },
          .write = [field, kind](const Config& config) { return kind.write(field(config)); }};
}

// The key is the field's path in Config, by construction.
#define DP_KEY(path, ...) \
  make_key(               \
      #path, [](auto& config) -> auto& { return config.path; }, __VA_ARGS__)

std::vector<std::string> workload_choices() {
  std::vector<std::string> names;
  for (const WorkloadInfo& workload : workloads()) names.emplace_back(workload.name);
  return names;
}

// clang-format off
// One line a key is worth a long function: NOLINTNEXTLINE(readability-function-size)
std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys = {
    DP_KEY(run.name, Text{}, "", "folder of the run below runs/"),
    DP_KEY(run.seed, Integer{0}, "", "the seed of everything random; with budgets in episodes a run is a function of it"),
    DP_KEY(run.budget_seconds, Number{0}, "seconds", "length of the whole run, stages by their shares; 0: stages by their episodes"),
    DP_KEY(run.workers, Integer{0, 4096}, "processes", "worker processes per host; 0: one per core"),

    DP_KEY(graph.path, List{Text{}}, "", "graph file, relative to the working folder; several, separated by commas, are trained on together; or give graph.generate"),
    DP_KEY(graph.generate, List{Choice{workload_choices()}}, "", "workload to generate, or several, separated by commas; or give graph.path"),

    DP_KEY(simulation.mode, Choice{{"reference", "physical"}}, "", "cost model; reference: the paper's published simulator; physical: FLOPs and bytes on a topology"),
    DP_KEY(simulation.devices, Integer{1, 4096}, "devices", "how many devices there are to place on; in physical mode the topology says"),
    DP_KEY(simulation.topology, Text{}, "", "topology file of the physical mode, relative to the working folder"),
    DP_KEY(simulation.contention, Choice{{"none", "serial", "fair"}}, "", "physical mode: what transfers do to each other"),
    DP_KEY(simulation.dispatch, Choice{{"fifo", "priority", "random"}}, "", "physical mode: which ready operation an idle device takes; priority: in SEL's order"),
    DP_KEY(simulation.memory, Choice{{"report", "enforce"}}, "", "physical mode: whether an assignment over a device's memory costs more"),
    DP_KEY(simulation.operation_noise, Number{0, 10}, "", "physical mode: coefficient of variation of the operations' durations"),
    DP_KEY(simulation.kind_noise, NumberByName{{0, 10}}, "", "the same for kinds of operation that differ, as matmul=0.05,reduce=0.3"),
    DP_KEY(simulation.transfer_noise, Number{0, 10}, "", "physical mode: coefficient of variation of the transfers' durations"),

    DP_KEY(model.hidden_width, Integer{1, 4096}, "", "width of the encoder"),
    DP_KEY(model.message_rounds, Integer{0, 64}, "", "rounds of message passing of the encoder"),
    DP_KEY(model.aggregate_rank, Integer{8, 1024}, "", "width of PLC's sums over the operations already on a device; a multiple of 8"),
    DP_KEY(model.place_hidden, Integer{8, 1024}, "", "width of PLC's hidden layer; a multiple of 8"),
    DP_KEY(model.identity_features, Flag{}, "", "feed block coordinates and ranks within symmetry classes; without them shards look alike"),
    DP_KEY(model.operation_table, Flag{}, "", "learn a term per operation of the trained graph, left out on other graphs"),
    DP_KEY(model.device_table, Flag{}, "", "and one per operation and device, for machines whose devices or links are not equal"),
    DP_KEY(model.select, Choice{{"learned", "critical-path", "joint", "topological"}}, "", "who picks the next operation (SEL); joint: one softmax over all pairs of operation and device; topological: a fixed order"),
    DP_KEY(model.place, Choice{{"learned", "earliest-start", "one-pass", "pooled"}}, "", "who picks its device (PLC); one-pass: learned, but all placements at once from the graph alone, as GDP does; pooled: learned, from encodings pooled over ancestors, descendants and the rest, as Placeto does"),
    DP_KEY(model.encode, Choice{{"per-episode", "per-step"}}, "", "when messages are passed: once per graph and weight version, or again at each step, with the placements so far among the features (slow; for comparisons)"),
    DP_KEY(model.epsilon, Number{0, 1}, "", "chance of a uniformly random action while training"),
    DP_KEY(model.initial_checkpoint, Text{}, "", "checkpoint whose weights the run begins with (fine-tuning), of a run with the same model"),

    DP_KEY(stages.teacher, Choice{{"critical-path", "heft", "etf", "peft", "enum-opt", "local-search", "best"}}, "", "whom the imitation stage imitates: a baseline, or the best of them"),
  };
  const auto add_stage = [&keys](const std::string& section, auto stage) {
    const auto add = [&](const std::string& name, auto field, auto kind, const std::string& unit, const std::string& effect) {
      keys.push_back(make_key(section + "." + name,
                              [stage, field](auto& config) -> auto& { return stage(config).*field; }, kind, unit, effect));
    };
    add("enabled", &StageConfig::enabled, Flag{}, "", "whether the stage takes place");
    add("episodes", &StageConfig::episodes, Integer{0}, "episodes", "budget where run.budget_seconds is 0");
    add("share_of_seconds", &StageConfig::share_of_seconds, Number{0, 1}, "", "of run.budget_seconds, against those of the other enabled stages");
    add("learning_rate_start", &StageConfig::learning_rate_start, Number{0, 10}, "", "learning rate at the start of the stage");
    add("learning_rate_end", &StageConfig::learning_rate_end, Number{0, 10}, "", "learning rate at its end");
    add("entropy_start", &StageConfig::entropy_start, Number{0, 100}, "", "weight of the entropy bonus at the start: more explores longer");
    add("entropy_end", &StageConfig::entropy_end, Number{0, 100}, "", "weight of the entropy bonus at the end");
    add("self_imitation_start", &StageConfig::self_imitation_start, Number{0, 100}, "", "weight of imitating the best placement found so far, at the start: too much too early freezes the policy");
    add("self_imitation_end", &StageConfig::self_imitation_end, Number{0, 100}, "", "the same at the end");
    add("transfer_weight_start", &StageConfig::transfer_weight_start, Number{0, 100}, "", "what a second of transfers, spread over the devices, weighs against a second of makespan, at the start; the best placement is that of the least makespan all the same");
    add("transfer_weight_end", &StageConfig::transfer_weight_end, Number{0, 100}, "", "the same at the end");
  };
  add_stage("stages.imitation", [](auto& config) -> auto& { return config.stages.imitation; });
  add_stage("stages.simulation", [](auto& config) -> auto& { return config.stages.simulation; });
  add_stage("stages.real", [](auto& config) -> auto& { return config.stages.real; });
  const std::vector<ConfigKey> rest = {
    DP_KEY(execution.backend, Choice{{"cpu", "emulated", "cuda"}}, "", "what runs the placements: cores of the host as devices; threads that take the simulated time; GPUs"),
    DP_KEY(execution.warmup, Integer{0, 1000}, "runs", "of each placement before it is measured"),
    DP_KEY(execution.repeats, Integer{1, 1000}, "runs", "of each placement; their median, without outliers, is its cost"),
    DP_KEY(execution.paired, Flag{}, "", "run a control placement before every measured run and take the ratio: twice the runs, and less noise where others use the machine"),
    DP_KEY(execution.timeout_seconds, Number{0, 86400, true}, "seconds", "that one run may take; one that takes longer costs twice as much"),
    DP_KEY(execution.workers_per_host, Integer{1, 4096}, "workers", "that measure at the same time; more than one disturb each other unless each has devices of its own"),
    DP_KEY(execution.candidates, Integer{0, 100}, "placements", "that the real stage measures before its own, of each graph: the policies' best and greedy ones in simulation, then the best baselines"),
    DP_KEY(execution.final_repeats, Integer{0, 10000}, "runs", "of each placement in the comparison at the end, in turn; 0: no comparison"),

    DP_KEY(refinement.seconds, Number{0}, "seconds", "of local search from the policy's best, after the last stage, for all graphs together; part of run.budget_seconds"),
    DP_KEY(refinement.evaluations, Integer{0}, "simulations", "the same by number, for each graph: a function of the seed; where refinement.seconds is 0"),

    DP_KEY(learner.mode, Choice{{"synchronous", "asynchronous"}}, "", "synchronous: weights are a function of config and seed, whatever the number of workers; asynchronous: workers use the newest weights and nobody waits for the slowest"),
    DP_KEY(learner.batch_episodes, Integer{1, 1048576}, "episodes", "per update; a multiple of learner.group_episodes"),
    DP_KEY(learner.group_episodes, Integer{1, 65536}, "episodes", "per ticket: played by one worker, one after the other"),
    DP_KEY(learner.pipeline_depth, Integer{0, 64}, "batches", "synchronous mode: batch k is played with version k - 1 - depth: more keeps workers busier with older weights"),
    DP_KEY(learner.max_staleness, Integer{0, 1000}, "versions", "asynchronous mode: how far the weights that played a trajectory may lie behind those that it trains; no more tickets are out than that allows, older results are dropped and counted"),
    DP_KEY(learner.gradients, Choice{{"learner", "workers"}}, "", "who computes the gradient of the heads; learner: it replays every trajectory, advantages are normalised over the batch; workers: each brings its ticket's with its results, advantages are normalised within learner.group_episodes and no ratio corrects for pipeline_depth; synchronous mode, one epoch"),
    DP_KEY(learner.threads, Integer{1, 1024}, "threads", "that compute gradients over the trajectories of a batch; the weights do not depend on it"),
    DP_KEY(learner.epochs, Integer{1, 1000}, "", "gradient steps per batch: more learn more of each episode, where episodes are dear; wants a clip_ratio"),
    DP_KEY(learner.clip_ratio, Number{0, 10}, "", "how far the importance ratio of a decision may leave 1; 0: no ratio, plain REINFORCE"),
    DP_KEY(learner.gradient_norm_limit, Number{0, kAnyNumber, true}, "", "a longer gradient is scaled down to this length"),
    DP_KEY(learner.encoder_learning_rate_factor, Number{0, 1000}, "", "learning rate of the encoder against that of the per-operation table"),
    DP_KEY(learner.evaluate_every_updates, Integer{0}, "updates", "how often the greedy policy is evaluated; 0: only at the end"),

    DP_KEY(checkpoint.every_updates, Integer{0}, "updates", "between checkpoints; 0: by time alone"),
    DP_KEY(checkpoint.every_seconds, Number{0}, "seconds", "between checkpoints; 0: by updates alone"),
    DP_KEY(checkpoint.keep, Integer{1, 10000}, "checkpoints", "newest ones kept, beside the best"),

    DP_KEY(archive.enabled, Flag{}, "", "write every episode's outcome to trajectories/"),
    DP_KEY(archive.decisions_per_second, Number{-1, 1e9}, "trajectories", "complete ones at most this often, improvements always; below 0: all"),
    DP_KEY(archive.segment_rows, Integer{1}, "episodes", "in one archive file before the next begins"),

    DP_KEY(network.join, Choice{{"machine", "network"}}, "", "from where `doppler actor --join` may take part: the learner's machine, or any that sees the run's folder; network listens on a tcp port, open to holders of the run's keys alone"),
    DP_KEY(network.weights_by, Choice{{"sends", "broadcast"}}, "", "how weight versions reach the hosts of other ranks; sends: each host takes them at its own pace; broadcast: MPI_Ibcast, one at a time, which a host that stands still holds up for all; such hosts are named"),
    DP_KEY(network.transport, Choice{{"auto", "ipc", "tcp"}}, "", "between workers and learner; auto: ipc on the learner's machine, tcp elsewhere"),
  };
  keys.insert(keys.end(), rest.begin(), rest.end());
  return keys;
}
// clang-format on

#undef DP_KEY

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

std::string section_effect(const std::string& section) {
  static const std::map<std::string, std::string> effects = {
      {"run", "The run as a whole."},
      {"graph", "What is placed; exactly one of both keys."},
      {"refinement", "Local search from what the policy has found."},
      {"simulation", "What an assignment costs."},
      {"model",
       "The policy: an encoder and the heads SEL (which operation next) and PLC (which device)."},
      {"stages", "What is learned from, stage after stage."},
      {"stages.imitation", "Stage I: cross-entropy to a teacher."},
      {"stages.simulation", "Stage II: policy gradient on the simulator."},
      {"stages.real", "Stage III: policy gradient on measured runs, from the weights of stage II."},
      {"execution", "What stage III measures on, and how."},
      {"learner", "How trajectories become weights."},
      {"checkpoint", "What a resumed run starts from."},
      {"archive", "The record of all episodes, in HDF5."},
      {"network", "Between learner and workers."},
  };
  const auto found = effects.find(section);
  return found == effects.end() ? "" : found->second;
}

}  // namespace doppler
