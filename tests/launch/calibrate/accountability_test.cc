// What is trained to hold the cost model to account, and what counts as held.
#include <nlohmann/json.hpp>

#include "launch/accountability/verdict.h"
#include "launch/calibrate/trained_config.h"
#include "launch/prediction/machine_of_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

AccountedRun RunOf(double predicted_ms, double measured_ms) {
  AccountedRun run;
  run.predicted.ms = predicted_ms;
  run.predicted.wire_bytes = 1000;
  run.predicted.ps.resize(1);
  run.predicted.ps[0].rows_pulled = 50;
  run.measured = {.ms = measured_ms, .wire_bytes = 1010, .rows_pulled = {50}};
  run.runs_ms = {measured_ms};
  return run;
}

const Target& TargetOf(const std::vector<Target>& targets, const std::string& name) {
  return *std::ranges::find(targets, name, &Target::name);
}

TEST(AccountedConfigs, AreRunsThatTheModelCanPredict) {
  std::vector<TrainedConfig> configs = AccuracyConfigs();
  EXPECT_GE(configs.size(), 12u);
  for (const TrainedConfig& config : QuickConfigs()) configs.push_back(config);
  for (const RankingTest& test : RankingTests()) {
    EXPECT_GE(test.plans.size(), 3u) << test.name;
    configs.insert(configs.end(), test.plans.begin(), test.plans.end());
  }
  for (const TrainedConfig& config : configs) {
    ASSERT_OK(config.MakeSettings()) << config.name;
    const Result<StepCost> cost = PredictConfig(config, Machine::Typical());
    ASSERT_OK(cost) << config.name;
    EXPECT_GT(cost.value().ms, 0) << config.name;
    EXPECT_EQ(cost.value().ps.size(), config.ps) << config.name;
  }
}

TEST(AccountedConfigs, HaveEnoughRankingTests) { EXPECT_GE(RankingTests().size(), 8u); }

TEST(Verdict, LeavesUnsteadyAndCrowdedRunsOutOfTheErrorOfTime) {
  std::vector<AccountedRun> runs = {RunOf(11, 10), RunOf(30, 10), RunOf(40, 10)};
  runs[1].spread = 0.2;
  runs[2].predicted.is_oversubscribed = true;
  const PredictionError error = StepTimeError(runs);
  EXPECT_EQ(error.count, 1u);
  EXPECT_NEAR(error.largest, 0.1, 1e-12);
  EXPECT_EQ(BytesError(runs).count, 3u);
  EXPECT_NEAR(BytesError(runs).largest, 10.0 / 1010, 1e-12);
  EXPECT_EQ(LoadError(runs).largest, 0);
}

TEST(Verdict, NamesWhatIsMissed) {
  Accountability all;
  all.runs = {RunOf(20, 10)};
  const std::vector<Target> targets = TargetsOf(all);
  EXPECT_FALSE(TargetOf(targets, "GMAE of step time").is_met());
  EXPECT_FALSE(TargetOf(targets, "its largest error").is_met());
  EXPECT_TRUE(TargetOf(targets, "largest error of bytes").is_met());
  EXPECT_THAT(FiguresAsText(AccountabilityFigures(all)), HasSubstr("MISSED"));
}

TEST(Verdict, OfAQuickRunSaysNothingOfTimes) {
  Accountability all;
  all.is_quick = true;
  all.runs = {RunOf(20, 10)};
  for (const Target& target : TargetsOf(all)) EXPECT_TRUE(target.is_met()) << target.name;
}

