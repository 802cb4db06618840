// Terms per operation and device: what is learned with them, and where they are left behind.
#include <cmath>

#include <gtest/gtest.h>

#include "common/heads.h"
#include "learner/graph_encoding.h"
#include "tests/unit/learner/trainer_fixture.h"

namespace doppler {
namespace {

class DeviceTableTest : public test::TrainerTest {
 protected:
  DeviceTableTest() { model_.device_table = true; }

  // The probability that the first operation goes to each device, in a machine of equal ones.
  std::vector<float> first_choice(const WeightSnapshot& snapshot) const {
    Episode episode(*costs_);
    episode.select(episode.candidates().front());
    PlaceHead head(snapshot.shape, 3);
    head.reset(snapshot.tables[0], snapshot.weights);
    std::vector<float> scores(3);
    head.score(episode.selected(), episode.features(), episode.used_features(), scores);
    std::vector<float> probabilities(3);
    softmax(scores, probabilities);
    return probabilities;
  }
  // After a demonstration of everything on the last device.
  WeightSnapshot shown_the_last_device(Trainer& trainer) {
    std::vector<Trajectory> trajectories = batch(trainer, 0, 8);
    Trajectory demonstration = trajectories[0];
    demonstration.devices.assign(demonstration.devices.size(), DeviceId(2));
    for (Trajectory& t : trajectories) t.makespan = SimTime(1000);  // which teach nothing
    UpdateSettings settings = kSettings;
    settings.entropy_weight = 0;
    settings.self_imitation_weight = 1;
    std::vector<bool> invalid;
    for (int i = 0; i < 80; ++i) trainer.update(trajectories, {demonstration}, settings, invalid);
    return trainer.snapshot(0, 0);
  }

  ModelConfig model_;
};

// While nothing is placed, equal devices look the same: no other parameter can prefer one.
TEST_F(DeviceTableTest, TellsEqualDevicesApart) {
  auto plain = make();
  for (float p : first_choice(shown_the_last_device(*plain))) EXPECT_NEAR(p, 1.0 / 3, 1e-6);
  auto trainer = make(model_);
  for (float p : first_choice(trainer->snapshot(0, 0))) EXPECT_NEAR(p, 1.0 / 3, 1e-6);
  EXPECT_GT(first_choice(shown_the_last_device(*trainer))[2], 0.4F);
}

TEST_F(DeviceTableTest, EncodingATrainedGraphEqualsTheSnapshot) {
  auto trainer = make(model_);
  step(*trainer, 0);
  EXPECT_EQ(encode_graph(model_, trainer->parameters(), {costs_.get(), &levels_}, 0),
            trainer->snapshot(0, 0));
}

// The same graph on 5 devices, and another graph.
TEST_F(DeviceTableTest, EncodesForMachinesItWasNotTrainedOn) {
  auto trainer = make(model_);
  step(*trainer, 0);
  const CostTable more = CostTable::reference(*graph_, 5);
  const Levels levels = compute_levels(more);
  for (std::int64_t table : {0, -1}) {
    const WeightSnapshot snapshot =
        encode_graph(model_, trainer->parameters(), {&more, &levels}, table);
    const HeadShape& shape = snapshot.shape;
    ASSERT_EQ(shape.device_terms, 5U);
    const std::vector<float>& rows = snapshot.tables[0].place_rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % shape.row_width() < shape.device_terms_at()) continue;
      EXPECT_EQ(rows[i], 0.0F) << i;
    }
    EXPECT_EQ(test::sample_episode(more, snapshot, 1).operations.size(), 24U);
  }
}

TEST_F(DeviceTableTest, FineTuningOnMoreDevicesAdoptsTheRest) {
  auto taught = make(model_);
  step(*taught, 0);
  Checkpoint checkpoint;
  checkpoint.parameters = taught->parameters();
  checkpoint.graphs.resize(1);
  checkpoint.graphs[0].content_hash = graph_->content_hash();
  const CostTable more = CostTable::reference(*graph_, 5);
  const Levels levels = compute_levels(more);
  Trainer fresh(model_, {}, Teacher::kCriticalPath, {{&more, &levels}}, 1);
  fresh.adopt(checkpoint);
  const std::vector<NamedTensor> adopted = fresh.parameters();
  ASSERT_EQ(adopted.size(), checkpoint.parameters.size());
  for (std::size_t i = 0; i < adopted.size(); ++i) {
    if (adopted[i].name != "table_device_0") {
      EXPECT_EQ(adopted[i], checkpoint.parameters[i]);
      continue;
    }
    EXPECT_EQ(adopted[i].shape, (std::vector<std::int64_t>{24, 5}));
    for (float value : adopted[i].values) EXPECT_EQ(value, 0.0F);
  }
}

}  // namespace
}  // namespace doppler
