// What one worker computes in a step: in which order makes no difference, and what is found late.
#include "worker/train/training_step.h"

#include <algorithm>
#include <memory>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr size_t kStepSamples = 7;

Batch StepSamples(float dense) {
  Batch batch;
  batch.Clear(2, 1);
  for (size_t s = 0; s < kStepSamples; ++s) {
    batch.dense.insert(batch.dense.end(), {dense, dense * static_cast<float>(s + 1)});
    batch.features[0].ids.push_back(s % 4);
    batch.features[0].EndBag();
    batch.labels.push_back(static_cast<float>(s % 2));
  }
  batch.samples = kStepSamples;
  return batch;
}

std::unique_ptr<TrainingStep> StepOf(uint32_t accumulation, double dropout = 0.0,
                                     double lookup_l2 = 0.0, bool batch_norm = false) {
  LogicalTable table;
  table.name = "t";
  table.rows = 4;
  table.dim = 2;
  ModelSpec model;
  model.bottom_mlp = {2, 3, 2};
  model.top_mlp = {3, 1};
  model.feature_widths = {2};
  model.loss = "bce";
  model.dropout_bot = model.dropout_top = dropout;
  model.batch_norm = batch_norm;
  auto step = std::make_unique<TrainingStep>(
      TrainingStepOptions{.model = model,
                          .tables = EmbeddingTables::Make({table}).value(),
                          .accumulation = accumulation,
                          .seed = 5,
                          .lookup_l2 = lookup_l2});
  float value = 0.1f;
  for (float& weight : step->dense().values()) weight = value = 0.9f * value + 0.03f;
  return step;
}

void Pull(TrainingStep* step) {
  for (RowBatch& batch : step->row_batches()) std::ranges::fill(batch.values, 0.25f);
}

TEST(TrainingStep, WhatNeedsNoRowsMayBeComputedBeforeThey) {
  for (const uint32_t accumulation : {1u, 3u}) {
    const Batch batch = StepSamples(0.5f);
    std::vector<std::vector<float>> rows, dense;
    std::vector<double> losses;
    for (const bool is_early : {false, true}) {
      const auto step = StepOf(accumulation);
      ASSERT_OK(step->Prepare(batch));
      if (is_early) step->ComputeWithoutRows();
      Pull(step.get());
      const auto figures = step->ComputeRows(kStepSamples);
      ASSERT_OK(figures);
      rows.push_back(step->row_batches()[0].gradients);
      ASSERT_OK(step->ComputeRest());
      dense.emplace_back(step->allreduce().begin(), step->allreduce().end());
      losses.push_back(figures.value().loss_sum);
    }
    EXPECT_EQ(losses[0], losses[1]);
    EXPECT_EQ(rows[0], rows[1]);
    EXPECT_EQ(dense[0], dense[1]);
    EXPECT_NE(dense[0][0], 0.0f) << "the first weight of the bottom MLP has a gradient";
  }
}

// Others wait for sums that a worker left out.
TEST(TrainingStep, AWorkerThatGivesUpTakesPartInTheSumsThatAreLeft) {
  for (const int stage : {0, 1, 2, 3}) {
    const auto step = StepOf(1, 0.0, 0.0, /*batch_norm=*/true);
    std::vector<size_t> sums;
    step->SumOverWorkersBy([&](std::span<float> values) {
      sums.push_back(values.size());
      return OkStatus();
    });
    const Batch batch = StepSamples(0.5f);
    if (stage > 0) {
      ASSERT_OK(step->Prepare(batch));
    }
    if (stage > 1) step->ComputeWithoutRows();
    if (stage > 2) {
      Pull(step.get());
      ASSERT_OK(step->ComputeRows(kStepSamples));
    }
    step->GiveUp();
    EXPECT_EQ(sums, (std::vector<size_t>{4, 3, 4, 3, 6, 6})) << stage;
    EXPECT_TRUE(step->has_any_worker_given_up());
  }
  const auto step = StepOf(1, 0.0, 0.0, /*batch_norm=*/true);
  step->SumOverWorkersBy([&](std::span<float>) {
    return MakeStatus(StatusCode::kDeadlineExceeded, "worker 1 did not come");
  });
  const Batch batch = StepSamples(0.5f);
  ASSERT_OK(step->Prepare(batch));
  Pull(step.get());
  EXPECT_EQ(step->ComputeRows(kStepSamples).status().message(), "worker 1 did not come");
}

