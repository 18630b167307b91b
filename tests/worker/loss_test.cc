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

// torch.nn.functional.cross_entropy(logits, label, label_smoothing=0.1) of two classes, whose
// softmax has p for class 1, by its definition in double: -(t log p + (1 - t) log(1 - p)) with
// t = 0.95 of label 1 and 0.05 of label 0.
TEST(Loss, SmoothedLabelsByHand) {
  const auto smoothed = MakeLoss("bce", {.own = {{"label_smoothing", "0.1"}}});
  EXPECT_NEAR(smoothed->Value(0.3f, 1.0f), 1.16160791, 1e-6);
  EXPECT_NEAR(smoothed->Value(0.3f, 0.0f), 0.39903984, 1e-6);
  EXPECT_NEAR(smoothed->Gradient(0.25f, 1.0f), (0.25 - 0.95) / 0.1875, 1e-5);
  EXPECT_EQ(MakeLoss("bce")->Value(0.3f, 0.7f),
            MakeLoss("bce", {.own = {{"label_smoothing", "0"}}})->Value(0.3f, 0.7f));
  // The class is that of the label.
  const auto weighted =
      MakeLoss("wbce", {.class_weights = {0.5, 2.0}, .own = {{"label_smoothing", "0.1"}}});
  EXPECT_DOUBLE_EQ(weighted->Value(0.3f, 1.0f), 2.0 * smoothed->Value(0.3f, 1.0f));
  EXPECT_FALSE(Losses().Make("mse", {.own = {{"label_smoothing", "0.1"}}}).ok());
}

TEST(Loss, UnknownNamesAreAnswered) {
  EXPECT_EQ(Losses().Names(), (std::vector<std::string>{"bce", "mse", "wbce"}));
}

}  // namespace
}  // namespace rowhouse
