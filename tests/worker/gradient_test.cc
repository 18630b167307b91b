// Every gradient of the dense model against central differences of the same model in float64,
// written here once more from the definitions.
#include <cmath>
#include <random>

#include "tests/testing/testing.h"
#include "worker/dense/dlrm_model.h"

namespace rowhouse {
namespace {

using Vector = std::vector<double>;

// The mean loss, in float64, as a function of parameters (in DlrmModel's flat order) and inputs.
class Reference {
 public:
  explicit Reference(const ModelSpec& spec) : spec_(spec) {}

  // vectors[k]: pooled vectors of feature k, samples x width.
  double MeanLoss(const Vector& parameters, const Vector& dense, const std::vector<Vector>& pooled,
                  const std::vector<float>& labels) {
    const size_t samples = labels.size();
    double sum = 0.0;
    for (size_t s = 0; s < samples; ++s) {
      next_ = parameters.data();
      const size_t in = spec_.bottom_mlp.front();
      Vector x(dense.begin() + static_cast<ptrdiff_t>(s * in),
               dense.begin() + static_cast<ptrdiff_t>((s + 1) * in));
      for (size_t l = 1; l < spec_.bottom_mlp.size(); ++l) x = Layer(x, spec_.bottom_mlp[l], true);
      std::vector<Vector> t = {x};
      for (size_t k = 0; k < spec_.features(); ++k) {
        const auto* first = &pooled[k][s * spec_.feature_widths[k]];
        t.emplace_back(first, first + spec_.feature_widths[k]);
      }
      const double* const top = next_;
      next_ += TopSize();
      x = Interact(t);
      next_ = top;
      for (size_t l = 0; l < spec_.top_mlp.size(); ++l) {
        x = Layer(x, spec_.top_mlp[l], l + 1 < spec_.top_mlp.size());
      }
      double logit = x[0];
      if (spec_.wide) {  // their weights are the last parameters
        const double* const weights = &parameters[parameters.size() - in];
        for (size_t d = 0; d < in; ++d) logit += weights[d] * dense[s * in + d];
        for (size_t k = spec_.features(); k < pooled.size(); ++k) logit += pooled[k][s];
      }
      sum += Loss(1.0 / (1.0 + std::exp(-logit)), labels[s]);
    }
    return sum / static_cast<double>(samples);
  }

 private:
  size_t TopSize() const {
    size_t size = 0, in = spec_.interaction_width();
    for (const uint32_t out : spec_.top_mlp) {
      size += (in + 1) * out;
      in = out;
    }
    return size;
  }

  // W x, of the next out x x.size() parameters.
  Vector Product(const Vector& x, size_t out) {
    Vector y(out);
    for (double& value : y) {
      for (const double input : x) value += *next_++ * input;
    }
    return y;
  }

  Vector Layer(const Vector& x, size_t out, bool relu) {
    Vector y = Product(x, out);
    for (double& value : y) {
      value += *next_++;
      if (relu) value = std::max(value, 0.0);
    }
    return y;
  }

  Vector Interact(const std::vector<Vector>& t) {
    if (spec_.interaction == "dot") {
      Vector z = t[0];
      for (size_t i = 0; i < t.size(); ++i) {
        for (size_t j = 0; j < i + (spec_.interaction_itself ? 1 : 0); ++j) {
          double product = 0.0;
          for (size_t c = 0; c < t[i].size(); ++c) product += t[i][c] * t[j][c];
          z.push_back(product);
        }
      }
      return z;
    }
    Vector x0;
    for (const Vector& vector : t) x0.insert(x0.end(), vector.begin(), vector.end());
    if (spec_.interaction == "cat") return x0;
    Vector x = x0;
    if (spec_.interaction == "gdcn") {
      for (int l = 0; l < 2; ++l) {
        const Vector crossed = Layer(x, x0.size(), false), gate = Product(x, x0.size());
        for (size_t i = 0; i < x.size(); ++i) {
          x[i] += x0[i] * crossed[i] / (1.0 + std::exp(-gate[i]));
        }
      }
      return x;
    }
    for (uint32_t l = 0; l < spec_.dcn_num_layers; ++l) {
      const Vector low_rank = Product(x, spec_.dcn_low_rank_dim);
      const Vector scale = Layer(low_rank, x0.size(), false);
      for (size_t i = 0; i < x.size(); ++i) x[i] += x0[i] * scale[i];
    }
    return x;
  }

  double Loss(double p, double label) const {
    if (spec_.loss == "mse") return (p - label) * (p - label);
    const double bce = -(label * std::log(p) + (1.0 - label) * std::log(1.0 - p));
    return spec_.loss == "wbce" ? spec_.loss_weights[label >= 1.0 ? 1 : 0] * bce : bce;
  }

