// What workers and the learner tell each other over ZeroMQ. Plain structs with a fixed
// little-endian encoding; every decoder takes any bytes and returns nullopt for what encode() did
// not write, without throwing.
//
//   worker  -> learner   Hello     who I am, which protocol I speak
//   learner -> worker    Welcome   the job: graphs and settings           (or Refusal: why not)
//   worker  -> learner   Credit    I hold no ticket, and take so many
//   learner -> worker    Ticket    play these episodes with that version
//   worker  -> learner   Result    the trajectories of a ticket
//   learner -> worker    Goodbye   no more work; exit
//   worker  -> learner   Leave     I exit; what I still hold is for others
//
// And what hosts that join a run while it goes on tell the learner, which has no MPI to them:
//
//   host    -> learner   Join            who I am
//   learner -> host      Joined          your number, and room for weights  (or Refusal: why not)
//   host    -> learner   WeightsWanted   what I have; once a second at least, as a sign of life
//   learner -> host      WeightsMessage  a newer version, at once or when there is one
//   learner -> host      NothingNewer    for now
//   learner -> host      Goodbye         the run ends
//   host    -> learner   Leave           I exit
#ifndef DOPPLER_COMMON_MESSAGE_H_
#define DOPPLER_COMMON_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/graph.h"
#include "common/group_gradient.h"
#include "common/plan.h"
#include "common/stage.h"
#include "common/trajectory.h"

namespace doppler {

inline constexpr std::uint32_t kProtocolVersion = 10;

enum class MessageKind : std::uint8_t {
  kHello = 1,
  kWelcome = 2,
  kRefusal = 3,
  kCredit = 4,
  kTicket = 5,
  kResult = 6,
  kGoodbye = 7,
  kLeave = 8,
  kJoin = 9,
  kJoined = 10,
  kWeightsWanted = 11,
  kWeights = 12,
  kNothingNewer = 13,
};

struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::uint32_t host = 0;         // MPI rank, or the number of a host that joined
  std::uint32_t worker = 0;       // on that host
  std::uint32_t incarnation = 0;  // how often the host has restarted it
  std::uint64_t run_token = 0;    // of the run that it was started for
  std::string machine;            // for people
  bool operator==(const Hello&) const = default;
};

// Everything that a worker needs to know about a run.
struct Welcome {
  std::uint32_t worker_number = 0;  // unique in the run; goes into its trajectories
  std::uint64_t run_seed = 0;
  SimulationConfig simulation;
  std::string topology;  // the topology file's text; empty in reference mode
  Teacher teacher = Teacher::kCriticalPath;
  SelectPolicy select = SelectPolicy::kLearned;
  PlacePolicy place = PlacePolicy::kLearned;
  bool executes = false;  // there is a real stage, which `execution` tells about
  ExecutionConfig execution;
  std::vector<Graph> graphs;
  std::vector<Plan> teacher_plans;  // [graphs], or none where the teacher is a policy
};

struct Refusal {
  std::string reason;
};

// Said at first, and again by one that has had nothing to do for some seconds: what the learner
// believes it to hold was lost with a connection.
struct Credit {
  std::uint32_t tickets = 0;
};

enum class TicketPurpose : std::uint8_t {
  kTrain = 0,
  kEvaluate = 1,  // what the policy can do
  kMeasure = 2,   // what a given placement takes
};

// An order for `count` episodes of one graph with one weight version. What it yields is a function
// of the ticket, the version and the run alone, whoever plays it.
struct Ticket {
  std::uint64_t id = 0;
  std::uint32_t attempt = 0;  // how often it was issued before
  std::uint64_t batch = 0;    // the update that will train on it
  TicketPurpose purpose = TicketPurpose::kTrain;
  Stage stage = Stage::kSimulation;
  std::uint32_t graph = 0;
  std::uint64_t weight_version = 0;
  bool newest = false;  // asynchronous mode: with the newest version at hand, which is no older
  std::uint32_t lineage = 0;
  std::uint64_t first_episode = 0;
  std::uint32_t count = 0;
  bool greedy = false;
  double epsilon = 0;
  std::optional<GradientOrder> gradient;  // the result is to bring its gradient
  std::optional<NamedPlan> placement;     // kMeasure: what every episode does
  bool operator==(const Ticket&) const = default;
};

struct Result {
  std::uint64_t ticket = 0;
  std::uint32_t attempt = 0;
  std::vector<Trajectory> trajectories;   // [count], by episode
  std::optional<GroupGradient> gradient;  // where the ticket asked for it
  bool operator==(const Result&) const = default;
};

struct Goodbye {};
struct Leave {};

struct Join {
  std::uint32_t protocol = kProtocolVersion;
  std::uint64_t run_token = 0;
  std::string machine;
  std::uint32_t workers = 0;
  bool operator==(const Join&) const = default;
};

struct Joined {
  std::uint32_t host = 0;  // number in the run
  std::uint64_t slot_count = 0;
  std::uint64_t slot_capacity_bytes = 0;
  bool executes = false;  // the run has a real stage
  bool operator==(const Joined&) const = default;
};

struct WeightsWanted {
  std::optional<std::uint64_t> have;
  bool operator==(const WeightsWanted&) const = default;
};

struct NothingNewer {};

// The first byte of a message; nullopt for none or an unknown one.
std::optional<MessageKind> message_kind(std::span<const std::byte> bytes);

std::vector<std::byte> encode(const Hello& message);
std::vector<std::byte> encode(const Welcome& message);
std::vector<std::byte> encode(const Refusal& message);
std::vector<std::byte> encode(const Credit& message);
std::vector<std::byte> encode(const Ticket& message);
std::vector<std::byte> encode(const Result& message);
std::vector<std::byte> encode(const Goodbye& message);
std::vector<std::byte> encode(const Leave& message);
std::vector<std::byte> encode(const Join& message);
std::vector<std::byte> encode(const Joined& message);
std::vector<std::byte> encode(const WeightsWanted& message);
std::vector<std::byte> encode(const NothingNewer& message);
// A weight version on its way: `snapshot` is an encoded WeightSnapshot.
std::vector<std::byte> encode_weights_message(std::uint64_t version,
                                              std::span<const std::byte> snapshot);

std::optional<Hello> decode_hello(std::span<const std::byte> bytes);
std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes);
std::optional<Refusal> decode_refusal(std::span<const std::byte> bytes);
std::optional<Credit> decode_credit(std::span<const std::byte> bytes);
std::optional<Ticket> decode_ticket(std::span<const std::byte> bytes);
std::optional<Result> decode_result(std::span<const std::byte> bytes);
std::optional<Join> decode_join(std::span<const std::byte> bytes);
std::optional<Joined> decode_joined(std::span<const std::byte> bytes);
std::optional<WeightsWanted> decode_weights_wanted(std::span<const std::byte> bytes);
struct WeightsMessage {
  std::uint64_t version = 0;
  std::span<const std::byte> snapshot;  // within the message
};
std::optional<WeightsMessage> decode_weights_message(std::span<const std::byte> bytes);

// Episode seeds: whoever knows the run's seed can replay any episode.
std::uint64_t episode_seed(std::uint64_t run_seed, std::uint64_t episode);

}  // namespace doppler

#endif  // DOPPLER_COMMON_MESSAGE_H_