TEST(RankingOutcome, IsGoodWhenTheChosenPlanIsNearlyTheFastest) {
  RankingOutcome outcome;
  outcome.plans = {{.name = "a", .predicted_ms = 9, .runs_ms = {10.4, 10.3, 30}},
                   {.name = "b", .predicted_ms = 10, .runs_ms = {10, 11, 9}},
                   {.name = "c", .predicted_ms = 20, .runs_ms = {20, 20, 20}}};
  EXPECT_EQ(outcome.chosen().name, "a");
  EXPECT_EQ(outcome.fastest().name, "b");
  EXPECT_NEAR(outcome.regret(), 1.04, 1e-12);
  EXPECT_TRUE(outcome.is_good());
  outcome.plans[0].runs_ms = {10.6, 10.6, 10.6};
  EXPECT_FALSE(outcome.is_good());
}

TEST(RankingOutcome, WhatSlowsAWholeTurnDividesOut) {
  RankingOutcome outcome;
  outcome.plans = {{.name = "a", .predicted_ms = 9, .runs_ms = {8, 8, 16, 16, 16}},
                   {.name = "b", .predicted_ms = 10, .runs_ms = {8.2, 8.2, 16.4, 16.4, 8.2}}};
  EXPECT_GT(outcome.plans[0].measured_ms(), 1.9 * outcome.plans[1].measured_ms());
  EXPECT_EQ(outcome.fastest().name, "a");
  EXPECT_TRUE(outcome.is_good());
}

TEST(RankingOutcome, IsCertainWhenRunsDifferByLessThanTheChoiceIsFromTheLimit) {
  RankingOutcome outcome;
  outcome.plans = {{.name = "a", .predicted_ms = 9, .runs_ms = {10.4, 10.4, 10.4, 10.4}},
                   {.name = "b", .predicted_ms = 10, .runs_ms = {10, 10, 10, 10}}};
  EXPECT_DOUBLE_EQ(outcome.error(), 0);
  EXPECT_TRUE(outcome.is_certain());
  outcome.plans[1].runs_ms = {9.5, 9.8, 10.2, 10.5};
  EXPECT_GT(outcome.error(), 0.01);
  EXPECT_FALSE(outcome.is_certain());
}

TEST(RankingOutcome, OfAChosenPlanThatIsTheFastestIsCertainByTheSecondFastest) {
  RankingOutcome outcome;
  outcome.plans = {{.name = "a", .predicted_ms = 9, .runs_ms = {9, 9.6, 10.4, 11}},
                   {.name = "b", .predicted_ms = 10, .runs_ms = {19, 20, 20, 21}},
                   {.name = "c", .predicted_ms = 11, .runs_ms = {30, 30, 30, 30}}};
  EXPECT_EQ(outcome.regret(), 1);
  EXPECT_EQ(outcome.rival().name, "b");
  EXPECT_TRUE(outcome.is_certain()) << "runs differ by less than a and b";
  outcome.plans[1].runs_ms = {11, 10.4, 9.6, 9};
  EXPECT_TRUE(outcome.is_good());
  EXPECT_FALSE(outcome.is_certain()) << "b may well be 6 % faster";
}

TEST(SlowdownMeter, WithoutAReferenceKnowsOfNone) {
  SlowdownMeter meter(nullptr);
  EXPECT_EQ(meter.Latest().value().memory, 1);
  EXPECT_EQ(meter.Measure().value().messages, 1);
}

TEST(Verdict, OfTooFewConfigurationsIsMissedUnlessAPartWasAskedFor) {
  Accountability all;
  all.runs = {RunOf(10, 10)};
  EXPECT_FALSE(TargetOf(TargetsOf(all), "configurations that count").is_met());
  EXPECT_FALSE(TargetOf(TargetsOf(all), "ranking tests of plans").is_met());
  all.is_part = true;
  for (const Target& target : TargetsOf(all)) EXPECT_TRUE(target.is_met()) << target.name;
}

TEST(AccountabilityFigures, HasNoErrorOfNothing) {
  const nlohmann::ordered_json json = AccountabilityFigures(Accountability{}).json;
  EXPECT_TRUE(json.at("gmae").at("step_time").is_null());
  EXPECT_TRUE(json.at("p90").at("kernels").is_null());
}

