#include "worker/dense/dlrm_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "worker/dense/interaction.h"
#include "worker/dense/layer_chain.h"
#include "worker/dense/linear_layer.h"
#include "worker/dense/loss.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {
namespace {

// Those of the layers from `first` to `last`, both included.
template <typename T>
std::span<T> Of(std::vector<T>& of_layers, size_t first, size_t last) {
  return std::span(of_layers).subspan(first, last + 1 - first);
}

bool IsActive(double loss_threshold) { return loss_threshold > 0.0 && loss_threshold < 1.0; }

}  // namespace

struct DlrmModel::Impl {
  Impl(const ModelSpec& spec, DenseParameters* parameters);

  void AddLayer(std::string_view mlp, size_t number, uint32_t in, uint32_t out,
                Activation activation);
  // Runs layers [first, last) on x; layer l's output is outputs[l].
  void ForwardLayers(size_t first, size_t last, const float* x);
  // Whether the layer is not the last of its MLP.
  bool IsHidden(size_t layer) const {
    return layer + 1 != bottom_layers && layer + 1 != layers.size();
  }
  // Share of the layer's units that the last Forward dropped.
  double DroppedOf(size_t layer) const {
    if (!draws || !IsHidden(layer)) return 0.0;
    return layer < bottom_layers ? spec.dropout_bot : spec.dropout_top;
  }
  // Whether the samples meet after the layer: to be normalised or dropped, or for its phase to end.
  bool EndsChain(size_t layer) const {
    return norms[layer] || DroppedOf(layer) > 0.0 || !layer_phases.empty();
  }
  // Given deltas[last - 1], fills gradients and deltas of layers [first, last), and dx unless null.
  // x: as for ForwardLayers.
  void BackwardLayers(size_t first, size_t last, const float* x, float* dx);
  // Adds the first-order weights of the samples to their logits.
  void ForwardWide(std::span<const std::vector<float>> pooled);
  // The gradients of those weights, given the logits'. pooled_gradients: of the wide features.
  void BackwardWide(std::span<std::vector<float>> pooled_gradients);

  const ModelSpec spec;
  DenseParameters* const parameters;
  size_t first_block = 0, end_block = 0;  // of `parameters`: the model's own
  std::optional<size_t> wide_block;       // weights of the dense numbers, if the model is wide
  MatrixProducts products;                // of the MLPs
  MatrixProducts interaction_products;    // f32 where the MLPs' are of integers
  std::unique_ptr<Interaction> interaction;
  std::unique_ptr<Loss> loss;
  std::vector<LinearLayer> layers;              // bottom first
  LayerChain chain;                             // of them
  std::vector<std::optional<BatchNorm>> norms;  // as layers; of hidden ones, if the model has any
  SumOverWorkers sum_over_workers;
  std::vector<LayerView> views;  // as layers
  size_t bottom_layers = 0;

  // The last Forward.
  std::optional<DropoutDraws> draws;
  size_t samples = 0;
  std::span<const float> dense;
  std::vector<std::vector<float>> outputs;  // one a layer, samples x out
  std::vector<float> interacted;            // samples x interaction width
  std::vector<float> sigmoid;               // samples
  std::vector<float> probabilities;         // samples: sigmoid, clamped if there is a threshold

  // Phase of what was done since the last: of a layer's direction if spans are kept.
  void EndLayer(size_t layer, bool is_forward) {
    if (!layer_phases.empty()) phases.log->End(layer_phases[layer][is_forward ? 0 : 1], samples);
  }
  void EndMlp() {
    if (phases.log != nullptr) phases.log->End(phases.mlp);
  }
  void EndInteraction(bool is_forward) {
    if (phases.log == nullptr) return;
    phases.log->End(
        layer_phases.empty() ? phases.interaction : interaction_phases[is_forward ? 0 : 1],
        samples);
  }

  Phases phases;
  std::vector<std::array<PhaseLog::Phase, 2>> layer_phases;  // forward and backward; or none
  std::array<PhaseLog::Phase, 2> interaction_phases = {};

  std::vector<std::vector<float>> deltas;  // gradients of outputs
  std::vector<float> interacted_delta;
};

