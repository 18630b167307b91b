#include "worker/dense/interaction.h"

#include <string>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Vector i holds the i-th prime, so that every product names its pair.
TEST(Interaction, PairsComeInDlrmsOrder) {
  const auto file = LoadVectors("dlrm_tiny.json");
  for (const auto& [vectors_text, want] : file.at("interaction_order").items()) {
    MatrixProducts products;
    const auto vectors = static_cast<uint32_t>(std::stoul(vectors_text));
    for (const bool itself : {false, true}) {
      const std::vector<float> primes = {2, 3, 5, 7, 11};
      std::vector<std::vector<float>> t;
      for (uint32_t i = 0; i < vectors; ++i) {
        t.push_back({primes[i], 0.0f, 0.0f, 10.0f * primes[i]});  // two samples of two columns
      }
      std::vector<const float*> pointers;
      for (const auto& vector : t) pointers.push_back(vector.data());
      const auto dot = Interactions()
                           .Make("dot", {.widths = std::vector<uint32_t>(vectors, 2),
                                         .itself = itself,
                                         .products = &products})
                           .value();
      std::vector<float> z(2 * dot->width());
      dot->Forward(pointers, 2, z.data());

      std::vector<float> expected;
      for (const float scale : {1.0f, 10.0f}) {
        expected.push_back(scale == 1.0f ? 2.0f : 0.0f);
        expected.push_back(scale == 1.0f ? 0.0f : 20.0f);
        for (const auto& pair : want[itself ? "with_self" : "without_self"]) {
          expected.push_back(scale * primes[pair[0].get<size_t>()] * scale *
                             primes[pair[1].get<size_t>()]);
        }
      }
      EXPECT_EQ(z, expected) << vectors << " vectors, itself " << itself;
    }
  }
}

TEST(Interaction, CatPutsVectorsOfAnyWidthsSideBySide) {
  const auto cat = Interactions().Make("cat", {.widths = {2, 1}}).value();
  ASSERT_EQ(cat->width(), 3u);
  const std::vector<float> x = {1, 2, 4, 5}, y = {3, 6};
  std::vector<float> z(6);
  cat->Forward(std::vector<const float*>{x.data(), y.data()}, 2, z.data());
  EXPECT_EQ(z, (std::vector<float>{1, 2, 3, 4, 5, 6}));

  std::vector<float> dx(4), dy(2);
  cat->Backward(z.data(), 2, std::vector<float*>{dx.data(), dy.data()});
  EXPECT_EQ(dx, x);
  EXPECT_EQ(dy, y);
}

// Two cross layers of rank 1 over two vectors of one column, worked out by hand:
//   x0 = (2, 3); V0 x0 = -1, W0 . + b0 = (0.5, -1.5), x1 = (3, -1.5)
//   V1 x1 = 4.5, W1 . + b1 = (4.5, -3.5), x2 = (12, -12); then back from dz = (1, 1).
TEST(Interaction, DcnIsWhatItIsByHand) {
  MatrixProducts products;
  const auto dcn =
      Interactions()
          .Make(
              "dcn",
              {.widths = {1, 1}, .dcn_num_layers = 2, .dcn_low_rank_dim = 1, .products = &products})
          .value();
  ASSERT_EQ(dcn->width(), 2u);
  DenseParameters parameters;
  dcn->AddParameters(&parameters);
  parameters.Allocate();
  const std::vector<float> values = {1, -1, 0.5, 2,  1, 0.5,  // V0, W0, b0
                                     2, 1,  1,   -1, 0, 1};   // V1, W1, b1
  ASSERT_EQ(parameters.size(), values.size());
  std::ranges::copy(values, parameters.values().begin());

  // A sample of zeros before it adds nothing.
  const std::vector<float> x = {0, 2}, y = {0, 3};
  std::vector<float> z(4);
  dcn->Forward(std::vector<const float*>{x.data(), y.data()}, 2, z.data());
  EXPECT_EQ(z, (std::vector<float>{0, 0, 12, -12}));

  std::vector<float> dx(2), dy(2);
  const std::vector<float> dz = {0, 0, 1, 1};
  dcn->Backward(dz.data(), 2, std::vector<float*>{dx.data(), dy.data()});
  EXPECT_EQ(dx, (std::vector<float>{0, 2}));
  EXPECT_EQ(dy, (std::vector<float>{0, -2.5}));
  EXPECT_THAT(parameters.gradients(), testing::ElementsAre(-2, -3, 2, 0, -2, 0,  //
                                                           -3, 1.5, 9, 13.5, 2, 3));
}

// tests/vectors/gdcn.py.
TEST(Interaction, GdcnIsThePapersFormula) {
  const auto c = LoadVectors("gdcn.json");
  MatrixProducts products;
  const auto gdcn =
      Interactions()
          .Make("gdcn",
                {.widths = {2, 2}, .products = &products, .own = {{"gdcn_num_layers", "2"}}})
          .value();
  ASSERT_EQ(gdcn->width(), 4u);
  DenseParameters parameters;
  gdcn->AddParameters(&parameters);
  parameters.Allocate();
  const auto values = c["parameters"].get<std::vector<float>>();
  ASSERT_EQ(parameters.size(), values.size());
  std::ranges::copy(values, parameters.values().begin());

  const auto x = c["x"].get<std::vector<float>>(), y = c["y"].get<std::vector<float>>();
  const size_t samples = x.size() / 2;
  std::vector<float> z(samples * 4), dx(x.size()), dy(y.size());
  gdcn->Forward(std::vector<const float*>{x.data(), y.data()}, samples, z.data());
  const auto dz = c["dz"].get<std::vector<float>>();
  gdcn->Backward(dz.data(), samples, std::vector<float*>{dx.data(), dy.data()});
  const auto expect_near = [&](std::span<const float> got, const char* name) {
    const auto want = c[name].get<std::vector<double>>();
    ASSERT_EQ(got.size(), want.size()) << name;
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << name << i;
  };
  expect_near(z, "z");
  expect_near(dx, "dx");
  expect_near(dy, "dy");
  expect_near(parameters.gradients(), "gradients");
}

TEST(Interaction, SamplesBeyondABlockAreTheSameAsAlone) {
  MatrixProducts products;
  const InteractionOptions options = {.widths = {5, 5, 5}, .products = &products};
  constexpr size_t kSamples = 150;
  std::vector<std::vector<float>> t(3, std::vector<float>(kSamples * 5));
  for (size_t i = 0; i < 3; ++i) {
    for (size_t c = 0; c < t[i].size(); ++c) t[i][c] = static_cast<float>((c * 7 + i) % 11) - 5.0f;
  }
  const auto dot = Interactions().Make("dot", options).value();
  std::vector<float> all(kSamples * dot->width());
  dot->Forward(std::vector<const float*>{t[0].data(), t[1].data(), t[2].data()}, kSamples,
               all.data());
  for (const size_t s : {0ul, 127ul, 128ul, 149ul}) {
    std::vector<float> one(dot->width());
    const auto alone = Interactions().Make("dot", options).value();
    alone->Forward(std::vector<const float*>{&t[0][s * 5], &t[1][s * 5], &t[2][s * 5]}, 1,
                   one.data());
    EXPECT_EQ(std::vector<float>(&all[s * 8], &all[s * 8] + 8), one) << "sample " << s;
  }
}

}  // namespace
}  // namespace rowhouse
