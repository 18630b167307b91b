// Each optimizer against the reference runs (tests/vectors/optimizers.json: torch in float64 for
// all but row-wise Adagrad), then steps computed by hand and the published form of FTRL.
#include "sharding/rows/optimizer.h"

#include <cmath>
#include <map>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr double kTolerance = 1e-6;  // Ours are f32, the vectors float64; values are below 1.

using OptimizerRow = std::vector<float>;

std::unique_ptr<Optimizer> MakeOptimizer(const std::string& name,
                                         const OptimizerOptions& options = {}) {
  return Optimizers().Make(name, options).value();
}

// The gradient of each touched row, repeated rows summed.
std::map<size_t, OptimizerRow> Coalesced(const nlohmann::json& step) {
  std::map<size_t, OptimizerRow> gradients;
  for (size_t i = 0; i < step["rows"].size(); ++i) {
    const OptimizerRow values = step["vals"][i].get<OptimizerRow>();
    OptimizerRow& sum = gradients.try_emplace(step["rows"][i], values.size(), 0.0f).first->second;
    for (size_t c = 0; c < values.size(); ++c) sum[c] += values[c];
  }
  return gradients;
}

void ExpectNear(const OptimizerRow& got, const nlohmann::json& expected, const std::string& what) {
  const auto values = expected.is_array() ? expected.get<std::vector<double>>()
                                          : std::vector<double>{expected.get<double>()};
  ASSERT_EQ(got.size(), values.size()) << what;
  for (size_t c = 0; c < values.size(); ++c) EXPECT_NEAR(got[c], values[c], kTolerance) << what;
}

// Returns how many steps were compared.
int Replay(const nlohmann::json& vectors, const nlohmann::json& run, const std::string& name) {
  const nlohmann::json& args = run["args"];
  const auto optimizer = MakeOptimizer(name, {.epsilon = args.value("eps", 0.0f),
                                              .learning_rate_decay = args.value("lr_decay", 0.0f)});
  auto weights = vectors["weight"].get<std::vector<OptimizerRow>>();
  std::vector<OptimizerRow> states(weights.size(),
                                   OptimizerRow(optimizer->state_floats(weights[0].size())));
  for (OptimizerRow& state : states) optimizer->InitState(state);

  int compared = 0;
  for (size_t t = 0; t < vectors["sparse_grad_steps"].size(); ++t) {
    const StepContext step{.step = t, .learning_rate = run["lr"].get<float>()};
    for (const auto& [row, gradient] : Coalesced(vectors["sparse_grad_steps"][t])) {
      optimizer->Apply(step, gradient, weights[row], states[row]);
    }
    const nlohmann::json& after = run["after_each_step"][t];
    for (size_t row = 0; row < weights.size(); ++row) {
      const std::string what = fmt::format("{} {} step {} row {}", name, args.dump(), t, row);
      ExpectNear(weights[row], after["weight"][row], what);
      if (after["state"].is_null()) continue;
      if (name != "lazy_adam") {
        ExpectNear(states[row], after["state"][row], what + " state");
        continue;
      }
      nlohmann::json both = after["state"][0][row];  // Two tables: m, then v.
      for (const auto& square : after["state"][1][row]) both.push_back(square);
      ExpectNear(states[row], both, what + " state");
    }
    ++compared;
  }
  return compared;
}

TEST(Optimizers, FollowTheReferenceRuns) {
  const std::map<std::string, std::string> ours = {{"sgd", "sgd"},
                                                   {"adagrad", "adagrad"},
                                                   {"rowwise_adagrad", "rowwise_adagrad"},
                                                   {"sparse_adam", "lazy_adam"}};
  const nlohmann::json vectors = LoadVectors("optimizers.json");
  std::map<std::string, int> steps;
  for (const nlohmann::json& run : vectors["runs"]) {
    const std::string name = ours.at(run["kind"].get<std::string>());
    steps[name] += Replay(vectors, run, name);
  }
  EXPECT_EQ(steps, (std::map<std::string, int>{
                       {"sgd", 4}, {"adagrad", 12}, {"rowwise_adagrad", 12}, {"lazy_adam", 8}}));
}

