// Dense optimizers against optimizers.json (torch's own, float64), and what a checkpoint needs.
#include "worker/dense_optimizer.h"

#include <algorithm>
#include <vector>

#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

TEST(DenseOptimizer, AdagradFollowsTorch) {
  const auto vectors = LoadVectors("optimizers.json").at("dense");
  size_t runs = 0;
  for (const auto& run : vectors.at("runs")) {
    if (run.at("kind") != "Adagrad") continue;
    ++runs;
    std::vector<float> w = Flatten(vectors.at("weight"));
    const auto adagrad =
        DenseOptimizers()
            .Make("adagrad", {.parameters = w.size(), .epsilon = run["args"]["eps"].get<float>()})
            .value();
    for (size_t step = 0; step < vectors.at("grads").size(); ++step) {
      adagrad->Apply(run["args"]["lr"].get<float>(), Flatten(vectors["grads"][step]), w);
      const std::vector<float> want = Flatten(run["after_each_step"][step]);
      for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], want[i], 1e-6) << "step " << step;
    }
  }
  EXPECT_EQ(runs, 1u);
}

TEST(DenseOptimizer, SgdByHand) {
  const auto sgd = DenseOptimizers().Make("sgd", {.parameters = 2}).value();
  std::vector<float> w = {1.0f, -2.0f};
  sgd->Apply(0.5f, std::vector<float>{0.25f, -1.0f}, w);
  EXPECT_EQ(w, (std::vector<float>{0.875f, -1.5f}));
}

class DenseOptimizerContract : public testing::TestWithParam<std::string> {};

TEST_P(DenseOptimizerContract, AZeroGradientChangesNothing) {
  const auto optimizer = DenseOptimizers().Make(GetParam(), {.parameters = 3}).value();
  std::vector<float> w = {1.0f, -2.0f, 0.0f};
  optimizer->Apply(0.1f, std::vector<float>(3, 0.0f), w);
  EXPECT_EQ(w, (std::vector<float>{1.0f, -2.0f, 0.0f}));
}

TEST_P(DenseOptimizerContract, StateSavedAndPutBackGoesOnTheSame) {
  const std::vector<float> g1 = {0.3f, -1.5f, 2.0f}, g2 = {-0.7f, 0.1f, 0.4f};
  std::vector<float> w = {1.0f, -2.0f, 0.5f};
  const auto through = DenseOptimizers().Make(GetParam(), {.parameters = 3}).value();
  through->Apply(0.1f, g1, w);

  std::vector<float> resumed_w = w;
  const std::vector<float> saved(through->state().begin(), through->state().end());
  const auto resumed = DenseOptimizers().Make(GetParam(), {.parameters = 3}).value();
  ASSERT_EQ(resumed->state().size(), saved.size());
  std::copy(saved.begin(), saved.end(), resumed->state().begin());

  through->Apply(0.1f, g2, w);
  resumed->Apply(0.1f, g2, resumed_w);
  EXPECT_EQ(resumed_w, w);
}

INSTANTIATE_TEST_SUITE_P(DenseOptimizers, DenseOptimizerContract,
                         testing::ValuesIn(DenseOptimizers().Names()),
                         [](const auto& test) { return test.param; });

TEST(DenseOptimizers, AnswerToTheNamesOfRowOptimizers) {
  EXPECT_EQ(DenseOptimizers().Names(),
            (std::vector<std::string>{"adagrad", "rowwise_adagrad", "sgd"}));
}

}  // namespace
}  // namespace rowhouse
