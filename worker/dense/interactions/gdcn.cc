// "gdcn": the gated cross layers of GDCN (Wang et al., 2023, "Towards Deeper, Lighter and
// Interpretable Cross Network for CTR Prediction", eq. 3): with x_0 = [t_0 | t_1 | ...], n floats,
// for every layer
//
//   x_{l+1} = x_0 * (W_l x_l + b_l) * sigmoid(G_l x_l) + x_l,   * elementwise
//
// W and G are n x n, b has n. The gate lets each float of each sample take less of a layer, so that
// more layers than DCN's do no harm. The result is x_L, n floats. Blocks, per layer in the order of
// use: crossnet.w.0.weight, crossnet.b.0, crossnet.wg.0.weight.
#include <fmt/format.h>
#include <glog/logging.h>

#include <cmath>
#include <optional>
#include <vector>

#include "common/kernels/row_updates.h"
#include "common/kernels/target_clones.h"
#include "worker/dense/interaction.h"
#include "worker/dense/linear_layer.h"

namespace rowhouse {
namespace {

const DeclaredOption kGatedLayers =
    DeclaredOption::Whole("gdcn_num_layers", 3, 1, 64, "gated cross layers");

void Sigmoid(size_t count, float* values) {
  const auto end = static_cast<int64_t>(count);
#pragma omp parallel for schedule(static) if (count >= size_t{1} << 14)
  for (int64_t i = 0; i < end; ++i) values[i] = 1.0f / (1.0f + std::exp(-values[i]));
}

// next = x0 * crossed * gate + x
ROWHOUSE_TARGET_CLONES
void GatedCross(const float* __restrict x0, const float* __restrict crossed,
                const float* __restrict gate, const float* __restrict x, size_t count,
                float* __restrict next) {
  for (size_t i = 0; i < count; ++i) next[i] = x0[i] * crossed[i] * gate[i] + x[i];
}

// For the gradient d of `next`: those of `crossed` and of what the gate's sigmoid is of; and
// dx0 += that of x0.
ROWHOUSE_TARGET_CLONES
void GatedCrossBackward(const float* __restrict d, const float* __restrict x0,
                        const float* __restrict crossed, const float* __restrict gate, size_t count,
                        float* __restrict dcrossed, float* __restrict dgate,
                        float* __restrict dx0) {
  for (size_t i = 0; i < count; ++i) {
    dcrossed[i] = d[i] * x0[i] * gate[i];
    dgate[i] = d[i] * x0[i] * crossed[i] * (gate[i] * (1.0f - gate[i]));
    dx0[i] += d[i] * crossed[i] * gate[i];
  }
}

class GdcnInteraction final : public Interaction {
 public:
  explicit GdcnInteraction(const InteractionOptions& options)
      : widths_(options.widths),
        width_(StackedWidth(widths_)),
        layers_(kGatedLayers.WholeIn(options.own)),
        products_(options.products) {}

  uint32_t width() const override { return width_; }

  void AddParameters(DenseParameters* parameters) override {
    for (size_t l = 0; l < layers_.size(); ++l) {
      const auto matrix = [&](const char* name, const std::string& bias) {
        return LinearLayerSpec{.in = width_,
                               .out = width_,
                               .weight_name = fmt::format("crossnet.{}.{}.weight", name, l),
                               .bias_name = bias,
                               .initial_weights = InitialValues::kXavierNormal};
      };
      layers_[l].cross.emplace(matrix("w", fmt::format("crossnet.b.{}", l)), parameters, products_);
      layers_[l].gate.emplace(matrix("wg", ""), parameters, products_);
    }
  }

  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    CHECK_EQ(vectors.size(), widths_.size());
    const size_t floats = samples * width_;
    x0_.resize(floats);
    Stack(vectors, widths_, samples, x0_.data());
    const float* x = x0_.data();
    for (Layer& layer : layers_) {
      layer.crossed.resize(floats);
      layer.opening.resize(floats);
      layer.cross->Forward(x, samples, layer.crossed.data());
      layer.gate->Forward(x, samples, layer.opening.data());
      Sigmoid(floats, layer.opening.data());
      const bool is_last = &layer == &layers_.back();
      if (!is_last) layer.next.resize(floats);
      float* const next = is_last ? z : layer.next.data();
      GatedCross(x0_.data(), layer.crossed.data(), layer.opening.data(), x, floats, next);
      x = next;
    }
  }

  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    CHECK_EQ(gradients.size(), widths_.size());
    CHECK_EQ(x0_.size(), samples * width_);
    const size_t floats = samples * width_;
    dx_.assign(dz, dz + floats);
    dx0_.assign(floats, 0.0f);
    dcrossed_.resize(floats);
    dgate_.resize(floats);
    from_product_.resize(floats);
    for (size_t l = layers_.size(); l-- > 0;) {
      Layer& layer = layers_[l];
      GatedCrossBackward(dx_.data(), x0_.data(), layer.crossed.data(), layer.opening.data(), floats,
                         dcrossed_.data(), dgate_.data(), dx0_.data());
      layer.cross->Backward(layer.crossed.data(), dcrossed_.data(), from_product_.data());
      AddRow(from_product_, dx_);
      layer.gate->Backward(layer.opening.data(), dgate_.data(), from_product_.data());
      AddRow(from_product_, dx_);
    }
    AddRow(dx0_, dx_);
    Unstack(dx_.data(), widths_, samples, gradients);
  }

 private:
  struct Layer {
    std::optional<LinearLayer> cross, gate;  // W with b; G
    // samples x n: W x + b; the sigmoid; x_{l+1}, which of the last layer is the caller's.
    std::vector<float> crossed, opening, next;
  };

  const std::vector<uint32_t> widths_;
  const uint32_t width_;  // n
  std::vector<Layer> layers_;
  MatrixProducts* const products_;
  std::vector<float> x0_;                                          // of the last Forward
  std::vector<float> dx_, dx0_, dcrossed_, dgate_, from_product_;  // of Backward
};

double RelativeWorkOfGdcn(const InteractionOptions& options) {
  return static_cast<double>(kGatedLayers.WholeIn(options.own)) /
         static_cast<double>(kGatedLayers.WholeIn({}));
}

REGISTER_MEMBER(Interactions().Add<GdcnInteraction>(
    "gdcn",
    InteractionDeclaration{.multiplies_matrices = true, .relative_work = RelativeWorkOfGdcn},
    {kGatedLayers}));

}  // namespace
}  // namespace rowhouse