// A row that every step touches is a dense parameter: torch's dense runs hold for it.
TEST(Optimizers, RowsTouchedByEveryStepFollowTheDenseRuns) {
  const std::map<std::string, std::string> ours = {
      {"Adam", "adam"}, {"Adagrad", "adagrad"}, {"SGD_momentum", "momentum"}};
  const nlohmann::json vectors = LoadVectors("optimizers.json")["dense"];
  int compared = 0;
  for (const nlohmann::json& run : vectors["runs"]) {
    const auto name = ours.find(run["kind"].get<std::string>());
    if (name == ours.end()) continue;  // AdamW is of the dense part alone.
    const nlohmann::json& args = run["args"];
    const auto optimizer = MakeOptimizer(name->second, {.epsilon = args.value("eps", 0.0f),
                                                        .momentum = args.value("momentum", 0.9f)});
    for (size_t row = 0; row < vectors["weight"].size(); ++row) {
      OptimizerRow weights = vectors["weight"][row].get<OptimizerRow>(),
                   state(optimizer->state_floats(3));
      optimizer->InitState(state);
      for (size_t t = 0; t < vectors["grads"].size(); ++t) {
        optimizer->Apply({.step = t, .learning_rate = args["lr"].get<float>()},
                         vectors["grads"][t][row].get<OptimizerRow>(), weights, state);
        ExpectNear(weights, run["after_each_step"][t][row], name->second);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 3 * 2 * 3);
}

TEST(Optimizers, TheirOwnEpsilonIsTorchs) {
  for (const auto& [name, epsilon] : std::map<std::string, float>{{"adagrad", 1e-10f},
                                                                  {"rowwise_adagrad", 1e-10f},
                                                                  {"adam", 1e-8f},
                                                                  {"lazy_adam", 1e-8f}}) {
    // A gradient so small that epsilon shows.
    OptimizerRow weights[2] = {{1.0f, -1.0f}, {1.0f, -1.0f}};
    for (int run = 0; run < 2; ++run) {
      const auto optimizer = MakeOptimizer(name, {.epsilon = run == 0 ? 0.0f : epsilon});
      OptimizerRow state(optimizer->state_floats(2));
      optimizer->InitState(state);
      optimizer->Apply({.step = 0, .learning_rate = 0.5f}, OptimizerRow{1e-9f, 2e-9f}, weights[run],
                       state);
    }
    EXPECT_EQ(weights[0], weights[1]) << name;
    EXPECT_NE(weights[0], (OptimizerRow{1.0f, -1.0f})) << name;
  }
}

// Weight 4, decay 1/2: the gradient is 1 + 2 = 3 before anything else happens.
TEST(WeightDecay, IsAddedToTheGradientFirst) {
  const auto applied = [](const std::string& name) {
    const auto optimizer = MakeOptimizer(name, {.epsilon = 1.0f, .weight_decay = 0.5f});
    OptimizerRow row = {4.0f}, state(optimizer->state_floats(1));
    optimizer->InitState(state);
    optimizer->Apply({.step = 0, .learning_rate = 2.0f}, OptimizerRow{1.0f}, row, state);
    row.insert(row.end(), state.begin(), state.end());
    return row;
  };
  EXPECT_EQ(applied("sgd"), (OptimizerRow{4.0f - 2 * 3}));
  EXPECT_EQ(applied("momentum"), (OptimizerRow{4.0f - 2 * 3, 3.0f}));
  EXPECT_EQ(applied("adagrad"), (OptimizerRow{4.0f - 2 * 3.0f / 4, 9.0f}));
  EXPECT_EQ(applied("rowwise_adagrad"), (OptimizerRow{4.0f - 2 * 3.0f / 4, 9.0f}));
  // m = .1 * 3 and v = .001 * 9; without their bias 3 and 9.
  EXPECT_NEAR(applied("adam")[0], 4.0 - 2 * 3.0 / 4, 1e-5);
  EXPECT_NEAR(applied("lazy_adam")[1], 0.3, 1e-6);
  EXPECT_NEAR(applied("lazy_adam")[2], 0.009, 1e-6);
  EXPECT_FALSE(Optimizers().Make("ftrl", {.weight_decay = 0.5f}).ok());
}

TEST(Momentum, TwoStepsByHand) {
  const auto optimizer = MakeOptimizer("momentum", {.momentum = 0.5f});
  OptimizerRow weights = {10.0f}, state(1);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 2.0f}, OptimizerRow{3.0f}, weights, state);
  EXPECT_EQ(weights[0], 4.0f);  // v = 3
  // Steps 1 to 8 did not touch the row: the velocity waited.
  optimizer->Apply({.step = 9, .learning_rate = 2.0f, .missed_steps = 8}, OptimizerRow{1.0f},
                   weights, state);
  EXPECT_EQ(state[0], 2.5f);  // 3 / 2 + 1
  EXPECT_EQ(weights[0], -1.0f);
}

