// The cuda backend, where there is a GPU: virtual devices share it where it is the only one.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpuexec/backend_factory.h"
#include "gpuexec/cuda_backend.h"
#include "gpuexec/cuda_probe.h"
#include "gpuexec/graph_runner.h"
#include "gpuexec/reference_results.h"
#include "tests/support/execution_cases.h"
#include "tests/support/random_graph.h"

namespace doppler {
namespace {

constexpr double kTimeout = 60;

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_gpu_count() == 0) GTEST_SKIP() << "there is no GPU that this process may use";
  }
};

// Equal byte for byte to everything on one device, and to the reference as far as single precision
// goes; on 1, 2 and 4 devices, directly and through host memory.
TEST_F(CudaTest, ComputesTheSameWhateverTheAssignment) {
  RandomStream random(7);
  for (const char* name : {"ffnn", "llama-block", "chain-mm"}) {
    const Graph graph = test::small_network(name);
    const auto expected = reference_results(graph);
    for (int devices : {1, 2, 4}) {
      for (bool peer_copies : {true, false}) {
        const Topology topology = test::small_machine(devices, 10);
        const CostTable costs = CostTable::physical(graph, topology);
        GraphRunner runner(costs, topology, {},
                           make_cuda_backend(topology, {.peer_copies = peer_copies}));
        ASSERT_TRUE(runner.load(Assignment(graph.operation_count(), DeviceId(0))).empty());
        ASSERT_TRUE(runner.run({}, kTimeout).has_value());
        const auto alone = runner.results();
        for (std::size_t i = 0; i < alone.size(); ++i) {
          std::vector<float> actual = test::as_floats(alone[i]);
          actual.resize(expected[i].size());
          EXPECT_LT(relative_error(expected[i], actual), 1e-3) << name << ", result " << i;
        }
        for (int i = 0; i < 30; ++i) {
          const Assignment assignment =
              test::random_assignment(graph.operation_count(), devices, random);
          ASSERT_TRUE(runner.load(assignment).empty());
          ASSERT_TRUE(runner.run({}, kTimeout).has_value());
          EXPECT_EQ(runner.results(), alone) << name << " on " << devices << " devices";
          EXPECT_EQ(test::find_disorder(graph, assignment, runner.take_record()), "");
        }
      }
    }
  }
}

TEST_F(CudaTest, TellsWhatDoesNotFitIntoMemory) {
  // 2^50 bytes.
  const Graph graph = test::make_unit_graph({{1, std::int64_t{1} << 50}}, {});
  const Topology topology = test::small_machine(1, 1);
  const CostTable costs = CostTable::physical(graph, topology);
  GraphRunner runner(costs, topology, {}, make_cuda_backend(topology));
  const auto shortages = runner.load(Assignment(1, DeviceId(0)));
  ASSERT_EQ(shortages.size(), 1U);
  EXPECT_GT(shortages[0].available_bytes, 0);
}

// In a process of its own, since CUDA is of no use afterwards.
TEST_F(CudaTest, TellsThatTheContextIsLost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        try {
          poison_cuda_context();
        } catch (const PoisonedError&) {
          std::exit(kPoisonedExitCode);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(kPoisonedExitCode), "");
}

TEST(CudaWithoutGpu, IsTold) {
  if (cuda_gpu_count() > 0) GTEST_SKIP() << "there is a GPU";
  const Topology topology = test::small_machine(1, 1);
  try {
    make_cuda_backend(topology);
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("no GPU that this process may use"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace doppler
