// Dense optimizers against optimizers.json (torch's own, float64), by hand, and what a checkpoint
// needs.
#include "worker/dense/dense_optimizer.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

std::unique_ptr<DenseOptimizer> Make(const std::string& name,
                                     const DenseOptimizerOptions& options) {
  return DenseOptimizers().Make(name, options).value();
}

TEST(DenseOptimizer, FollowsTorch) {
  const std::map<std::string, std::string> ours = {
      {"Adagrad", "adagrad"}, {"Adam", "adam"}, {"AdamW", "adamw"}, {"SGD_momentum", "momentum"}};
  const auto vectors = LoadVectors("optimizers.json").at("dense");
  std::map<std::string, int> runs;
  for (const auto& run : vectors.at("runs")) {
    const std::string name = ours.at(run.at("kind"));
    const auto& args = run.at("args");
    OptimizerOptions options;
    options.epsilon = args.value("eps", 0.0f);
    options.weight_decay = args.value("weight_decay", 0.0f);
    options.momentum = args.value("momentum", options.momentum);
    if (args.contains("betas")) {
      options.beta1 = args["betas"][0];
      options.beta2 = args["betas"][1];
    }
    std::vector<float> w = Flatten(vectors.at("weight"));
    const auto optimizer = Make(name, {.parameters = w.size(), .options = options});
    for (size_t step = 0; step < vectors.at("grads").size(); ++step) {
      optimizer->Apply(args["lr"].get<float>(), step, Flatten(vectors["grads"][step]), w);
      const std::vector<float> want = Flatten(run["after_each_step"][step]);
      for (size_t i = 0; i < w.size(); ++i) {
        EXPECT_NEAR(w[i], want[i], 1e-6) << name << " step " << step;
      }
    }
    ++runs[name];
  }
  EXPECT_EQ(runs, (std::map<std::string, int>{
                      {"adagrad", 1}, {"adam", 1}, {"adamw", 2}, {"momentum", 1}}));
}

TEST(DenseOptimizer, SgdByHand) {
  const auto sgd = Make("sgd", {.parameters = 2});
  std::vector<float> w = {1.0f, -2.0f};
  sgd->Apply(0.5f, 0, std::vector<float>{0.25f, -1.0f}, w);
  EXPECT_EQ(w, (std::vector<float>{0.875f, -1.5f}));
}

TEST(DenseOptimizer, WeightDecayIsAddedToTheGradientExceptByAdamW) {
  const auto applied = [](const std::string& name) {
    std::vector<float> w = {4.0f};
    const auto optimizer =
        Make(name, {.parameters = 1, .options = {.epsilon = 1.0f, .weight_decay = 0.5f}});
    optimizer->Apply(0.25f, 0, std::vector<float>{1.0f}, w);
    return w[0];
  };
  EXPECT_EQ(applied("sgd"), 4 - 0.25f * 3);  // 1 + 4 / 2
  EXPECT_EQ(applied("momentum"), 4 - 0.25f * 3);
  EXPECT_EQ(applied("adagrad"), 4 - 0.25f * 3 / 4);  // root 3, epsilon 1
  EXPECT_NEAR(applied("adam"), 4 - 0.25 * 3 / 4, 1e-5);
  EXPECT_NEAR(applied("adamw"), 4 * (1 - 0.25 * 0.5) - 0.25 * 1 / 2, 1e-5);
}

TEST(DenseOptimizer, TheRateOfAdagradDecaysWithTheStep) {
  const auto adagrad = Make("adagrad", {.parameters = 1, .options = {.learning_rate_decay = 0.5f}});
  std::vector<float> w = {1.0f};
  adagrad->Apply(0.5f, 6, std::vector<float>{3.0f}, w);
  EXPECT_EQ(w[0], 1 - 0.5f / 4);  // 1 + 6 * .5
}

TEST(DenseOptimizer, TheRateOfTheRunIsMultipliedByTheFactor) {
  std::vector<float> w = {1.0f};
  Make("sgd", {.parameters = 1, .learning_rate_factor = 0.25})
      ->Apply(0.5f, 0, std::vector<float>{1.0f}, w);
  EXPECT_EQ(w[0], 0.875f);
}

class DenseOptimizerContract : public testing::TestWithParam<std::string> {};

TEST_P(DenseOptimizerContract, AZeroGradientChangesNothing) {
  const auto optimizer = Make(GetParam(), {.parameters = 3});
  std::vector<float> w = {1.0f, -2.0f, 0.0f};
  for (uint64_t step = 0; step < 3; ++step) {
    optimizer->Apply(0.1f, step, std::vector<float>(3, 0.0f), w);
  }
  EXPECT_EQ(w, (std::vector<float>{1.0f, -2.0f, 0.0f}));
}

TEST_P(DenseOptimizerContract, StateSavedAndPutBackGoesOnTheSame) {
  const std::vector<float> g1 = {0.3f, -1.5f, 2.0f}, g2 = {-0.7f, 0.1f, 0.4f};
  std::vector<float> w = {1.0f, -2.0f, 0.5f};
  const auto through = Make(GetParam(), {.parameters = 3});
  through->Apply(0.1f, 0, g1, w);

  std::vector<float> resumed_w = w;
  const std::vector<float> saved(through->state().begin(), through->state().end());
  const auto resumed = Make(GetParam(), {.parameters = 3});
  ASSERT_EQ(resumed->state().size(), saved.size());
  std::copy(saved.begin(), saved.end(), resumed->state().begin());

  through->Apply(0.1f, 1, g2, w);
  resumed->Apply(0.1f, 1, g2, resumed_w);
  EXPECT_EQ(resumed_w, w);
}

// An option without effect is refused; so one that is not refused must have an effect.
TEST_P(DenseOptimizerContract, EveryOptionIsUsedOrRefused) {
  const auto train = [](DenseOptimizer& optimizer) {
    std::vector<float> w = {1.0f, -2.0f};
    for (uint64_t step = 0; step < 3; ++step) {
      optimizer.Apply(0.1f, step, std::vector<float>{0.3f, 0.2f * static_cast<float>(step)}, w);
    }
    return w;
  };
  const std::vector<float> without = train(*Make(GetParam(), {.parameters = 2}));
  for (const OptimizerOptionField& field : OptimizerOptionFields()) {
    if (field.is_for_all) continue;
    DenseOptimizerOptions options{.parameters = 2};
    options.options.*field.member = 0.5f;
    const auto made = DenseOptimizers().Make(GetParam(), options);
    if (made.ok()) {
      EXPECT_NE(train(*made.value()), without) << field.name;
    } else {
      EXPECT_EQ(made.status().exit_code(), 2);
      EXPECT_THAT(made.status().message(),
                  testing::HasSubstr(fmt::format("has no use for {}=0.5", field.name)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DenseOptimizers, DenseOptimizerContract,
                         testing::ValuesIn(DenseOptimizers().Names()),
                         [](const auto& test) { return test.param; });

TEST(DenseOptimizers, AnswerToTheNamesOfRowOptimizers) {
  EXPECT_EQ(DenseOptimizers().Names(),
            (std::vector<std::string>{"adagrad", "adam", "adamw", "ftrl", "lazy_adam", "momentum",
                                      "rowwise_adagrad", "sgd"}));
}

}  // namespace
}  // namespace rowhouse
