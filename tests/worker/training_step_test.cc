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

std::unique_ptr<TrainingStep> StepOf(uint32_t accumulation) {
  LogicalTable table;
  table.name = "t";
  table.rows = 4;
  table.dim = 2;
  ModelSpec model;
  model.bottom_mlp = {2, 3, 2};
  model.top_mlp = {3, 1};
  model.feature_widths = {2};
  model.loss = "bce";
  auto step = std::make_unique<TrainingStep>(
      TrainingStepOptions{.model = model,
                          .tables = EmbeddingTables::Make({table}).value(),
                          .accumulation = accumulation});
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

}  // namespace
}  // namespace rowhouse
