// The heads of both policies, in factorised form (paper, section 4.2; semantics: "Policies").
//
// The encoder runs once per (graph, weight version) in the learner. All that depends on it alone
// arrives here as tables: SEL's score of each operation, and one row per operation for PLC. For
// operation v and device d with features Y[v, d],
//   score(v, d) = w[v].Y[v,d] + a[v].A[d] + u.relu(p[v] + P[d] + Y[v,d] F)  (+ b[v,d])
// where A[d] and P[d] are the sums of the rows a' and p' of the operations already on d. Without b
// nothing has a shape that depends on the number of devices, and scores follow a relabelling of
// equal devices. b is for graphs trained on, on machines whose devices are not equal.
//
// The same code scores in the actor and in the learner's replay. Plain data may be shared between
// threads that only read.
#ifndef DOPPLER_COMMON_HEADS_H_
#define DOPPLER_COMMON_HEADS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/episode.h"
#include "common/ids.h"

namespace doppler {

// Of an encoder that passes messages at each step of an episode (common/step_encoder.h): what it
// reads of the placements so far has a row a device, so it serves that many devices and no others.
struct StepShape {
  std::size_t width = 0;    // a multiple of 8; 0: the encoder ran in the learner, once per graph
  std::size_t rounds = 0;   // of messages
  std::size_t devices = 0;  // that placements so far are told by
  bool pools = false;       // rows are read off means over ancestors, descendants and the rest, too

  bool used() const { return width > 0; }
  // Where its weights lie in HeadWeights::step, each matrix [inputs, outputs] row-major.
  // [devices + 1, width]; the last for what is to be placed now.
  std::size_t placement_at() const { return 0; }
  // [3 width, width], then [width].
  std::size_t round_at(std::size_t round) const {
    return (devices + 1) * width + round * (3 * width + 1) * width;
  }
  // [width] twice: gain, bias.
  std::size_t norm_at() const { return round_at(rounds); }
  // [3 width, width]
  std::size_t select_at() const { return norm_at() + 2 * width; }
  // [width]
  std::size_t score_at() const { return select_at() + 3 * width * width; }
  // [4 width, width]; with pools alone.
  std::size_t pool_at() const { return score_at() + width; }
  // [width, row width]
  std::size_t row_at() const { return pool_at() + (pools ? 4 * width * width : 0); }
  std::size_t weight_count(std::size_t row_width) const {
    return used() ? row_at() + width * row_width : 0;
  }
  bool operator==(const StepShape&) const = default;
};

struct HeadShape {
  std::size_t aggregate_rank = 8;  // width of a and a'; a multiple of 8
  std::size_t place_hidden = 16;   // width of p, p' and u; a multiple of 8
  // > 0: a row is nothing but the scores of that many devices, whatever was placed before.
  std::size_t one_pass_devices = 0;
  std::size_t device_terms = 0;  // > 0: rows end in terms b of that many devices
  StepShape step{};

  // Else a row is [w | a | p | a' | p' | b].
  std::size_t affinity_at() const { return kPlaceFeatureCount; }
  std::size_t hidden_at() const { return affinity_at() + aggregate_rank; }
  std::size_t contribution_at() const { return hidden_at() + place_hidden; }
  std::size_t contribution_width() const { return aggregate_rank + place_hidden; }
  std::size_t device_terms_at() const { return contribution_at() + contribution_width(); }
  std::size_t row_width() const {
    if (one_pass_devices > 0) return (one_pass_devices + 7) / 8 * 8;
    return device_terms_at() + (device_terms + 7) / 8 * 8;
  }
  bool operator==(const HeadShape&) const = default;
};

// Of one graph under one weight version. With message passing at each step, these are the terms
// that the operations' own features give, and the encoder adds the rest.
struct HeadTables {
  std::vector<float> select_scores;  // [operations]
  std::vector<float> place_rows;     // [operations, HeadShape::row_width()] row-major
  // StepShape::used() alone, row-major:
  std::vector<float> step_input{};   // [operations, width]
  std::vector<float> step_select{};  // [operations, width], into SEL's hidden layer
  std::vector<float> step_place{};   // [operations, width], into PLC's; StepShape::pools alone
  bool operator==(const HeadTables&) const = default;
};

// Shared by all graphs.
struct HeadWeights {
  std::vector<float> feature_to_hidden;  // F: [kPlaceFeatureCount, place_hidden] row-major
  std::vector<float> hidden_to_score;    // u: [place_hidden]
  std::vector<float> step{};             // [StepShape::weight_count(row width)]
  bool operator==(const HeadWeights&) const = default;
};

// SEL: a softmax of the select scores over the candidates. Precomputed for one HeadTables.
//
// Weights are exp(score - reference). The reference is the largest score of the graph, so that they
// are computed once; where scores of the graph lie so far apart that some would underflow, it is
// the largest of the candidates.
class SelectHead {
 public:
  struct Sum {
    double reference = 0;
    double total = 0;  // of the candidates' weights; positive
  };

  // Scores must be finite.
  explicit SelectHead(std::span<const float> select_scores);

  Sum sum(std::span<const OperationId> candidates) const;
  // Of a candidate that was summed over.
  double weight(OperationId operation, const Sum& sum) const {
    return is_wide_ ? std::exp(score(operation) - sum.reference) : weights_[operation.index()];
  }
  float log_probability(OperationId operation, const Sum& sum) const;
  // The same with log(sum.total) given, for many operations of one sum.
  float log_probability(OperationId operation, const Sum& sum, double log_total) const {
    return static_cast<float>(score(operation) - sum.reference - log_total);
  }

 private:
  double score(OperationId operation) const {
    return static_cast<double>(scores_[operation.index()]);
  }

  double largest_;
  bool is_wide_;
  std::vector<double> weights_;  // [operations]
  std::span<const float> scores_;
};

// PLC: the state A, P and the scores of one episode.
class PlaceHead {
 public:
  PlaceHead(const HeadShape& shape, std::size_t device_count);

  // Begins an episode with nothing placed. Both must outlive it.
  void reset(const HeadTables& tables, const HeadWeights& weights);
  // features: [devices, kPlaceFeatureCount], 0 from the column `used` on; scores: [devices].
  // `hidden`, where it is not null, gets the arguments of relu, [devices, place_hidden]; nothing in
  // one pass.
  void score(OperationId operation, std::span<const float> features, std::size_t used,
             std::span<float> scores, float* hidden = nullptr) const;
  void add(OperationId operation, DeviceId device);

  // [A | P] of a device: HeadShape::contribution_width() floats.
  std::span<const float> aggregate(std::size_t device) const {
    return {aggregates_.data() + device * shape_.contribution_width(), shape_.contribution_width()};
  }
  std::span<const float> aggregates() const {
    return aggregates_;
  }  // [devices, contribution_width]

 private:
  template <std::size_t kUsed, std::size_t kRank, std::size_t kHidden>
  void score_devices(const float* row, const float* features, std::size_t used,
                     std::span<float> scores, float* hidden) const;

  HeadShape shape_;
  std::size_t device_count_;
  const HeadTables* tables_ = nullptr;
  const HeadWeights* weights_ = nullptr;
  std::vector<float> aggregates_;
};

// A device that the selected operation may not run on gets a score of minus infinity: probability
// 0, and no gradient.
void mask_scores(const Episode& episode, std::span<float> scores);

// probabilities = softmax(scores); returns log(sum(exp(scores))), so that log p = score - result.
float softmax(std::span<const float> scores, std::span<float> probabilities);

}  // namespace doppler

#endif  // DOPPLER_COMMON_HEADS_H_
