#include "worker/dense/loss.h"

#include <cmath>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

std::unique_ptr<Loss> MakeLoss(const std::string& name, LossOptions options = {}) {
  return Losses().Make(name, options).value();
}

TEST(Loss, LogsAreClampedAtTheExtremes) {
  const auto file = LoadVectors("dlrm_tiny.json");
  for (const auto& want : file.at("loss_extremes")) {
    const float p = want["p"].get<float>(), label = want["t"].get<float>();
    EXPECT_NEAR(MakeLoss("bce")->Value(p, label), want["bce"].get<double>(), 1e-6) << want.dump();
    EXPECT_NEAR(MakeLoss("mse")->Value(p, label), want["mse"].get<double>(), 1e-6) << want.dump();
  }
}

TEST(Loss, GradientsAreFiniteAtTheExtremes) {
  // (p - t) / max(p (1 - p), 1e-12) with p (1 - p) = 0.
  EXPECT_FLOAT_EQ(MakeLoss("bce")->Gradient(1.0f, 0.0f), 1e12f);
  EXPECT_FLOAT_EQ(MakeLoss("bce")->Gradient(0.0f, 1.0f), -1e12f);
  EXPECT_EQ(MakeLoss("bce")->Gradient(0.0f, 0.0f), 0.0f);
}

TEST(Loss, GradientsByHand) {
  EXPECT_FLOAT_EQ(MakeLoss("mse")->Gradient(0.75f, 0.5f), 0.5f);
  EXPECT_FLOAT_EQ(MakeLoss("bce")->Gradient(0.25f, 1.0f), -4.0f);
  EXPECT_FLOAT_EQ(MakeLoss("wbce", {.class_weights = {0.5, 2.0}})->Gradient(0.25f, 1.0f), -8.0f);
}

TEST(Loss, SoftLabelsFallInClassZero) {
  const auto weighted = MakeLoss("wbce", {.class_weights = {0.5, 2.0}});
  const auto plain = MakeLoss("bce");
  EXPECT_DOUBLE_EQ(weighted->Value(0.3f, 0.99f), 0.5 * plain->Value(0.3f, 0.99f));
  EXPECT_DOUBLE_EQ(weighted->Value(0.3f, 1.0f), 2.0 * plain->Value(0.3f, 1.0f));
}

TEST(Loss, UnknownNamesAreAnswered) {
  EXPECT_EQ(Losses().Names(), (std::vector<std::string>{"bce", "mse", "wbce"}));
}

}  // namespace
}  // namespace rowhouse
