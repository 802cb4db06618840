#include "common/message.h"

#include <gtest/gtest.h>

#include "common/byte_stream.h"
#include "common/graph_codec.h"
#include "common/host_setup.h"
#include "common/weight_snapshot.h"
#include "common/workload_chain_mm.h"
#include "tests/support/rollouts.h"
#include "tests/support/tiny_graphs.h"

namespace doppler {
namespace {

Result sample_result() {
  const Graph graph = test::fork_join_graph();
  const CostTable costs = CostTable::reference(graph, 2);
  const WeightSnapshot snapshot =
      test::random_snapshot(graph.operation_count(), {.aggregate_rank = 8, .place_hidden = 8}, 1);
  Result result;
  result.ticket = 12;
  result.attempt = 1;
  for (std::uint64_t i = 0; i < 3; ++i) {
    result.trajectories.push_back(test::sample_episode(costs, snapshot, i));
    result.trajectories.back().episode = 40 + i;
    result.trajectories.back().worker = 7;
  }
  return result;
}

// Every prefix and every flipped byte is survived; a message never equals a shorter one.
template <typename Decode>
void check_survives_damage(const std::vector<std::byte>& bytes, Decode decode) {
  ASSERT_TRUE(decode(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span(bytes).first(size))) << "cut to " << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{0x80};
    (void)decode(damaged);  // may decode to other values; must not crash
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer)) << "a byte too many";
}

TEST(Message, HelloByteForByte) {
  const Hello hello{.protocol = 1,
                    .host = 2,
                    .worker = 3,
                    .incarnation = 4,
                    .run_token = 0x0102030405060708ULL,
                    .machine = "m"};
  // kind, then four uint32 and one uint64, and a text behind its length as uint64, little-endian
  const std::vector<unsigned> expected = {1, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
                                          8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 'm'};
  const std::vector<std::byte> bytes = encode(hello);
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << i;
  }
  EXPECT_EQ(decode_hello(bytes), hello);
}

TEST(Message, TicketRoundTrip) {
  Ticket ticket;
  ticket.id = 5;
  ticket.attempt = 2;
  ticket.batch = 9;
  ticket.purpose = TicketPurpose::kEvaluate;
  ticket.stage = Stage::kImitation;
  ticket.graph = 1;
  ticket.weight_version = 8;
  ticket.newest = true;
  ticket.lineage = 3;
  ticket.first_episode = 1000;
  ticket.count = 8;
  ticket.greedy = true;
  ticket.epsilon = 0.25;
  EXPECT_EQ(decode_ticket(encode(ticket)), ticket);
  ticket.gradient = {.episode_weight = 0.125F,
                     .entropy_weight = 0.5F,
                     .transfer_weight = 2,
                     .clip_ratio = 0.25F,
                     .teacher = Teacher::kEtf};
  EXPECT_EQ(decode_ticket(encode(ticket)), ticket);
  ticket.purpose = TicketPurpose::kMeasure;
  ticket.placement = {"heft", {{OperationId(0), OperationId(1)}, test::make_assignment({2, 0})}};
  EXPECT_EQ(decode_ticket(encode(ticket)), ticket);
  check_survives_damage(encode(ticket),
                        [](std::span<const std::byte> b) { return decode_ticket(b); });
}

TEST(Message, ResultRoundTripAndDamage) {
  const Result result = sample_result();
  const std::vector<std::byte> bytes = encode(result);
  EXPECT_EQ(decode_result(bytes), result);
  check_survives_damage(bytes, [](std::span<const std::byte> b) { return decode_result(b); });
}

TEST(Message, AResultWithAGradientRoundTripsAndSurvivesDamage) {
  Result result = sample_result();
  GroupGradient& gradient = result.gradient.emplace();
  gradient.sum.reset({.aggregate_rank = 8, .place_hidden = 8}, 3);
  gradient.sum.tables.select_scores[1] = 0.5F;
  gradient.sum.tables.place_rows[2] = -0.5F;
  gradient.sum.weights.feature_to_hidden[3] = 2;
  gradient.sum.weights.hidden_to_score[4] = 3;
  gradient.statistics = {.select_log_probability = -1,
                         .place_log_probability = -2,
                         .select_entropy = 3,
                         .place_entropy = 4,
                         .loss = 5,
                         .clipped_decisions = 6,
                         .ratio_sum = 7,
                         .ratio_square_sum = 8,
                         .ratio_count = 9,
                         .largest_log_probability_difference = 0.25F};
  EXPECT_EQ(decode_result(encode(result)), result);
  check_survives_damage(encode(result),
                        [](std::span<const std::byte> b) { return decode_result(b); });
}