TEST(Adam, TwoStepsByHandWithOneMissedBetweenThem) {
  const OptimizerOptions options{.epsilon = 1.0f, .beta1 = 0.5f, .beta2 = 0.75f};
  const auto optimizer = MakeOptimizer("adam", options);
  OptimizerRow weights = {10.0f}, state(2);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 1.0f}, OptimizerRow{4.0f}, weights, state);
  EXPECT_EQ(state, (OptimizerRow{2.0f, 4.0f}));       // 4 / 2, 16 / 4
  EXPECT_NEAR(weights[0], 10 - 4.0 / (4 + 1), 1e-6);  // biases 1/2 and 1/4
  optimizer->Apply({.step = 2, .learning_rate = 1.0f, .missed_steps = 1}, OptimizerRow{8.0f},
                   weights, state);
  EXPECT_EQ(state, (OptimizerRow{4.5f, 18.25f}));  // (2 / 2 + 8) / 2, 4 * .75^2 + 64 / 4
  const double mean = 4.5 / 0.875, square = 18.25 / (1 - 0.421875);  // t = 3
  EXPECT_NEAR(weights[0], 9.2 - mean / (std::sqrt(square) + 1), 1e-6);
}

// Moments of dense Adam with zero gradients where the row was not touched.
TEST(Adam, MomentsAreThoseOfDenseAdamWhateverTheGaps) {
  const auto optimizer = MakeOptimizer("adam");
  OptimizerRow row = {0.5f}, state(2);
  optimizer->InitState(state);
  double m = 0.0, v = 0.0;
  uint64_t missed = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    const float g = step % 7 == 3 || step % 31 == 0 ? 0.01f * static_cast<float>(step % 13) : 0.0f;
    m = 0.9 * m + 0.1 * double{g};
    v = 0.999 * v + 0.001 * double{g} * double{g};
    if (g == 0.0f) {
      if (step > 3) ++missed;
      continue;
    }
    optimizer->Apply({.step = step, .learning_rate = 0.1f, .missed_steps = missed}, OptimizerRow{g},
                     row, state);
    missed = 0;
    EXPECT_NEAR(state[0], m, 1e-7) << step;
    EXPECT_NEAR(state[1], v, 1e-8) << step;
  }
}

TEST(LazyAdam, MissedStepsLeaveItsMomentsAlone) {
  const auto optimizer =
      MakeOptimizer("lazy_adam", {.epsilon = 1.0f, .beta1 = 0.5f, .beta2 = 0.75f});
  OptimizerRow weights = {10.0f}, state(2);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 1.0f}, OptimizerRow{4.0f}, weights, state);
  EXPECT_NEAR(weights[0], 10 - 2.0 / (2 + 1), 1e-6);  // root 2, biases 1/2 and 1/4 cancel to 1
  optimizer->Apply({.step = 2, .learning_rate = 1.0f, .missed_steps = 1}, OptimizerRow{8.0f},
                   weights, state);
  EXPECT_EQ(state, (OptimizerRow{5.0f, 19.0f}));  // (2 + 8) / 2, 4 * .75 + 64 / 4
}

