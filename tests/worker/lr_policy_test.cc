// Learning-rate policies: DLRM's own numbers (lr_policy.json), what the others promise by hand, and
// what holds for every one of them.
#include "worker/dense/lr_policy.h"

#include "tests/testing/testing.h"
// After gtest.
#include <rapidcheck/gtest.h>

#include <limits>
#include <vector>

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr double kFloor = 1e-7;

std::unique_ptr<LrPolicy> MakeLrPolicy(const std::string& name, const LrPolicyOptions& options) {
  return LrPolicies().Make(name, options).value();
}

std::vector<double> FirstRates(const LrPolicy& policy, uint64_t steps) {
  std::vector<double> rates;
  for (uint64_t step = 0; step < steps; ++step) rates.push_back(policy.Rate(step));
  return rates;
}

LrPolicyOptions OptionsOf(const nlohmann::json& c) {
  return {.base = c.at("base_lr"),
          .warmup_steps = c.at("warmup"),
          .decay_start_step = c.at("decay_start"),
          .decay_steps = c.at("decay_steps")};
}

// ---- poly2 ----------------------------------------------------------------------------------

TEST(Poly2, IsDlrmsBitForBit) {
  const auto vectors = LoadVectors("lr_policy.json");
  EXPECT_EQ(vectors.at("min_lr_during_decay"), kFloor);
  size_t rates = 0, refused = 0, failed = 0;
  for (const auto& c : vectors.at("policies")) {
    SCOPED_TRACE(c.dump());
    const std::string status = c.at("status");
    if (status.starts_with("rejected")) {
      ++refused;
      EXPECT_FALSE(LrPolicies().Make("poly2", OptionsOf(c)).ok());
    } else if (status == "ok") {
      const auto want = c.at("lr_for_step_1_to_n").get<std::vector<double>>();
      EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2", OptionsOf(c)), want.size()), want);
      rates += want.size();
    } else {
      ++failed;  // in the original; see WhereDlrmFailsTheRateIsBaseUntilDecay
      EXPECT_OK(LrPolicies().Make("poly2", OptionsOf(c)).status());
    }
  }
  EXPECT_EQ(rates, 43u);
  EXPECT_EQ(refused, 1u);
  EXPECT_EQ(failed, 1u);
}

TEST(Poly2, WhereDlrmFailsTheRateIsBaseUntilDecay) {
  const std::vector<double> want = {0.5, 0.5, 0.5, 0.125, 0.125};
  for (const uint64_t warmup : {0, 1}) {  // One step of warm-up has no step below base.
    EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2", {0.5, warmup, 3, 2}), 5), want) << warmup;
  }
}

TEST(Poly2, WithoutDecayTheRateIsBaseAsSoonAsItIsWarm) {
  EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2", {1.0, 4, 9, 0}), 6),
            (std::vector<double>{0.25, 0.5, 0.75, 1.0, 1.0, 1.0}));
  EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2", {0.1, 0, 7, 0}), 9), std::vector<double>(9, 0.1));
}

// ---- poly2_smooth ---------------------------------------------------------------------------

TEST(Poly2Smooth, ReachesBaseStaysThereAndDecaysToTheFloor) {
  EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2_smooth", {1.0, 4, 6, 4}), 12),
            (std::vector<double>{0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.5625, 0.25, 0.0625, kFloor,
                                 kFloor, kFloor}));
}

TEST(Poly2Smooth, WithoutDecayIsPoly2) {
  const LrPolicyOptions options{.base = 0.3, .warmup_steps = 7, .decay_start_step = 9};
  EXPECT_EQ(FirstRates(*MakeLrPolicy("poly2_smooth", options), 20),
            FirstRates(*MakeLrPolicy("poly2", options), 20));
}

LrPolicyOptions AnySchedule() {
  LrPolicyOptions options;
  options.base = *rc::gen::inRange(1, 1000000) / 10000.0;
  options.warmup_steps = *rc::gen::inRange(0, 30);
  options.decay_start_step = options.warmup_steps + *rc::gen::inRange(0, 30);
  options.decay_steps = *rc::gen::inRange(0, 30);
  return options;
}

RC_GTEST_PROP(Poly2Smooth, RisesOnceAndFallsOnceByNoMoreThanASlope, ()) {
  const LrPolicyOptions options = AnySchedule();
  const auto policy = MakeLrPolicy("poly2_smooth", options);
  for (uint64_t step = 1; step < 100; ++step) {
    const double change = policy->Rate(step) - policy->Rate(step - 1);
    const uint64_t s = step + 1;
    if (s <= options.decay_start_step || options.decay_steps == 0) RC_ASSERT(change >= 0.0);
    if (s > options.warmup_steps) RC_ASSERT(change <= 0.0);
    const auto shorter = static_cast<double>(
        change > 0.0 ? options.warmup_steps : std::max<uint64_t>(options.decay_steps, 1));
    // A parabola falls at most twice as fast as the straight line to its end.
    RC_ASSERT(std::abs(change) <= (change > 0.0 ? 1.0001 : 2.0) * options.base / shorter);
  }
}

