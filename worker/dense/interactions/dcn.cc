// "dcn": the low-rank cross layers of DCN-v2 (Wang et al., 2021, eq. 2 and section 4.2; MLPerf's
// DLRM-v2, torchrec's LowRankCrossNet): with x_0 = [t_0 | t_1 | ...], n floats, for every layer
//
//   x_{l+1} = x_0 * (W_l (V_l x_l) + b_l) + x_l,   * elementwise
//
// V is rank x n, W is n x rank, b has n. The result is x_L, n floats. Blocks, per layer in the
// order of use, by torchrec's names: crossnet.V_kernels.0, crossnet.W_kernels.0, crossnet.bias.0.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "common/kernels/row_updates.h"
#include "common/kernels/target_clones.h"
#include "worker/dense/interaction.h"
#include "worker/dense/linear_layer.h"

namespace rowhouse {
namespace {

// next = x0 * scale + x
ROWHOUSE_TARGET_CLONES
void Cross(const float* __restrict x0, const float* __restrict scale, const float* __restrict x,
           size_t count, float* __restrict next) {
  for (size_t i = 0; i < count; ++i) next[i] = x0[i] * scale[i] + x[i];
}

// For the gradient d of `next`: dscale = d * x0, dx0 += d * scale.
ROWHOUSE_TARGET_CLONES
void CrossBackward(const float* __restrict d, const float* __restrict x0,
                   const float* __restrict scale, size_t count, float* __restrict dscale,
                   float* __restrict dx0) {
  for (size_t i = 0; i < count; ++i) {
    dscale[i] = d[i] * x0[i];
    dx0[i] += d[i] * scale[i];
  }
}

class DcnInteraction final : public Interaction {
 public:
  explicit DcnInteraction(const InteractionOptions& options)
      : widths_(options.widths),
        width_(StackedWidth(widths_)),
        rank_(options.dcn_low_rank_dim),
        layers_(options.dcn_num_layers),
        products_(options.products) {}

  uint32_t width() const override { return width_; }

  void AddParameters(DenseParameters* parameters) override {
    for (Layer& layer : layers_) {
      const size_t l = static_cast<size_t>(&layer - layers_.data());
      layer.into_rank.emplace(
          LinearLayerSpec{.in = width_,
                          .out = rank_,
                          .weight_name = fmt::format("crossnet.V_kernels.{}", l),
                          .initial_weights = InitialValues::kXavierNormal},
          parameters, products_);
      layer.out_of_rank.emplace(
          LinearLayerSpec{.in = rank_,
                          .out = width_,
                          .weight_name = fmt::format("crossnet.W_kernels.{}", l),
                          .bias_name = fmt::format("crossnet.bias.{}", l),
                          .initial_weights = InitialValues::kXavierNormal},
          parameters, products_);
    }
  }

  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    CHECK_EQ(vectors.size(), widths_.size());
    x0_.resize(samples * width_);
    Stack(vectors, widths_, samples, x0_.data());
    const float* x = x0_.data();
    for (Layer& layer : layers_) {
      layer.low_rank.resize(samples * rank_);
      layer.scale.resize(samples * width_);
      layer.into_rank->Forward(x, samples, layer.low_rank.data());
      layer.out_of_rank->Forward(layer.low_rank.data(), samples, layer.scale.data());
      const bool is_last = &layer == &layers_.back();
      if (!is_last) layer.next.resize(samples * width_);
      float* const next = is_last ? z : layer.next.data();
      Cross(x0_.data(), layer.scale.data(), x, samples * width_, next);
      x = next;
    }
  }

  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    CHECK_EQ(gradients.size(), widths_.size());
    CHECK_EQ(x0_.size(), samples * width_);
    const size_t floats = samples * width_;
    dx_.assign(dz, dz + floats);
    dx0_.assign(floats, 0.0f);
    dscale_.resize(floats);
    from_low_rank_.resize(floats);
    dlow_rank_.resize(samples * rank_);
    for (size_t l = layers_.size(); l-- > 0;) {
      Layer& layer = layers_[l];
      CrossBackward(dx_.data(), x0_.data(), layer.scale.data(), floats, dscale_.data(),
                    dx0_.data());
      layer.out_of_rank->Backward(layer.scale.data(), dscale_.data(), dlow_rank_.data());
      layer.into_rank->Backward(layer.low_rank.data(), dlow_rank_.data(), from_low_rank_.data());
      AddRow(from_low_rank_, dx_);
    }
    AddRow(dx0_, dx_);
    Unstack(dx_.data(), widths_, samples, gradients);
  }

 private:
  struct Layer {
    std::optional<LinearLayer> into_rank;    // V
    std::optional<LinearLayer> out_of_rank;  // W and b
    std::vector<float> low_rank;             // samples x rank: V x
    std::vector<float> scale;                // samples x n: W (V x) + b
    std::vector<float> next;  // samples x n: x_{l+1}; the last layer's is the caller's
  };

  const std::vector<uint32_t> widths_;
  const uint32_t width_;  // n
  const uint32_t rank_;
  std::vector<Layer> layers_;
  MatrixProducts* const products_;
  std::vector<float> x0_;                                             // of the last Forward
  std::vector<float> dx_, dx0_, dscale_, dlow_rank_, from_low_rank_;  // of Backward
};

double RelativeWorkOfDcn(const InteractionOptions& options) {
  static const InteractionOptions kDefaults;
  return static_cast<double>(options.dcn_num_layers) * options.dcn_low_rank_dim /
         (static_cast<double>(kDefaults.dcn_num_layers) * kDefaults.dcn_low_rank_dim);
}

REGISTER_MEMBER(Interactions().Add<DcnInteraction>("dcn", InteractionDeclaration{
                                                              .multiplies_matrices = true,
                                                              .relative_work = RelativeWorkOfDcn}));

}  // namespace
}  // namespace rowhouse