// Its mean has the connecting of the first step in it.
TEST(MeasuredStep, TakesTheFirstStepsOutOfThePull) {
  const MeasuredStep step{.ms = 10, .phases = {{"mlp", 4}, {"pull", 5}, {"merge", 3}}};
  EXPECT_DOUBLE_EQ(step.SteadyPhase("mlp"), 4);
  EXPECT_DOUBLE_EQ(step.SteadyPhase("pull"), 3);
  EXPECT_DOUBLE_EQ(step.SteadyPhase("push"), 0);
}

TEST(Slowdown, ScalesTheKernelsOfItsKind) {
  const Machine machine = Machine::Typical();
  const Result<Machine> slowed = SlowedDown(machine, {.products = 2, .memory = 3, .messages = 5});
  ASSERT_OK(slowed);
  const auto ratio = [&](const char* kernel, std::initializer_list<double> sizes) {
    return slowed.value().Ns(kernel, sizes) / machine.Ns(kernel, sizes);
  };
  EXPECT_NEAR(ratio("fully_connected_forward", {128, 64, 64}), 2, 1e-9);
  EXPECT_NEAR(ratio("merge", {1000, 1000}), 3, 1e-9);
  EXPECT_NEAR(ratio("pull", {1000, 16}), 5, 1e-9);
}

TEST(Slowdown, IsTheRatioOfPhasesOfTheSameRun) {
  const MeasuredStep then{.ms = 10, .phases = {{"mlp", 4}, {"pull", 5}, {"merge", 1}}};
  const MeasuredStep now{.ms = 15, .phases = {{"mlp", 8}, {"pull", 5}, {"merge", 2}}};
  const Slowdown slowdown = Slowdown::Since(then, now);
  EXPECT_NEAR(slowdown.products, 2, 1e-12);
  EXPECT_NEAR(slowdown.messages, 1, 1e-12);
  EXPECT_NEAR(slowdown.memory, 2, 1e-12);
}

TEST(FitInStep, FindsTheFactorsThatStepsWereMadeWith) {
  Machine machine = WithTypicalInStep(Machine::Typical());
  machine.constants["in_step_pool"] = {.value = 3, .unit = "times", .spread = 0};
  machine.constants["in_step_mlp"] = {.value = 1.5, .unit = "times", .spread = 0};
  std::vector<ReferenceRun> runs;
  for (const TrainedConfig& config : ReferenceConfigs()) {
    const StepCost cost = PredictConfig(config, machine).value();
    ReferenceRun run{.config = config, .step = {.ms = cost.ms}};
    for (const NamedStepPhase& phase : kNamedStepPhases) {
      run.step.phases[phase.name] = cost.phases.*phase.value;
    }
    runs.push_back(run);
  }
  Machine fitted = Machine::Typical();
  ASSERT_OK(FitInStep(runs, &fitted));
  EXPECT_NEAR(fitted.Constant("in_step_pool"), 3, 0.01);
  EXPECT_NEAR(fitted.Constant("in_step_mlp"), 1.5, 0.01);
}

TEST(AccountabilityFigures, HasTheErrorsAndARowARun) {
  Accountability all;
  all.runs = {RunOf(11, 10), RunOf(9, 10)};
  const nlohmann::ordered_json json = AccountabilityFigures(all).json;
  EXPECT_EQ(json.at("configs"), 2);
  EXPECT_EQ(json.at("rows").size(), 2u);
  EXPECT_NEAR(json.at("gmae").at("step_time").get<double>(), 0.1, 0.001);
  EXPECT_NEAR(json.at("rows")[0].at("step_ms").at("predicted").get<double>(), 11, 1e-12);
}

TEST(MeasuredStepOf, SaysWhatAReportLacks) {
  EXPECT_THAT(MeasuredStepOf(nlohmann::json::object()).status().message(), HasSubstr("prediction"));
}

}  // namespace
}  // namespace rowhouse