// ---- constant -------------------------------------------------------------------------------

TEST(Constant, HasNoSchedule) {
  EXPECT_EQ(FirstRates(*MakeLrPolicy("constant", {.base = 0.3}), 3), std::vector<double>(3, 0.3));
  for (const LrPolicyOptions& options :
       {LrPolicyOptions{0.1, 1, 0, 0}, {0.1, 0, 1, 0}, {0.1, 0, 0, 1}}) {
    const Status status = LrPolicies().Make("constant", options).status();
    EXPECT_EQ(status.exit_code(), 2);
    EXPECT_THAT(status.message(), HasSubstr("--lr_policy=poly2"));
  }
}

// ---- All of them ----------------------------------------------------------------------------

TEST(LrPolicies, WarmupMustFinishBeforeDecayStarts) {
  for (const std::string name : {"poly2", "poly2_smooth"}) {
    const Status status = LrPolicies().Make(name, {0.1, 5, 4, 3}).status();
    EXPECT_EQ(status.exit_code(), 2);
    EXPECT_EQ(status.message(),
              "lr_num_warmup_steps=5 is greater than lr_decay_start_step=4, but warm-up must "
              "finish before decay starts; give --lr_decay_start_step=5 or more, or fewer warm-up "
              "steps");
    EXPECT_THAT(LrPolicies().Make(name, {0.1, 4, 0, 0}).status().message(),
                HasSubstr("without decay steps too"));
    EXPECT_OK(LrPolicies().Make(name, {0.1, 4, 4, 0}).status());
  }
}

class LrPolicyContract : public testing::TestWithParam<std::string> {
 protected:
  // As far as the policy takes them: every one is there without a schedule.
  static std::vector<std::unique_ptr<LrPolicy>> All(double base) {
    std::vector<std::unique_ptr<LrPolicy>> policies;
    for (const uint64_t warmup : {uint64_t{0}, uint64_t{1}, uint64_t{7}, kMaxLrSteps}) {
      for (const uint64_t start : {uint64_t{0}, uint64_t{1}, uint64_t{8}, kMaxLrSteps}) {
        for (const uint64_t steps : {uint64_t{0}, uint64_t{1}, uint64_t{9}, kMaxLrSteps}) {
          auto policy = LrPolicies().Make(GetParam(), {base, warmup, start, steps});
          if (policy.ok()) policies.push_back(std::move(policy).value());
        }
      }
    }
    return policies;
  }

  static std::vector<uint64_t> Steps() {
    std::vector<uint64_t> steps = {1000,
                                   kMaxLrSteps - 2,
                                   kMaxLrSteps - 1,
                                   kMaxLrSteps,
                                   kMaxLrSteps + 1,
                                   2 * kMaxLrSteps,
                                   std::numeric_limits<uint64_t>::max() - 1};
    for (uint64_t step = 0; step < 30; ++step) steps.push_back(step);
    return steps;
  }
};

TEST_P(LrPolicyContract, RatesArePositiveAndNeverAboveBase) {
  for (const double base : {1e-9, 1e-7, 0.01, 24.0, std::numeric_limits<double>::max()}) {
    const auto policies = All(base);
    ASSERT_FALSE(policies.empty());
    for (const auto& policy : policies) {
      for (const uint64_t step : Steps()) {
        const double rate = policy->Rate(step);
        EXPECT_GT(rate, 0.0) << "base " << base << ", step " << step;
        EXPECT_LE(rate, base) << "step " << step;
      }
    }
  }
}

TEST_P(LrPolicyContract, ARateOfZeroStaysZero) {
  for (const auto& policy : All(0.0)) {
    for (const uint64_t step : Steps()) EXPECT_EQ(policy->Rate(step), 0.0) << "step " << step;
  }
}

// So a loaded run, which asks for later steps first, goes on rightly.
TEST_P(LrPolicyContract, TheRateDependsOnTheStepAlone) {
  for (const auto& policy : All(0.1)) {
    const std::vector<double> forwards = FirstRates(*policy, 30);
    for (uint64_t step = 30; step-- > 0;) EXPECT_EQ(policy->Rate(step), forwards[step]);
  }
}

TEST_P(LrPolicyContract, WithoutAScheduleTheRateIsBase) {
  EXPECT_EQ(FirstRates(*MakeLrPolicy(GetParam(), {.base = 0.7}), 20), std::vector<double>(20, 0.7));
}

INSTANTIATE_TEST_SUITE_P(LrPolicies, LrPolicyContract, testing::ValuesIn(LrPolicies().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
