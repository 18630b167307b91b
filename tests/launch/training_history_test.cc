#include "launch/report/training_history.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TrainingHistory TrainingHistoryExample() {
  TrainingHistory history;
  history.runs = {{.started_at = "2025-01-31T12:00:00Z",
                   .first_step = 0,
                   .steps = 10,
                   .samples = 400,
                   .seconds = 0.5,
                   .data = "day1.csv",
                   .data_digest = "d1"},
                  {.started_at = "2025-02-01T12:00:00Z", .first_step = 10, .steps = 30}};
  history.curve = {{.step = 5, .loss = 0.1 + 0.2, .accuracy = 0.75, .learning_rate = 0.05},
                   {.step = 20, .epoch = 1, .loss = 1e-300}};
  history.evaluations = {{.step = 10, .samples = 7, .auc = 0.7, .data_digest = UINT64_MAX},
                         {.step = 30, .samples = 7, .logloss = 0.5}};
  history.validations = {{.step = 10, .samples = 9, .auc = 0.1 + 0.2, .logloss = 0.4},
                         {.step = 30, .samples = 9, .logloss = 0.5}};
  history.progressive = {{.step = 8, .samples = 320, .auc = 0.6, .logloss = 0.1 + 0.2},
                         {.step = 16, .samples = 320, .logloss = 0.5}};
  return history;
}

TEST(TrainingHistory, IsReadAsItWasWrittenToTheLastBit) {
  const Result<TrainingHistory> read =
      TrainingHistory::FromJsonText(TrainingHistoryExample().ToJsonText());
  ASSERT_OK(read);
  EXPECT_EQ(read.value().ToJsonText(), TrainingHistoryExample().ToJsonText());
  EXPECT_EQ(read.value().runs, TrainingHistoryExample().runs);
  EXPECT_EQ(read.value().curve.at(0).loss, 0.1 + 0.2);
  EXPECT_EQ(read.value().curve.at(1).accuracy, std::nullopt);
  EXPECT_EQ(read.value().evaluations.at(0).data_digest, UINT64_MAX);
  EXPECT_EQ(read.value().evaluations.at(1).auc, std::nullopt);
  EXPECT_EQ(read.value().validations.at(0).auc, 0.1 + 0.2);
  EXPECT_EQ(read.value().progressive.at(0).logloss, 0.1 + 0.2);
  const auto before =
      TrainingHistory::FromJsonText(R"({"format": 1, "runs": [], "curve": [], "evaluations": []})");
  ASSERT_OK(before);
  EXPECT_TRUE(before.value().validations.empty()) << "of a build that made none";
}

TEST(TrainingHistory, WhatCameAfterAStepIsForgotten) {
  TrainingHistory history = TrainingHistoryExample();
  history.DropAfter(20);
  EXPECT_EQ(history.curve.size(), 2u);
  EXPECT_EQ(history.evaluations.size(), 1u);
  EXPECT_EQ(history.validations.size(), 1u);
  EXPECT_EQ(history.progressive.size(), 2u);
  EXPECT_EQ(history.runs.back().steps, 20u) << "the run was killed later";
  history.DropAfter(10);
  EXPECT_EQ(history.curve.size(), 1u);
  EXPECT_EQ(history.evaluations.size(), 1u);
  EXPECT_EQ(history.progressive.size(), 1u);
  EXPECT_EQ(history.runs.size(), 1u);
  history.DropAfter(0);
  EXPECT_TRUE(history.runs.empty() && history.curve.empty() && history.evaluations.empty());
}

TEST(TrainingHistory, DamagedTextIsCorruption) {
  for (const std::string text :
       {"", "{", "{}", R"({"runs": [], "curve": [[1]], "evaluations": []})"}) {
    EXPECT_EQ(TrainingHistory::FromJsonText(text).status().code(), StatusCode::kCorruption) << text;
  }
}

}  // namespace
}  // namespace rowhouse
