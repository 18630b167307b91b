// Holds a model's gradients against central differences of its loss, on nine made-up samples.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/testing/testing.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {

struct GradientCheck {
  float step = 1e-3f;      // by which a value is changed, up and down
  double tolerance = 0.0;  // of a gradient beside the difference over twice the step
  float counted_above = 0.0f;
};

// Passes are of training, with these draws. Returns how many gradients of parameters and pooled
// vectors are above check.counted_above in size. Requires two dense numbers and one feature of
// width 3.
inline size_t ExpectGradientsOfTheLoss(const ModelSpec& spec, const DropoutDraws& draws,
                                       const GradientCheck& check) {
  EXPECT_OK(spec.Validate());
  // Hundreds of tiny passes: threads that wait for one another take seconds where cores are shared.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  DenseParameters parameters;
  DlrmModel model(spec, &parameters);
  parameters.Allocate();
  uint64_t draw = 0;
  for (float& value : parameters.values()) {
    value = static_cast<float>((++draw * 7919) % 101) / 101.0f - 0.35f;
  }
  for (size_t b = 0; b < parameters.blocks().size(); ++b) {
    if (!parameters.blocks()[b].name.ends_with("running_var")) continue;
    std::ranges::fill(parameters.values(b), 1.0f);  // A variance is not below 0.
  }
  constexpr size_t kSamples = 9;
  std::vector<float> dense(kSamples * 2), labels(kSamples);
  std::vector<std::vector<float>> pooled = {std::vector<float>(kSamples * 3)}, gradients;
  for (float& x : dense) x = static_cast<float>((++draw * 7919) % 101) / 50.0f;
  for (float& x : pooled[0]) x = static_cast<float>((++draw * 7919) % 101) / 50.0f;
  for (size_t s = 0; s < kSamples; ++s) labels[s] = static_cast<float>(s % 2);

  model.DropUnitsBy(draws);
  const auto loss = [&] {
    model.Forward(dense, kSamples, pooled);
    return model.LossSum(labels) / kSamples;
  };
  loss();
  model.Backward(labels, kSamples, &gradients);
  const std::vector<float> got(parameters.gradients().begin(), parameters.gradients().end());
  size_t counted = 0;
  const auto expect = [&](float* at, float gradient, const std::string& what) {
    const float was = *at, h = check.step;
    *at = was + h;
    const double above = loss();
    *at = was - h;
    const double below = loss();
    *at = was;
    EXPECT_NEAR(gradient, (above - below) / (2.0 * h), check.tolerance) << what;
    counted += std::abs(gradient) > check.counted_above ? 1 : 0;
  };
  for (const DenseParameters::Block& block : parameters.blocks()) {
    for (size_t i = block.offset; i < block.offset + block.size(); ++i) {
      expect(&parameters.values()[i], got[i], block.name);
    }
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) expect(&pooled[0][i], gradients[0][i], "pooled");
  omp_set_num_threads(threads);
  return counted;
}

}  // namespace rowhouse
