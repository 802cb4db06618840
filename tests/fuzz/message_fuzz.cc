// Every decoder of bytes that come from a network or from shared memory. None may throw, whatever
// it gets; what it accepts must be encoded to the same bytes again.
#include <cstdlib>
#include <span>

#include "common/host_setup.h"
#include "common/message.h"
#include "common/weight_snapshot.h"
#include "common/workload_chain_mm.h"
#include "tests/fuzz/fuzz_target.h"

namespace doppler::fuzz {
namespace {

std::string text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result sample_result() {
  Result result;
  result.ticket = 4;
  Trajectory& trajectory = result.trajectories.emplace_back();
  trajectory.operations = {OperationId(0), OperationId(1)};
  trajectory.devices = {DeviceId(1), DeviceId(0)};
  trajectory.select_log_probabilities = {-0.5F, 0.0F};
  trajectory.place_log_probabilities = {-1.5F, -0.25F};
  return result;
}

Result sample_group() {
  Result result = sample_result();
  GroupGradient& gradient = result.gradient.emplace();
  gradient.sum.tables.select_scores = {0.5F, -0.5F};
  gradient.sum.tables.place_rows.assign(2, 0.25F);
  gradient.sum.weights.feature_to_hidden.assign(3, 1.0F);
  gradient.sum.weights.hidden_to_score = {2.0F};
  gradient.statistics.loss = -3;
  return result;
}

WeightSnapshot sample_snapshot() {
  WeightSnapshot snapshot;
  snapshot.shape = {.aggregate_rank = 8, .place_hidden = 8};
  snapshot.weights.feature_to_hidden.assign(kPlaceFeatureCount * 8, 0.5F);
  snapshot.weights.hidden_to_score.assign(8, -0.5F);
  HeadTables& tables = snapshot.tables.emplace_back();
  tables.select_scores.assign(2, 0.25F);
  tables.place_rows.assign(2 * snapshot.shape.row_width(), 0.125F);
  return snapshot;
}

// True when it was decoded. A flag may hold any value but 0 for true, so that the second encoding,
// not the first, is what must come back.
template <typename Decode>
bool check(std::span<const std::byte> bytes, Decode decode) {
  const auto message = decode(bytes);
  if (!message) return false;
  const std::vector<std::byte> again = encode(*message);
  const auto decoded = decode(again);
  if (!decoded || encode(*decoded) != again) std::abort();
  return true;
}

std::string kind_of(std::span<const std::byte> bytes) {
  if (check(bytes, decode_hello)) return "hello";
  if (check(bytes, decode_welcome)) return "welcome";
  if (check(bytes, decode_refusal)) return "refusal";
  if (check(bytes, decode_credit)) return "credit";
  if (check(bytes, decode_ticket)) return "ticket";
  if (check(bytes, decode_result)) return "result";
  if (check(bytes, decode_join)) return "join";
  if (check(bytes, decode_joined)) return "joined";
  if (check(bytes, decode_weights_wanted)) return "weights wanted";
  if (decode_weights_message(bytes)) return "weights";
  if (check(bytes, decode_host_setup)) return "host setup";
  if (check(bytes, decode_weight_snapshot)) return "snapshot";
  if (decode_host_weights(bytes)) return "host weights";
  return "";
}

}  // namespace

std::vector<std::string> seeds() {
  Welcome welcome;
  welcome.graphs.push_back(generate_chain_mm({}));
  const std::vector<std::byte> payload(16, std::byte{7});
  Ticket gradient_ticket;
  gradient_ticket.gradient = {.entropy_weight = 0.5F};
  Ticket measuring_ticket;
  measuring_ticket.purpose = TicketPurpose::kMeasure;
  measuring_ticket.placement = {"heft", {{OperationId(0)}, Assignment(1, DeviceId(1))}};
  HostSetup setup;
  setup.local_endpoint = "ipc://@x";
  return {text(encode(Hello{})),
          text(encode(welcome)),
          text(encode(Refusal{"no"})),
          text(encode(Credit{2})),
          text(encode(Ticket{})),
          text(encode(gradient_ticket)),
          text(encode(measuring_ticket)),
          text(encode(sample_result())),
          text(encode(sample_group())),
          text(encode(Join{})),
          text(encode(Joined{})),
          text(encode(WeightsWanted{3})),
          text(encode_weights_message(5, payload)),
          text(encode(setup)),
          text(encode(sample_snapshot())),
          text(encode_host_weights(5, payload))};
}

}  // namespace doppler::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string kind = doppler::fuzz::kind_of({reinterpret_cast<const std::byte*>(data), size});
  doppler::fuzz::last_outcome() = kind.empty() ? "refused" : "read";
  return 0;
}
