// StepEncoder: message passing at each step of an episode, over the graph with what has been placed
// so far (Placeto, arXiv 1906.08879, section 3; and an ablation of the policies of this project,
// which pass messages once per episode). Plain C++: workers decide with it, and the learner's
// replay runs it again and then in reverse.
//
//   h0[v] = relu(input[v] + placement[device of v, or "to be placed now"])
//   rounds of  h += relu(W [h | mean over inputs of h | mean over outputs of h]), layer norm -> H
//   SEL:  score[v] = term[v] + u.relu(select[v] + S [H[v] | mean H on the critical path to the exit
//         | the same to the entry])
//   PLC:  row[v] = own row[v] + R H[v]; with pools, in place of H[v],
//         relu(place[v] + P [H[v] | mean H over ancestors | over descendants | over all others])
// input, term, select, own row and place come from the operation's own features (HeadTables).
//
// An encoding is only computed anew where something within reach of messages has changed; what it
// yields is that of passing all messages again, to the last bit. Not thread-safe. Tables, weights,
// graph and levels must outlive it.
#ifndef DOPPLER_COMMON_STEP_ENCODER_H_
#define DOPPLER_COMMON_STEP_ENCODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/graph.h"
#include "common/heads.h"
#include "common/ids.h"
#include "common/levels.h"
#include "common/operation_lists.h"

namespace doppler {

struct HeadGradients;

// Of graphs to pass messages over at each step: time grows with the square, and so does the memory
// of a learner.
inline constexpr std::size_t kMostOperationsPerStep = 4096;

class StepEncoder {
 public:
  // keeps_tape: remembers an episode for backward(); without, only its present state.
  StepEncoder(const HeadShape& shape, const Graph& graph, const Levels& levels, bool keeps_tape);

  // Begins an episode: nothing is placed.
  void reset(const HeadTables& tables, const HeadWeights& weights);
  // Says which operation is to be placed now, where that is no choice of a policy that reads the
  // encoding.
  void mark(OperationId operation);
  // What each operation is placed on; once an operation.
  void place(OperationId operation, DeviceId device);

  // SEL's scores of the operations as things stand.
  void select_scores(std::span<const OperationId> operations, std::span<float> scores);
  // PLC's row of the operation as things stand: HeadShape::row_width() floats.
  void place_row(OperationId operation, std::span<float> row);

  // The gradient of whatever followed from the scores and rows that were asked for since reset().
  // score_gradients: of all scores, in the order in which they were asked for. Of rows, which are
  // asked for once an operation, and of the term in scores, it is what `gradients` holds for them
  // already; all that is behind them is added there. Needs the tape.
  void backward(std::span<const float> score_gradients, HeadGradients& gradients);

 private:
  // One layer of the encoder. Each value that an operation has had since reset() is a version; the
  // tape keeps all of them, else a version's number is its operation's.
  struct Layer {
    std::vector<float> value;             // [versions, width]
    std::vector<float> rectified;         // [versions, width], what this layer added
    std::vector<float> gradient;          // [versions, width], of the value; in reverse alone
    std::vector<std::int32_t> operation;  // [versions]
    // [versions]: at layer 0 the row of the placement, or -1; else where its inputs begin in
    // `inputs`, which are versions of the layer before: its own, its predecessors', its
    // successors'.
    std::vector<std::int64_t> origin;
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> current;  // [operations]
  };
  struct Readout {
    std::int32_t operation = 0;
    std::size_t first_version = 0;  // in readout_versions_
  };

  void refresh();
  void refresh_input(std::int32_t operation);
  void refresh_layer(std::size_t layer, std::int32_t operation);
  void refresh_norm(std::int32_t operation);
  std::size_t new_version(Layer& layer, std::int32_t operation);
  void gather(const Layer& before, std::span<const std::int32_t> versions, std::int32_t operation,
              float* into) const;
  void change(OperationId operation);
  void read_mean(std::span<const std::int32_t> operations, float* into, bool records);
  void scatter_mean(const float* gradient, std::size_t count, std::size_t& at);
  void transpose_weights();
  void backward_scores(std::span<const float> score_gradients, HeadGradients& gradients);
  void backward_rows(HeadGradients& gradients);
  void backward_norm(HeadGradients& gradients);
  void backward_layer(std::size_t layer, HeadGradients& gradients);
  void backward_input(HeadGradients& gradients);

  HeadShape shape_;
  std::size_t width_;
  std::size_t row_width_;
  const Graph* graph_;
  bool keeps_tape_;
  // Operations whose mean is read.
  std::array<OperationLists, 2> select_groups_;  // path to the exit, to the entry
  std::array<OperationLists, 3> place_groups_;   // ancestors, descendants, others; with pools
  const HeadTables* tables_ = nullptr;
  const float* weights_ = nullptr;

  std::vector<Layer> layers_;            // [rounds + 2]; the last is the norm
  std::vector<std::int32_t> placement_;  // [operations], row of the placement or -1
  std::int32_t marked_ = -1;
  std::vector<std::int32_t> changed_;     // operations whose own features changed since refresh()
  std::vector<std::int32_t> reached_;     // scratch: of a layer
  std::vector<std::uint8_t> is_reached_;  // [operations]

  std::vector<Readout> scores_;
  std::vector<Readout> rows_;
  std::vector<std::int32_t> readout_versions_;  // of the norm
  std::vector<float> score_hidden_;             // [scores, width], rectified
  std::vector<float> row_input_;                // [rows, width]: H[v], or rectified of pools
  std::vector<float> transposed_;               // of the weights' matrices; in reverse alone
  // Scratch.
  std::vector<float> joined_;           // [4 width]
  std::vector<float> joined_gradient_;  // [4 width]
  std::vector<float> hidden_;           // [width]
};

}  // namespace doppler

#endif  // DOPPLER_COMMON_STEP_ENCODER_H_
