// What every Optimizer promises. Runs once per registered name.
#include <cmath>
#include <random>

#include "sharding/rows/optimizer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using Row = std::vector<float>;

class OptimizerContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> Make(const OptimizerOptions& options = {}) {
    return Optimizers().Make(GetParam(), options).value();
  }
  Row Random(size_t n) {
    std::normal_distribution<float> normal;
    Row row(n);
    for (float& value : row) value = normal(generator_);
    return row;
  }
  static constexpr StepContext kStep{.step = 0, .learning_rate = 0.1f};
  std::mt19937 generator_{7};
};

TEST_P(OptimizerContract, AZeroGradientChangesNoWeightAndMakesNoNaNFromZeroState) {
  const auto optimizer = Make({.epsilon = 1e-10f, .initial_accumulator = 0.0f});
  const Row before = Random(24);
  Row weights = before, state(optimizer->state_floats(24), NAN);
  optimizer->InitState(state);
  const Row first_state = state;
  for (int step = 0; step < 3; ++step) optimizer->Apply(kStep, Row(24, 0.0f), weights, state);
  EXPECT_EQ(weights, before);
  EXPECT_EQ(state, first_state);
}

TEST_P(OptimizerContract, InitStateWritesEveryFloat) {
  const auto optimizer = Make({.epsilon = 1e-10f, .initial_accumulator = 0.25f});
  Row state(optimizer->state_floats(17), NAN);
  optimizer->InitState(state);
  for (const float value : state) EXPECT_FALSE(std::isnan(value));
}

TEST_P(OptimizerContract, StateIsPlanesOfColumnsAndFloatsOfTheRowAtEveryDim) {
  const auto optimizer = Make();
  const StateShape shape = StateShapeOf(*optimizer);
  for (const size_t dim : {1u, 2u, 15u, 16u, 64u, 4096u}) {
    EXPECT_EQ(optimizer->state_floats(dim), shape.planes * dim + shape.row_floats) << dim;
  }
}

TEST_P(OptimizerContract, TheSameInputGivesTheSameBits) {
  const Row gradient = Random(33), first = Random(33);
  Row results[2], states[2];
  for (int run = 0; run < 2; ++run) {
    const auto optimizer = Make();
    results[run] = first;
    states[run].resize(optimizer->state_floats(33));
    optimizer->InitState(states[run]);
    for (uint64_t step = 0; step < 15; step += 3) {
      optimizer->Apply({.step = step, .learning_rate = 0.1f, .missed_steps = step == 0 ? 0u : 2u},
                       gradient, results[run], states[run]);
    }
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(states[0], states[1]);
}

TEST_P(OptimizerContract, ManyRowsAtOnceAreUpdatedAsOneAfterTheOther) {
  constexpr size_t kDim = 33, kUpdates = 5;
  const auto optimizer = Make();
  std::vector<Row> gradients, weights[2], states[2];
  for (size_t i = 0; i < kUpdates; ++i) {
    gradients.push_back(Random(kDim));
    Row state(optimizer->state_floats(kDim));
    optimizer->InitState(state);
    const Row first = Random(kDim);
    for (const int way : {0, 1}) {
      weights[way].push_back(first);
      states[way].push_back(state);
    }
  }
  for (uint64_t step = 0; step < 6; step += 2) {
    StepContext context{.step = step, .learning_rate = 0.1f};
    std::vector<UpdatedRow> rows;
    for (size_t i = 0; i < kUpdates; ++i) {
      context.missed_steps = step == 0 ? 0 : i % 3;
      optimizer->Apply(context, gradients[i], weights[0][i], states[0][i]);
      rows.push_back({.gradient = gradients[i].data(),
                      .weights = weights[1][i].data(),
                      .state = states[1][i].data(),
                      .missed_steps = context.missed_steps});
    }
    optimizer->ApplyAll({.step = step, .learning_rate = 0.1f}, kDim, rows);
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(states[0], states[1]);
}

TEST_P(OptimizerContract, WeightsMoveAgainstTheGradientAndNotAtRateZero) {
  const auto optimizer = Make();
  Row gradient = Random(20);
  for (float& g : gradient) g += g < 0 ? -0.1f : 0.1f;
  const Row before = Random(20);
  Row weights = before, state(optimizer->state_floats(20));
  optimizer->InitState(state);
  optimizer->Apply({.step = 0, .learning_rate = 0.0f}, gradient, weights, state);
  EXPECT_EQ(weights, before);
  optimizer->Apply(kStep, gradient, weights, state);
  for (size_t c = 0; c < 20; ++c) {
    EXPECT_EQ(weights[c]<before[c], gradient[c]> 0) << c;
  }
}

// A row with columns [0, 16) and [16, 40) on two shards, where no quantity of a row is needed.
TEST_P(OptimizerContract, ColumnsWithoutRowStateMayBeUpdatedInCuts) {
  const auto optimizer = Make();
  if (StateShapeOf(*optimizer).row_floats != 0) GTEST_SKIP() << "needs whole rows";
  const Row gradient = Random(40), first = Random(40);
  Row whole = first, whole_state(optimizer->state_floats(40));
  optimizer->InitState(whole_state);
  optimizer->Apply(kStep, gradient, whole, whole_state);

  Row cut = first;
  for (const auto& [begin, size] : {std::pair<size_t, size_t>{0, 16}, {16, 24}}) {
    Row state(optimizer->state_floats(size));
    optimizer->InitState(state);
    optimizer->Apply(kStep, std::span(gradient).subspan(begin, size),
                     std::span(cut).subspan(begin, size), state);
  }
  EXPECT_EQ(cut, whole);
}

// An option without effect is refused; so one that is not refused must have an effect.
TEST_P(OptimizerContract, EveryOptionIsUsedOrRefused) {
  const Row first = Random(8);
  std::vector<Row> gradients;
  for (int step = 0; step < 4; ++step) gradients.push_back(Random(8));
  const auto train = [&](const Optimizer& optimizer) {
    Row weights = first, state(optimizer.state_floats(8));
    optimizer.InitState(state);
    for (uint64_t step = 0; step < gradients.size(); ++step) {
      optimizer.Apply({.step = step, .learning_rate = 0.1f}, gradients[step], weights, state);
    }
    return weights;
  };
  const Row without = train(*Make());
  for (const OptimizerOptionField& field : OptimizerOptionFields()) {
    if (field.is_for_all) continue;
    OptimizerOptions options;
    options.*field.member = 0.5f;
    const auto made = Optimizers().Make(GetParam(), options);
    if (made.ok()) {
      EXPECT_NE(train(*made.value()), without) << field.name;
    } else {
      EXPECT_EQ(made.status().exit_code(), 2);
      EXPECT_THAT(made.status().message(),
                  testing::HasSubstr(
                      fmt::format("{} has no use for {}=0.5; it takes ", GetParam(), field.name)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerContract, testing::ValuesIn(Optimizers().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