DlrmModel::Impl::Impl(const ModelSpec& model, DenseParameters* dense_parameters)
    : spec(model),
      parameters(dense_parameters),
      first_block(dense_parameters->blocks().size()),
      products(model.precision()),
      interaction_products(model.precision() == ElementType::kS8 ? ElementType::kF32
                                                                 : model.precision()),
      chain(dense_parameters, &products) {
  const Status status = spec.Validate();
  CHECK(status.ok()) << status.ToString();
  interaction = Interactions()
                    .Make(spec.interaction, spec.interaction_options(&interaction_products))
                    .value();
  loss = Losses()
             .Make(spec.loss, {.class_weights = {spec.loss_weights[0], spec.loss_weights[1]},
                               .own = spec.loss_own})
             .value();
  for (size_t i = 1; i < spec.bottom_mlp.size(); ++i) {
    const bool has_norm = spec.batch_norm && i + 1 < spec.bottom_mlp.size();
    AddLayer("bot_l", i - 1, spec.bottom_mlp[i - 1], spec.bottom_mlp[i],
             has_norm ? Activation::kNone : Activation::kRelu);
  }
  bottom_layers = layers.size();
  uint32_t in = interaction->width();
  for (size_t i = 0; i < spec.top_mlp.size(); ++i) {
    // The last layer's sigmoid is part of the loss, below.
    const bool is_last = i + 1 == spec.top_mlp.size();
    AddLayer("top_l", i, in, spec.top_mlp[i],
             is_last || spec.batch_norm ? Activation::kNone : Activation::kRelu);
    in = spec.top_mlp[i];
  }
  interaction->AddParameters(parameters);
  if (spec.wide) wide_block = parameters->Add("wide.weight", 1, spec.bottom_mlp.front());
  norms.resize(layers.size());
  for (size_t l = 0; l < layers.size() && spec.batch_norm; ++l) {
    if (!IsHidden(l)) continue;
    const std::string name = l < bottom_layers ? fmt::format("bot_bn.{}", l)
                                               : fmt::format("top_bn.{}", l - bottom_layers);
    norms[l].emplace(layers[l].out(), name, parameters);
  }
  end_block = parameters->blocks().size();
  outputs.resize(layers.size());
  deltas.resize(layers.size());
}

void DlrmModel::Impl::AddLayer(std::string_view mlp, size_t number, uint32_t in, uint32_t out,
                               Activation activation) {
  // torch counts activations as layers of their own.
  const std::string name = fmt::format("{}.{}", mlp, 2 * number);
  const LinearLayer& layer = layers.emplace_back(LinearLayerSpec{.in = in,
                                                                 .out = out,
                                                                 .activation = activation,
                                                                 .weight_name = name + ".weight",
                                                                 .bias_name = name + ".bias"},
                                                 parameters, &products);
  views.push_back({.in = in,
                   .out = out,
                   .weights = parameters->blocks()[layer.weight_block()].offset,
                   .bias = parameters->blocks()[layer.bias_block()].offset});
}

void DlrmModel::Impl::ForwardLayers(size_t first, size_t last, const float* x) {
  for (size_t l = first; l < last; ++l) outputs[l].resize(samples * layers[l].out());
  while (first < last) {
    size_t l = first;  // the last of the chain
    while (l + 1 < last && !EndsChain(l)) ++l;
    if (samples > 0) chain.Forward(Of(layers, first, l), x, samples, Of(outputs, first, l));
    if (norms[l] && draws) norms[l]->ForwardOfStep(samples, sum_over_workers, outputs[l].data());
    if (norms[l] && !draws) norms[l]->ForwardOfScores(samples, outputs[l].data());
    if (const double p = DroppedOf(l); p > 0.0) {
      DropUnits(*draws, l, p, samples, layers[l].out(), outputs[l].data());
    }
    EndLayer(l, /*is_forward=*/true);
    x = outputs[l].data();
    first = l + 1;
  }
}

void DlrmModel::Impl::BackwardLayers(size_t first, size_t last, const float* x, float* dx) {
  for (size_t l = first; l + 1 < last; ++l) deltas[l].resize(samples * layers[l].out());
  while (first < last) {
    const size_t end = last - 1;  // the last of the chain
    size_t l = end;
    while (l > first && !EndsChain(l - 1)) --l;
    if (const double p = DroppedOf(end); p > 0.0) {
      DropUnitsBackward(p, deltas[end].size(), deltas[end].data());
    }
    if (norms[end]) {
      norms[end]->Backward(outputs[end].data(), sum_over_workers, deltas[end].data());
    }
    if (samples > 0) {
      chain.Backward(Of(layers, l, end), l > first ? outputs[l - 1].data() : x, samples,
                     Of(outputs, l, end), Of(deltas, l, end),
                     l > first ? deltas[l - 1].data() : dx);
    }
    EndLayer(l, /*is_forward=*/false);
    last = l;
  }
}

void DlrmModel::Impl::ForwardWide(std::span<const std::vector<float>> pooled) {
  const std::span<const float> weights = parameters->values(*wide_block);
  const float* number = dense.data();
  for (size_t s = 0; s < samples; ++s) {
    float sum = 0.0f;
    for (const float weight : weights) sum += weight * *number++;
    for (const std::vector<float>& feature : pooled) sum += feature[s];
    outputs.back()[s] += sum;
  }
}

