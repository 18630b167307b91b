// A chain in parts computes what each part computes by itself.
#include "worker/dense/layer_chain.h"

#include <omp.h>

#include <algorithm>
#include <span>
#include <vector>

#include "tests/testing/testing.h"
#include "tests/worker/normal_values.h"

namespace rowhouse {
namespace {

constexpr size_t kChainSamples = 100;  // in three parts: 33, 33, 34
constexpr uint32_t kWidths[] = {20, 40, 24, 1};

std::span<const float> RowsOf(const std::vector<float>& values, size_t columns, size_t first,
                              size_t count) {
  return std::span(values).subspan(first * columns, count * columns);
}

struct ChainPasses {
  std::vector<float> y, dx, gradients;
};

// A pass forward and one backward of samples [first, first + count) with `threads`.
ChainPasses RunChain(ElementType precision, int threads, size_t first, size_t count) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  MatrixProducts products(precision);
  DenseParameters dense;
  std::vector<LinearLayer> layers;
  constexpr size_t kLayers = std::size(kWidths) - 1;
  for (size_t l = 0; l < kLayers; ++l) {
    layers.emplace_back(
        LinearLayerSpec{.in = kWidths[l],
                        .out = kWidths[l + 1],
                        .activation = l + 1 < kLayers ? Activation::kRelu : Activation::kNone,
                        .weight_name = fmt::format("w{}", l),
                        .bias_name = fmt::format("b{}", l)},
        &dense, &products);
  }
  dense.Allocate();
  std::ranges::copy(NormalValues(dense.size(), 1), dense.values().begin());
  const std::vector<float> all_x = NormalValues(kChainSamples * kWidths[0], 2),
                           all_dy = NormalValues(kChainSamples * kWidths[kLayers], 3);
  const std::span<const float> x = RowsOf(all_x, kWidths[0], first, count);
  std::vector<std::vector<float>> outputs(kLayers), deltas(kLayers);
  for (size_t l = 0; l < kLayers; ++l) {
    outputs[l].resize(count * kWidths[l + 1]);
    deltas[l].resize(count * kWidths[l + 1]);
  }
  std::ranges::copy(RowsOf(all_dy, kWidths[kLayers], first, count), deltas.back().begin());
  ChainPasses passes = {.dx = std::vector<float>(count * kWidths[0])};
  LayerChain chain(&dense, &products);
  chain.Forward(layers, x.data(), count, outputs);
  chain.Backward(layers, x.data(), count, outputs, deltas, passes.dx.data());
  passes.y = outputs.back();
  passes.gradients.assign(dense.gradients().begin(), dense.gradients().end());
  omp_set_num_threads(before);
  return passes;
}

TEST(LayerChain, ThreadsHaveTheBitsOfTheirPartsAndGradientsAreAddedInOrder) {
  for (const ElementType precision : {ElementType::kF32, ElementType::kBf16}) {
    if (!HasProductsOf(precision)) continue;
    const ChainPasses whole = RunChain(precision, 3, 0, kChainSamples);
    ChainPasses joined;
    for (size_t p = 0; p < 3; ++p) {
      const size_t first = kChainSamples * p / 3, end = kChainSamples * (p + 1) / 3;
      const ChainPasses part = RunChain(precision, 1, first, end - first);
      joined.y.insert(joined.y.end(), part.y.begin(), part.y.end());
      joined.dx.insert(joined.dx.end(), part.dx.begin(), part.dx.end());
      if (p == 0) {
        joined.gradients = part.gradients;
      } else {
        for (size_t i = 0; i < part.gradients.size(); ++i) joined.gradients[i] += part.gradients[i];
      }
    }
    EXPECT_EQ(whole.y, joined.y);
    EXPECT_EQ(whole.dx, joined.dx);
    EXPECT_EQ(whole.gradients, joined.gradients);
    EXPECT_NE(whole.gradients, RunChain(precision, 1, 0, kChainSamples).gradients)
        << "one part, and not three";
  }
}

}  // namespace
}  // namespace rowhouse