  const ModelSpec spec_;
  const double* next_ = nullptr;  // parameters from here on are not used yet
};

Vector Widen(std::span<const float> values) { return {values.begin(), values.end()}; }

// (interaction, itself, loss, wide)
using GradientCase = std::tuple<std::string, bool, std::string, bool>;

class Gradients : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradients, EqualCentralDifferencesInFloat64) {
  const auto& [interaction, itself, loss, wide] = GetParam();
  ModelSpec spec;
  spec.bottom_mlp = {5, 7, 4};
  spec.top_mlp = {6, 3, 1};
  spec.feature_widths = {4, 4, 4};
  if (interaction == "cat") spec.feature_widths = {6, 1, 3};
  spec.interaction = interaction;
  spec.interaction_itself = itself;
  spec.dcn_num_layers = 2;
  spec.dcn_low_rank_dim = 3;
  if (interaction == "gdcn") spec.interaction_own = {{"gdcn_num_layers", "2"}};
  spec.loss = loss;
  spec.wide = wide;
  spec.loss_weights = {0.5, 2.0};
  ASSERT_OK(spec.Validate());

  std::mt19937 random(3);
  const auto draw = [&](size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = std::uniform_real_distribution<float>(-0.7f, 0.7f)(random);
    }
    return values;
  };
  constexpr size_t kSamples = 8;
  DenseParameters parameters;
  DlrmModel model(spec, &parameters);
  parameters.Allocate();
  std::ranges::copy(draw(parameters.size()), parameters.values().begin());
  const std::vector<float> dense = draw(kSamples * 5);
  std::vector<std::vector<float>> pooled;
  std::vector<Vector> wide_pooled;
  for (size_t k = 0; k < spec.pooled(); ++k) {
    pooled.push_back(draw(kSamples * spec.pooled_width(k)));
    wide_pooled.push_back(Widen(pooled.back()));
  }
  const std::vector<float> labels = {1.0f, 0.0f, 0.25f, 1.0f, 1.0f, 0.0f, 0.75f, 0.0f};

  // Forward and backward twice: gradients are overwritten, not added to.
  std::vector<std::vector<float>> pooled_gradients;
  for (int i = 0; i < 2; ++i) {
    model.Forward(dense, kSamples, pooled);
    model.Backward(labels, kSamples, &pooled_gradients);
  }

  Reference reference(spec);
  Vector values = Widen(parameters.values());
  const Vector wide_dense = Widen(dense);
  const auto mean_loss = [&] {
    return reference.MeanLoss(values, wide_dense, wide_pooled, labels);
  };
  EXPECT_NEAR(model.LossSum(labels) / kSamples, mean_loss(), 1e-6);
  double largest = 0.0;
  const auto check = [&](double* value, float gradient, const std::string& what) {
    constexpr double kStep = 1e-6;  // so small that hardly a ReLU bends within it
    const double before = *value;
    *value = before + kStep;
    const double right = mean_loss();
    *value = before - kStep;
    const double left = mean_loss();
    *value = before;
    const double slope = (right - left) / (2 * kStep);
    largest = std::max(largest, std::fabs(slope));
    EXPECT_NEAR(gradient, slope, 1e-6 + 1e-5 * std::fabs(slope)) << what;
  };
  for (size_t b = 0; b < parameters.blocks().size(); ++b) {
    const DenseParameters::Block& block = parameters.blocks()[b];
    for (size_t i = 0; i < block.size(); ++i) {
      check(&values[block.offset + i], parameters.gradients(b)[i],
            block.name + "[" + std::to_string(i) + "]");
    }
  }
  for (size_t k = 0; k < pooled.size(); ++k) {
    for (size_t i = 0; i < pooled[k].size(); ++i) {
      check(&wide_pooled[k][i], pooled_gradients[k][i],
            "feature " + std::to_string(k) + "[" + std::to_string(i) + "]");
    }
  }
  EXPECT_GT(largest, 0.02);  // far above the tolerance
}

std::vector<GradientCase> AllGradientCases() {
  std::vector<GradientCase> cases;
  for (const std::string loss : {"mse", "bce", "wbce"}) {
    for (const std::string& interaction : Interactions().Names()) {
      cases.emplace_back(interaction, false, loss, false);
      if (loss == "bce") cases.emplace_back(interaction, false, loss, true);
    }
    cases.emplace_back("dot", true, loss, false);
  }
  return cases;
}

std::string GradientNameOf(const testing::TestParamInfo<GradientCase>& test) {
  return std::get<0>(test.param) + (std::get<1>(test.param) ? "_itself_" : "_") +
         std::get<2>(test.param) + (std::get<3>(test.param) ? "_wide" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(AllGradientCases()), GradientNameOf);

}  // namespace
}  // namespace rowhouse