// ---- FTRL -----------------------------------------------------------------------------------

TEST(Ftrl, OneStepByHand) {
  const auto optimizer = MakeOptimizer("ftrl", {.l1 = 1.0f, .l2 = 2.0f});
  OptimizerRow weights = {0.0f, 0.0f}, state(4);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 0.5f}, OptimizerRow{3.0f, 0.5f}, weights, state);
  // z = 3, n = 9: -(3 - 1) / ((1 + 3) / .5 + 2). And |z| = .5 is below l1.
  EXPECT_FLOAT_EQ(weights[0], -0.2f);
  EXPECT_EQ(weights[1], 0.0f);
  EXPECT_EQ(state, (OptimizerRow{0.0f, -0.5f, 9.0f, 0.25f}));
  // z = 1.2, n = .25 + .49: now it is above.
  optimizer->Apply({.step = 1, .learning_rate = 0.5f}, OptimizerRow{0.0f, 0.7f}, weights, state);
  EXPECT_FLOAT_EQ(weights[0], -0.2f);
  EXPECT_NEAR(weights[1], -0.2 / ((1 + std::sqrt(0.74)) / 0.5 + 2), 1e-6);
}

// Algorithm 1 of the paper as printed, with z and n, from a z that gives the first weight.
struct PublishedFtrl {
  double rate, beta, l1, l2, z = 0.0, n = 0.0;

  double Divisor() const { return (beta + std::sqrt(n)) / rate + l2; }
  void Start(double w) { z = -Divisor() * w - (w > 0 ? l1 : w < 0 ? -l1 : 0.0); }
  double Weight() const { return std::abs(z) <= l1 ? 0.0 : -(z - (z > 0 ? l1 : -l1)) / Divisor(); }
  void Apply(double g) {
    const double w = Weight();
    z += g - (std::sqrt(n + g * g) - std::sqrt(n)) / rate * w;
    n += g * g;
  }
};

TEST(Ftrl, IsTheAlgorithmOfThePaperFromAnyFirstWeight) {
  int zeros = 0;
  for (const float first : {0.0f, 0.3f, -0.02f}) {
    for (const auto& [l1, l2] : {std::pair{0.0f, 0.0f}, {0.5f, 0.0f}, {0.3f, 1.0f}}) {
      const auto optimizer =
          MakeOptimizer("ftrl", {.initial_accumulator = 0.1f, .l1 = l1, .l2 = l2});
      OptimizerRow weights = {first}, state(2);
      optimizer->InitState(state);
      PublishedFtrl published{.rate = double{0.1f}, .beta = 1.0, .l1 = l1, .l2 = l2};
      published.n = 0.1;
      published.Start(first);
      EXPECT_NEAR(published.Weight(), first, 1e-12);
      for (uint64_t step = 0; step < 300; ++step) {
        const float g = static_cast<float>((step * 37 + 11) % 101) / 101.0f - 0.5f;
        optimizer->Apply({.step = step, .learning_rate = 0.1f}, OptimizerRow{g}, weights, state);
        published.Apply(g);
        ASSERT_NEAR(weights[0], published.Weight(), 1e-5) << step << " l1 " << l1 << " l2 " << l2;
        zeros += weights[0] == 0.0f && l1 > 0 ? 1 : 0;
      }
      EXPECT_NEAR(state[1], published.n, 1e-4);
    }
  }
  EXPECT_GT(zeros, 100);
}

