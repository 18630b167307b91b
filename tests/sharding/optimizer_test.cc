// Each optimizer against the reference runs (tests/vectors/optimizers.json: torch in float64 for
// sgd and adagrad), then steps computed by hand.
#include "sharding/optimizer.h"

#include <cmath>
#include <map>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr double kTolerance = 1e-6;  // Ours are f32, the vectors float64; values are below 1.

using Row = std::vector<float>;

std::unique_ptr<Optimizer> Make(const std::string& name, const OptimizerOptions& options = {}) {
  return Optimizers().Make(name, options).value();
}

// The gradient of each touched row, repeated rows summed.
std::map<size_t, Row> Coalesced(const nlohmann::json& step) {
  std::map<size_t, Row> gradients;
  for (size_t i = 0; i < step["rows"].size(); ++i) {
    const Row values = step["vals"][i].get<Row>();
    Row& sum = gradients.try_emplace(step["rows"][i], values.size(), 0.0f).first->second;
    for (size_t c = 0; c < values.size(); ++c) sum[c] += values[c];
  }
  return gradients;
}

void ExpectNear(const Row& got, const nlohmann::json& expected, const std::string& what) {
  const auto values = expected.is_array() ? expected.get<std::vector<double>>()
                                          : std::vector<double>{expected.get<double>()};
  ASSERT_EQ(got.size(), values.size()) << what;
  for (size_t c = 0; c < values.size(); ++c) EXPECT_NEAR(got[c], values[c], kTolerance) << what;
}

// Returns how many steps were compared.
int Replay(const nlohmann::json& vectors, const nlohmann::json& run, const std::string& name) {
  const nlohmann::json& args = run["args"];
  const double decay = args.value("lr_decay", 0.0);
  const auto optimizer =
      Make(name, {.epsilon = args.value("eps", 1e-10f),
                  .initial_accumulator = args.value("initial_accumulator_value", 0.0f)});
  auto weights = vectors["weight"].get<std::vector<Row>>();
  std::vector<Row> states(weights.size(), Row(optimizer->state_floats(weights[0].size())));
  for (Row& state : states) optimizer->InitState(state);

  int compared = 0;
  for (size_t t = 0; t < vectors["sparse_grad_steps"].size(); ++t) {
    // A rate travels with each push: the schedule is the workers'.
    const double rate = run["lr"].get<double>() / (1.0 + static_cast<double>(t) * decay);
    const StepContext step{.step = t, .learning_rate = static_cast<float>(rate)};
    for (const auto& [row, gradient] : Coalesced(vectors["sparse_grad_steps"][t])) {
      optimizer->Apply(step, gradient, weights[row], states[row]);
    }
    const nlohmann::json& after = run["after_each_step"][t];
    for (size_t row = 0; row < weights.size(); ++row) {
      const std::string what = fmt::format("{} {} step {} row {}", name, args.dump(), t, row);
      ExpectNear(weights[row], after["weight"][row], what);
      if (!after["state"].is_null()) ExpectNear(states[row], after["state"][row], what + " state");
    }
    ++compared;
  }
  return compared;
}

TEST(Optimizers, FollowTheReferenceRuns) {
  const std::map<std::string, std::string> ours = {
      {"sgd", "sgd"}, {"adagrad", "adagrad"}, {"rowwise_adagrad", "rowwise_adagrad"}};
  const nlohmann::json vectors = LoadVectors("optimizers.json");
  std::map<std::string, int> steps;
  for (const nlohmann::json& run : vectors["runs"]) {
    const auto name = ours.find(run["kind"].get<std::string>());
    if (name != ours.end()) steps[name->second] += Replay(vectors, run, name->second);
  }
  EXPECT_GE(steps["sgd"], 4);
  EXPECT_GE(steps["adagrad"], 8);  // With and without decay of the rate.
  EXPECT_GE(steps["rowwise_adagrad"], 4);
}

TEST(Adagrad, OneStepByHand) {
  const auto optimizer = Make("adagrad", {.epsilon = 1.0f, .initial_accumulator = 7.0f});
  Row weights = {10.0f}, state(1);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 2.0f}, Row{3.0f}, weights, state);
  EXPECT_EQ(state[0], 16.0f);                   // 7 + 3*3
  EXPECT_EQ(weights[0], 10.0f - 2 * 3.0f / 5);  // root 4, epsilon 1 after it
}

// Why a shard sums pushes before it runs the optimizer: .15 and .05 are not .2.
TEST(Adagrad, TwoStepsWithThePartsAreAnotherModel) {
  const auto optimizer = Make("adagrad");
  Row parts = {0.0f}, sum = {0.0f}, state_of_parts(1), state_of_sum(1);
  const StepContext step{.step = 0, .learning_rate = 0.1f};
  optimizer->Apply(step, Row{0.15f}, parts, state_of_parts);
  optimizer->Apply(step, Row{0.05f}, parts, state_of_parts);
  optimizer->Apply(step, Row{0.20f}, sum, state_of_sum);
  EXPECT_NEAR(parts[0], -0.1316, 1e-4);
  EXPECT_NEAR(sum[0], -0.1000, 1e-4);
}

TEST(RowwiseAdagrad, OneStepByHand) {
  const auto optimizer = Make("rowwise_adagrad", {.epsilon = 1.0f, .initial_accumulator = 11.0f});
  Row weights = {10.0f, 20.0f}, state(1);
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 2.0f}, Row{1.0f, 3.0f}, weights, state);
  EXPECT_EQ(state[0], 16.0f);  // 11 + (1 + 9) / 2
  EXPECT_EQ(weights, (Row{10.0f - 2 * 1.0f / 5, 20.0f - 2 * 3.0f / 5}));
}

TEST(StateShape, SaysWhatBelongsToColumnsAndWhatToTheRow) {
  const auto shape = [](const char* name) {
    const StateShape of = StateShapeOf(*Make(name));
    return std::pair(of.planes, of.row_floats);
  };
  EXPECT_EQ(shape("sgd"), std::pair(0u, 0u));
  EXPECT_EQ(shape("adagrad"), std::pair(1u, 0u));
  EXPECT_EQ(shape("rowwise_adagrad"), std::pair(0u, 1u));
}

}  // namespace
}  // namespace rowhouse
