// Dropout: its draws by an independent program, and its gradient.
#include "worker/dense/dropout.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/testing/model_gradients.h"
#include "tests/testing/testing.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {
namespace {

// tests/vectors/dropout.py.
TEST(Dropout, DrawsAreThoseOfTheFormula) {
  const auto vectors = LoadVectors("dropout.json");
  for (const auto& c : vectors.at("cases")) {
    const auto samples = c["samples"].get<size_t>(), units = c["units"].get<size_t>();
    std::vector<float> y(samples * units, 1.0f);
    DropUnits({.key = DropoutKey(c["seed"].get<uint64_t>(), c["step"].get<uint64_t>()),
               .first = c["first"].get<uint64_t>()},
              c["layer"].get<size_t>(), c["p"].get<double>(), samples, units, y.data());
    EXPECT_EQ(y, c["kept"].get<std::vector<float>>()) << c.dump();
  }
}

TEST(Dropout, DropsTheShareThatIsAsked) {
  constexpr size_t kSamples = 1000, kUnits = 256;
  std::vector<float> y(kSamples * kUnits, 1.0f);
  DropUnits({.key = DropoutKey(1, 2), .first = 0}, 0, 0.3, kSamples, kUnits, y.data());
  const auto dropped = static_cast<double>(std::ranges::count(y, 0.0f));
  const double deviation = std::sqrt(0.3 * 0.7 * kSamples * kUnits);
  EXPECT_NEAR(dropped, 0.3 * kSamples * kUnits, 4 * deviation);
}

TEST(Dropout, GradientsAreThoseOfTheThinnedNetwork) {
  ModelSpec spec;
  spec.bottom_mlp = {2, 6, 5, 3};
  spec.top_mlp = {7, 6, 1};
  spec.feature_widths = {3};
  spec.loss = "bce";
  spec.dropout_bot = 0.3;
  spec.dropout_top = 0.4;
  DenseParameters parameters;
  const DlrmModel model(spec, &parameters);
  EXPECT_GT(ExpectGradientsOfTheLoss(spec, {.key = DropoutKey(3, 4), .first = 11},
                                     {.step = 2e-3f, .tolerance = 2e-3}),
            parameters.size() / 2);
}

TEST(Dropout, WithoutHiddenLayersIsRefused) {
  ModelSpec spec;
  spec.bottom_mlp = {2, 3};
  spec.top_mlp = {1};
  spec.feature_widths = {3};
  EXPECT_OK(spec.Validate());
  spec.dropout_top = 0.5;
  EXPECT_THAT(spec.Validate().message(),
              testing::HasSubstr("dropout_top=0.5 drops units of hidden"));
  spec.dropout_top = 0.0;
  spec.dropout_bot = 0.5;
  EXPECT_THAT(spec.Validate().message(),
              testing::HasSubstr("dropout_bot=0.5 drops units of hidden"));
  spec.dropout_bot = 1.0;
  EXPECT_THAT(spec.Validate().message(), testing::HasSubstr("must lie in [0, 1)"));
}

}  // namespace
}  // namespace rowhouse