TEST(Ftrl, WithoutL1AndL2ItIsAdagradWithBetaInThePlaceOfEpsilon) {
  const auto ftrl = MakeOptimizer("ftrl", {.beta = 0.5f}),
             adagrad = MakeOptimizer("adagrad", {.epsilon = 0.5f});
  OptimizerRow a = {0.7f, -0.1f}, b = a, state_a(4), state_b(2);
  ftrl->InitState(state_a);
  adagrad->InitState(state_b);
  for (uint64_t step = 0; step < 20; ++step) {
    const OptimizerRow gradient = {std::sin(static_cast<float>(step)), 0.3f};
    ftrl->Apply({.step = step, .learning_rate = 0.1f}, gradient, a, state_a);
    adagrad->Apply({.step = step, .learning_rate = 0.1f}, gradient, b, state_b);
    EXPECT_NEAR(a[0], b[0], 1e-5);
    EXPECT_NEAR(a[1], b[1], 1e-5);
  }
}

TEST(Ftrl, ABetaOfZeroAndGradientsOfZeroMakeNoNaN) {
  const auto optimizer = MakeOptimizer("ftrl", {.l1 = 0.5f, .beta = 0.0f});
  OptimizerRow weights = {0.25f, 0.0f}, state(4);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 0.1f}, OptimizerRow{0.0f, 0.0f}, weights, state);
  EXPECT_EQ(weights, (OptimizerRow{0.25f, 0.0f}));
  EXPECT_EQ(state, OptimizerRow(4, 0.0f));
}

// ---- Adagrads -------------------------------------------------------------------------------

TEST(Adagrad, OneStepByHand) {
  const auto optimizer = MakeOptimizer("adagrad", {.epsilon = 1.0f, .initial_accumulator = 7.0f});
  OptimizerRow weights = {10.0f}, state(1);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 2.0f}, OptimizerRow{3.0f}, weights, state);
  EXPECT_EQ(state[0], 16.0f);                   // 7 + 3*3
  EXPECT_EQ(weights[0], 10.0f - 2 * 3.0f / 5);  // root 4, epsilon 1 after it
}

// Why a shard sums pushes before it runs the optimizer: .15 and .05 are not .2.
TEST(Adagrad, TwoStepsWithThePartsAreAnotherModel) {
  const auto optimizer = MakeOptimizer("adagrad");
  OptimizerRow parts = {0.0f}, sum = {0.0f}, state_of_parts(1), state_of_sum(1);
  const StepContext step{.step = 0, .learning_rate = 0.1f};
  optimizer->Apply(step, OptimizerRow{0.15f}, parts, state_of_parts);
  optimizer->Apply(step, OptimizerRow{0.05f}, parts, state_of_parts);
  optimizer->Apply(step, OptimizerRow{0.20f}, sum, state_of_sum);
  EXPECT_NEAR(parts[0], -0.1316, 1e-4);
  EXPECT_NEAR(sum[0], -0.1000, 1e-4);
}

TEST(RowwiseAdagrad, OneStepByHand) {
  const auto optimizer =
      MakeOptimizer("rowwise_adagrad", {.epsilon = 1.0f, .initial_accumulator = 11.0f});
  OptimizerRow weights = {10.0f, 20.0f}, state(1);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 2.0f}, OptimizerRow{1.0f, 3.0f}, weights, state);
  EXPECT_EQ(state[0], 16.0f);  // 11 + (1 + 9) / 2
  EXPECT_EQ(weights, (OptimizerRow{10.0f - 2 * 1.0f / 5, 20.0f - 2 * 3.0f / 5}));
}

TEST(StateShape, SaysWhatBelongsToColumnsAndWhatToTheRow) {
  const auto shape = [](const char* name) {
    const StateShape of = StateShapeOf(*MakeOptimizer(name));
    return std::pair(of.planes, of.row_floats);
  };
  EXPECT_EQ(shape("sgd"), std::pair(0u, 0u));
  EXPECT_EQ(shape("adagrad"), std::pair(1u, 0u));
  EXPECT_EQ(shape("rowwise_adagrad"), std::pair(0u, 1u));
  EXPECT_EQ(shape("momentum"), std::pair(1u, 0u));
  EXPECT_EQ(shape("adam"), std::pair(2u, 0u));
  EXPECT_EQ(shape("lazy_adam"), std::pair(2u, 0u));
  EXPECT_EQ(shape("ftrl"), std::pair(2u, 0u));
}

}  // namespace
}  // namespace rowhouse