// Dense features that the first layer ignores, and that make the gradient of its weights too large.
TEST(TrainingStep, ABottomGradientThatIsNotFiniteIsFoundAfterTheRows) {
  const Batch batch = StepSamples(1e37f);
  const auto step = StepOf(1);
  const std::vector<float> of_blocks = {0, 1e-3f, 1, 0, 10, 0, 10, 0};  // weights, biases, ...
  ASSERT_EQ(step->dense().blocks().size(), of_blocks.size());
  for (size_t b = 0; b < of_blocks.size(); ++b) {
    std::ranges::fill(step->dense().values(b), of_blocks[b]);
  }
  ASSERT_OK(step->Prepare(batch));
  Pull(step.get());
  ASSERT_OK(step->ComputeRows(/*global_samples=*/kStepSamples));
  const Status rest = step->ComputeRest();
  EXPECT_EQ(rest.code(), StatusCode::kInternal);
  EXPECT_THAT(rest.message(), HasSubstr("dense parameters \"bot_l.0.weight\""));
}

// The gradients of samples [first, first + count) of a step, divided by all its samples.
std::vector<float> DenseGradients(TrainingStep* step, size_t first, size_t count,
                                  const PlaceOfBatch& place) {
  const Batch all = StepSamples(0.5f);
  Batch batch;
  batch.Clear(2, 1);
  for (size_t s = first; s < first + count; ++s) {
    batch.dense.insert(batch.dense.end(), {all.dense[2 * s], all.dense[2 * s + 1]});
    batch.features[0].Append(all.features[0], s, s + 1);
    batch.labels.push_back(all.labels[s]);
  }
  batch.samples = count;
  CHECK(step->Prepare(batch, place).ok());
  Pull(step);
  CHECK(step->ComputeRows(kStepSamples).ok());
  CHECK(step->ComputeRest().ok());
  return {step->allreduce().begin(), step->allreduce().end() - 2};
}

TEST(TrainingStep, DropsTheSameUnitsOnWhicheverWorkerAndInWhicheverPieceASampleIs) {
  const PlaceOfBatch place = {.step = 3, .sample = 70};
  const auto step = StepOf(1, 0.5);
  const std::vector<float> whole = DenseGradients(step.get(), 0, kStepSamples, place);
  const std::vector<float> in_pieces = DenseGradients(StepOf(3, 0.5).get(), 0, kStepSamples, place);
  const std::vector<float> first = DenseGradients(step.get(), 0, 4, place);
  const std::vector<float> second = DenseGradients(step.get(), 4, 3, {.step = 3, .sample = 74});
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(first[i] + second[i], whole[i], 1e-6) << i;
    EXPECT_NEAR(in_pieces[i], whole[i], 1e-6) << i;
  }
  EXPECT_NE(DenseGradients(step.get(), 0, kStepSamples, {.step = 4, .sample = 70}), whole);
  EXPECT_NE(DenseGradients(step.get(), 0, kStepSamples, {.step = 3, .sample = 0}), whole);
}

TEST(TrainingStep, ScoresDropNoUnits) {
  const Batch batch = StepSamples(0.5f);
  const auto scores_of = [&](double dropout, bool has_trained) {
    const auto step = StepOf(1, dropout);
    if (has_trained) DenseGradients(step.get(), 0, kStepSamples, {});
    CHECK(step->forward().Prepare(batch).ok());
    Pull(step.get());
    step->forward().RowsArrived();
    const auto scores = step->forward().Forward({0, batch.samples});
    return std::vector<float>(scores.begin(), scores.end());
  };
  EXPECT_EQ(scores_of(0.5, true), scores_of(0.0, false));
}

// Row r was looked up c times in the step: its gradient grows by l2 * c * row / samples.
TEST(TrainingStep, L2OfRowsGrowsWithTheirLookups) {
  const Batch batch = StepSamples(0.5f);
  std::vector<std::vector<float>> gradients;
  std::vector<double> losses;
  for (const double l2 : {0.0, 14.0}) {
    const auto step = StepOf(1, 0.0, l2);
    ASSERT_OK(step->Prepare(batch));
    Pull(step.get());
    losses.push_back(step->ComputeRows(kStepSamples).value().loss_sum);
    gradients.push_back(step->row_batches()[0].gradients);
    EXPECT_EQ(step->row_batches()[0].counts, (std::vector<uint32_t>{2, 2, 2, 1}));
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    const float lookups = i / 2 == 3 ? 1.0f : 2.0f;
    EXPECT_NEAR(gradients[1][i], gradients[0][i] + 2.0f * lookups * 0.25f, 1e-6) << i;
  }
  EXPECT_EQ(losses[0], losses[1]);
}

}  // namespace
}  // namespace rowhouse