void DlrmModel::Impl::BackwardWide(std::span<std::vector<float>> pooled_gradients) {
  const std::vector<float>& delta = deltas.back();
  const std::span<float> gradients = parameters->gradients(*wide_block);
  std::ranges::fill(gradients, 0.0f);
  const float* number = dense.data();
  for (size_t s = 0; s < samples; ++s) {
    for (float& gradient : gradients) gradient += delta[s] * *number++;
  }
  for (std::vector<float>& feature : pooled_gradients) feature = delta;
}

DlrmModel::DlrmModel(const ModelSpec& spec, DenseParameters* parameters)
    : impl_(std::make_unique<Impl>(spec, parameters)) {}
DlrmModel::~DlrmModel() = default;

size_t DlrmModel::activation_bytes() const {
  const Impl& m = *impl_;
  size_t floats = m.interacted.capacity() + m.interacted_delta.capacity() + m.sigmoid.capacity() +
                  m.probabilities.capacity() + m.chain.gradient_floats();
  for (size_t l = 0; l < m.layers.size(); ++l) {
    floats += m.outputs[l].capacity() + m.deltas[l].capacity();
    if (m.norms[l]) floats += m.norms[l]->kept_floats();
  }
  return floats * sizeof(float);
}

void DlrmModel::CountPhasesIn(const Phases& phases) {
  Impl& m = *impl_;
  m.phases = phases;
  m.layer_phases.clear();
  if (phases.log == nullptr || !phases.log->keeps_spans()) return;
  for (size_t l = 0; l < m.layers.size(); ++l) {
    const std::string& weight = m.parameters->blocks()[m.layers[l].weight_block()].name;
    const std::string layer = weight.substr(0, weight.rfind('.'));
    std::array<PhaseLog::Phase, 2>& both = m.layer_phases.emplace_back();
    for (const bool is_forward : {true, false}) {
      both[is_forward ? 0 : 1] = phases.log->Add(
          {.name = fmt::format("mlp/{} {}", layer, is_forward ? "forward" : "backward"),
           .amounts = {"samples"},
           .sizes = {{"inputs", m.views[l].in}, {"outputs", m.views[l].out}}});
    }
  }
  for (const bool is_forward : {true, false}) {
    m.interaction_phases[is_forward ? 0 : 1] =
        phases.log->Add({.name = fmt::format("interaction/{} {}", m.spec.interaction,
                                             is_forward ? "forward" : "backward"),
                         .amounts = {"samples"},
                         .sizes = {{"vectors", static_cast<double>(m.spec.features() + 1)},
                                   {"width", static_cast<double>(m.spec.bottom_mlp.back())}}});
  }
}

const std::vector<DlrmModel::LayerView>& DlrmModel::layers() const { return impl_->views; }
size_t DlrmModel::bottom_layers() const { return impl_->bottom_layers; }

void DlrmModel::SumOverWorkersBy(SumOverWorkers sum) { impl_->sum_over_workers = std::move(sum); }

std::vector<size_t> DlrmModel::SumsOfAStep() const {
  const Impl& m = *impl_;
  std::vector<size_t> sums;
  for (const std::optional<BatchNorm>& norm : m.norms) {
    if (!norm) continue;
    for (const size_t floats : norm->forward_sums()) sums.push_back(floats);
  }
  for (size_t l = m.norms.size(); l-- > 0;) {
    if (m.norms[l]) sums.push_back(m.norms[l]->backward_sums());
  }
  return sums;
}

void DlrmModel::MoveStatistics() {
  for (std::optional<BatchNorm>& norm : impl_->norms) {
    if (norm) norm->MoveStatistics();
  }
}

void DlrmModel::DropUnitsBy(const std::optional<DropoutDraws>& draws) { impl_->draws = draws; }

std::span<const float> DlrmModel::Forward(std::span<const float> dense, size_t samples,
                                          std::span<const std::vector<float>> pooled) {
  ForwardBottom(dense, samples);
  return ForwardRest(pooled);
}

void DlrmModel::ForwardBottom(std::span<const float> dense, size_t samples) {
  Impl& m = *impl_;
  CHECK_EQ(dense.size(), samples * m.spec.bottom_mlp.front());
  m.samples = samples;
  m.dense = dense;
  if (samples > 0 || m.spec.batch_norm) m.ForwardLayers(0, m.bottom_layers, m.dense.data());
  m.EndMlp();
}