TEST(Message, WelcomeCarriesTheGraphsWhole) {
  Welcome welcome;
  welcome.worker_number = 3;
  welcome.run_seed = 77;
  welcome.simulation.devices = 6;
  welcome.simulation.mode = SimulationMode::kPhysical;
  welcome.simulation.dispatch = Dispatch::kPriority;
  welcome.simulation.transfer_noise = 0.25;
  welcome.simulation.kind_noise = {{"matmul", 0.5}, {"add", 0.125}};
  welcome.topology = "name: t";
  welcome.teacher = Teacher::kHeft;
  welcome.graphs.push_back(generate_chain_mm({}));
  welcome.graphs.push_back(test::diamond_graph());
  for (const Graph& graph : welcome.graphs) {
    welcome.teacher_plans.push_back(
        {graph.topological_order(), Assignment(graph.operation_count(), DeviceId(1))});
  }
  const auto decoded = decode_welcome(encode(welcome));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->simulation.devices, 6);
  EXPECT_EQ(decoded->simulation.mode, SimulationMode::kPhysical);
  EXPECT_EQ(decoded->simulation.dispatch, Dispatch::kPriority);
  EXPECT_EQ(decoded->simulation.transfer_noise, 0.25);
  EXPECT_EQ(decoded->simulation.kind_noise, welcome.simulation.kind_noise);
  EXPECT_EQ(decoded->topology, "name: t");
  EXPECT_EQ(decoded->teacher, Teacher::kHeft);
  ASSERT_EQ(decoded->graphs.size(), 2U);
  EXPECT_EQ(decoded->graphs[0].content_hash(), welcome.graphs[0].content_hash());
  EXPECT_EQ(decoded->graphs[0].operations(), welcome.graphs[0].operations());
  EXPECT_EQ(decoded->graphs[1].edges(), welcome.graphs[1].edges());
  EXPECT_EQ(decoded->teacher_plans, welcome.teacher_plans);
  // An operation before its input is no plan.
  std::swap(welcome.teacher_plans[1].order[0], welcome.teacher_plans[1].order[3]);
  EXPECT_FALSE(decode_welcome(encode(welcome)));
}

TEST(Message, SmallWelcomeSurvivesDamage) {
  Welcome welcome;
  welcome.graphs.push_back(test::chain_graph());
  check_survives_damage(encode(welcome),
                        [](std::span<const std::byte> b) { return decode_welcome(b); });
}

TEST(Message, DecodersRefuseOtherKinds) {
  EXPECT_FALSE(decode_hello(encode(Credit{2})));
  EXPECT_FALSE(decode_credit(encode(Goodbye{})));
  EXPECT_FALSE(decode_ticket({}));
  EXPECT_FALSE(message_kind({}));
  const std::vector<std::byte> unknown = {std::byte{99}};
  EXPECT_FALSE(message_kind(unknown));
}

// A count of 2^60 elements must not be believed.
TEST(Message, RefusesAbsurdCounts) {
  ByteWriter writer;
  writer.put(MessageKind::kRefusal);
  writer.put(std::uint64_t{1} << 60);
  EXPECT_FALSE(decode_refusal(writer.bytes()));
}

TEST(Message, RandomBytesNeverCrash) {
  RandomStream random(99);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes(random.next_below(200));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next_bits());
    if (!bytes.empty()) bytes[0] = static_cast<std::byte>(1 + random.next_below(7));
    (void)decode_hello(bytes);
    (void)decode_welcome(bytes);
    (void)decode_refusal(bytes);
    (void)decode_credit(bytes);
    (void)decode_ticket(bytes);
    (void)decode_result(bytes);
    (void)decode_weight_snapshot(bytes);
    (void)decode_host_setup(bytes);
    (void)decode_host_weights(bytes);
  }
}

TEST(WeightSnapshot, RoundTripAndAnyFlippedByteIsFound) {
  const WeightSnapshot snapshot =
      test::random_snapshot(5,
                            {.aggregate_rank = 8,
                             .place_hidden = 8,
                             .step = {.width = 8, .rounds = 1, .devices = 3, .pools = true}},
                            2);
  const std::vector<std::byte> bytes = encode(snapshot);
  EXPECT_EQ(decode_weight_snapshot(bytes), snapshot);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(decode_weight_snapshot(damaged)) << i;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_weight_snapshot(std::span(bytes).first(size)));
  }
}

TEST(Message, WhatJoiningHostsSayRoundTrips) {
  const Join join{.run_token = 7, .machine = "node9", .workers = 3};
  EXPECT_EQ(decode_join(encode(join)), join);
  check_survives_damage(encode(join), [](std::span<const std::byte> b) { return decode_join(b); });
  const Joined joined{.host = 4, .slot_count = 3, .slot_capacity_bytes = 100, .executes = true};
  EXPECT_EQ(decode_joined(encode(joined)), joined);
  EXPECT_EQ(decode_weights_wanted(encode(WeightsWanted{})), WeightsWanted{});
  EXPECT_EQ(decode_weights_wanted(encode(WeightsWanted{5})), WeightsWanted{5});
  EXPECT_FALSE(decode_weights_wanted(encode(Leave{})));
  const std::vector<std::byte> payload = {std::byte{1}, std::byte{2}};
  const std::vector<std::byte> message = encode_weights_message(17, payload);
  const auto decoded = decode_weights_message(message);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->version, 17U);
  EXPECT_EQ(std::vector<std::byte>(decoded->snapshot.begin(), decoded->snapshot.end()), payload);
  EXPECT_FALSE(decode_weights_message(std::span(message).first(message.size() - 1)));
}

TEST(HostSetup, RoundTrips) {
  const HostSetup setup{.learner_machine = "node1",
                        .local_endpoint = "ipc://@x",
                        .network_endpoint = "tcp://127.0.0.1:5",
                        .keys = "key",
                        .run_token = 9,
                        .workers = 2,
                        .slot_count = 3,
                        .slot_capacity_bytes = 4096,
                        .broadcast_bytes = 77};
  EXPECT_EQ(decode_host_setup(encode(setup)), setup);
  const std::vector<std::byte> payload = {std::byte{1}, std::byte{2}};
  const std::vector<std::byte> message = encode_host_weights(17, payload);
  const auto decoded = decode_host_weights(message);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->version, 17U);
  EXPECT_EQ(std::vector<std::byte>(decoded->snapshot.begin(), decoded->snapshot.end()), payload);
}

}  // namespace
}  // namespace doppler
