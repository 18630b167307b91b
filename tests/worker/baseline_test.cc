#include "worker/data/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "worker/data/metrics.h"

namespace rowhouse {
namespace {

// One number and one token.
void AddTo(Batch* raw, float label, float number, std::vector<uint64_t> tokens) {
  raw->dense_features = 1;
  raw->features.resize(1);
  raw->dense.push_back(number);
  for (const uint64_t token : tokens) raw->features[0].ids.push_back(token);
  raw->features[0].EndBag();
  raw->labels.push_back(label);
  ++raw->samples;
}

TEST(LinearBaseline, AStepIsThatOfThePaper) {
  Batch raw;
  AddTo(&raw, 1.0f, 3.0f, {7});
  AddTo(&raw, 0.0f, 3.0f, {8});
  LinearBaseline model;
  EXPECT_FLOAT_EQ(model.Score(raw, 0), 0.5f);
  model.Learn(raw, 0);
  // p = 1/2, so that g = -1/2, n = 1/4 and z = -1/2 in bias, number and token.
  const double weight = 0.5 / ((1.0 + 0.5) / 0.07 + 2.0);
  EXPECT_FLOAT_EQ(model.Score(raw, 0), static_cast<float>(1.0 / (1.0 + std::exp(-3.0 * weight))));
  EXPECT_FLOAT_EQ(model.Score(raw, 1), static_cast<float>(1.0 / (1.0 + std::exp(-2.0 * weight))));
}

TEST(LinearBaseline, WeightsOfSamplesAndTokensCount) {
  Batch raw;
  AddTo(&raw, 1.0f, 3.0f, {7, 8});
  raw.weights = {0.0f};
  raw.features[0].weights = {1.0f, 0.0f};
  LinearBaseline model;
  model.Learn(raw, 0);
  EXPECT_FLOAT_EQ(model.Score(raw, 0), 0.5f);
  raw.weights = {1.0f};
  model.Learn(raw, 0);
  const float both = model.Score(raw, 0);
  raw.features[0].weights = {0.0f, 1.0f};  // the token that has learned nothing
  EXPECT_LT(model.Score(raw, 0), both);
}

// Labels that go by what is tested alone: each is learned, wherever the numbers lie.
TEST(LinearBaseline, LearnsFromNumbersOfAnyScaleAndFromWhatIsMissing) {
  const float kMissing = std::numeric_limits<float>::quiet_NaN();
  for (const float scale : {1e-6f, 1.0f, 1e9f}) {
    Batch raw;
    for (int i = 0; i < 400; ++i) {
      const float number = scale * static_cast<float>(i * 37 % 400 - 200);
      const bool is_missing = i % 5 == 0;
      const bool label = is_missing || number > 80 * scale;
      AddTo(&raw, label ? 1.0f : 0.0f, is_missing ? kMissing : number, {});
    }
    LinearBaseline model;
    for (size_t i = 0; i < raw.samples; ++i) model.LookAtNumbers(raw, i);
    for (size_t i = 0; i < raw.samples; ++i) model.Learn(raw, i);
    std::vector<float> scores;
    for (size_t i = 0; i < raw.samples; ++i) scores.push_back(model.Score(raw, i));
    EXPECT_GT(ComputeMetrics(raw.labels, scores).roc_auc, 0.97) << scale;
  }
}

}  // namespace
}  // namespace rowhouse