std::span<const float> DlrmModel::ForwardRest(std::span<const std::vector<float>> pooled) {
  Impl& m = *impl_;
  const size_t samples = m.samples;
  CHECK_EQ(pooled.size(), m.spec.pooled());
  for (size_t k = 0; k < pooled.size(); ++k) {
    CHECK_EQ(pooled[k].size(), samples * m.spec.pooled_width(k));
  }
  m.sigmoid.resize(samples);
  m.probabilities.resize(samples);
  if (samples == 0) {
    // Workers with samples wait for the sums.
    if (m.spec.batch_norm) m.ForwardLayers(m.bottom_layers, m.layers.size(), nullptr);
    return m.probabilities;
  }

  std::vector<const float*> vectors = {m.outputs[m.bottom_layers - 1].data()};
  for (const std::vector<float>& feature : pooled.first(m.spec.features())) {
    vectors.push_back(feature.data());
  }
  m.interacted.resize(samples * m.interaction->width());
  m.interaction->Forward(vectors, samples, m.interacted.data());
  m.EndInteraction(/*is_forward=*/true);

  m.ForwardLayers(m.bottom_layers, m.layers.size(), m.interacted.data());
  if (m.wide_block) m.ForwardWide(pooled.subspan(m.spec.features()));
  const bool clamps = IsActive(m.spec.loss_threshold);
  const auto low = static_cast<float>(m.spec.loss_threshold);
  const auto high = static_cast<float>(1.0 - m.spec.loss_threshold);
  for (size_t s = 0; s < samples; ++s) {
    m.sigmoid[s] = 1.0f / (1.0f + std::exp(-m.outputs.back()[s]));
    m.probabilities[s] = clamps ? std::clamp(m.sigmoid[s], low, high) : m.sigmoid[s];
  }
  m.EndMlp();
  return m.probabilities;
}

double DlrmModel::LossSum(std::span<const float> labels, std::span<const float> weights) const {
  const Impl& m = *impl_;
  CHECK_EQ(labels.size(), m.samples);
  CHECK(weights.empty() || weights.size() == m.samples);
  double sum = 0.0;
  for (size_t s = 0; s < m.samples; ++s) {
    const double value = m.loss->Value(m.probabilities[s], labels[s]);
    sum += weights.empty() ? value : double{weights[s]} * value;
  }
  return sum;
}

void DlrmModel::BackwardTop(std::span<const float> labels, std::span<const float> weights,
                            uint64_t global_samples,
                            std::vector<std::vector<float>>* pooled_gradients) {
  Impl& m = *impl_;
  CHECK_EQ(labels.size(), m.samples);
  CHECK(weights.empty() || weights.size() == m.samples);
  CHECK_GE(global_samples, m.samples);
  pooled_gradients->resize(m.spec.pooled());
  for (size_t k = 0; k < m.spec.pooled(); ++k) {
    (*pooled_gradients)[k].resize(m.samples * m.spec.pooled_width(k));
  }
  if (m.samples == 0) {
    for (size_t block = m.first_block; block < m.end_block; ++block) {
      std::ranges::fill(m.parameters->gradients(block), 0.0f);
    }
    if (m.spec.batch_norm) m.BackwardLayers(m.bottom_layers, m.layers.size(), nullptr, nullptr);
    return;
  }

  // The only division by the number of samples: from here on gradients are only summed.
  const auto divisor = static_cast<float>(global_samples);
  m.deltas.back().resize(m.samples);
  for (size_t s = 0; s < m.samples; ++s) {
    const float p = m.sigmoid[s];
    // Written so that a NaN is not taken for a clamped value and hidden.
    const bool is_clamped = p < m.probabilities[s] || p > m.probabilities[s];
    float by_p = m.loss->Gradient(m.probabilities[s], labels[s]) / divisor;
    if (!weights.empty()) by_p *= weights[s];
    m.deltas.back()[s] = is_clamped ? 0.0f : by_p * (1.0f - p) * p;
  }
  const std::span features = std::span(*pooled_gradients).first(m.spec.features());
  if (m.wide_block) m.BackwardWide(std::span(*pooled_gradients).subspan(m.spec.features()));
  m.interacted_delta.resize(m.interacted.size());
  m.BackwardLayers(m.bottom_layers, m.layers.size(), m.interacted.data(),
                   m.interacted_delta.data());
  m.EndMlp();

  std::vector<float>& bottom_delta = m.deltas[m.bottom_layers - 1];
  bottom_delta.resize(m.samples * m.spec.bottom_mlp.back());
  std::vector<float*> gradients = {bottom_delta.data()};
  for (std::vector<float>& feature : features) gradients.push_back(feature.data());
  m.interaction->Backward(m.interacted_delta.data(), m.samples, gradients);
  m.EndInteraction(/*is_forward=*/false);
}

void DlrmModel::BackwardBottom() {
  Impl& m = *impl_;
  if (m.samples > 0 || m.spec.batch_norm)
    m.BackwardLayers(0, m.bottom_layers, m.dense.data(), nullptr);
  m.EndMlp();
}

}  // namespace rowhouse
