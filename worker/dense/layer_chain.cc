#include "worker/dense/layer_chain.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "worker/dense/column_parts.h"

namespace rowhouse {
namespace {

constexpr size_t kMinSamplesOfPart = 32;  // fewer take less time than waking a thread

}  // namespace

LayerChain::LayerChain(DenseParameters* parameters, MatrixProducts* products)
    : parameters_(parameters), products_(products) {}

size_t LayerChain::gradient_floats() const {
  size_t floats = 0;
  for (const auto& part : parts_) floats += part->gradients.capacity();
  return floats;
}

size_t LayerChain::ForEachPart(size_t samples,
                               const std::function<void(size_t, const PassPart&)>& visit) {
  const auto threads = static_cast<size_t>(omp_get_max_threads());
  const bool divides = products_->precision() != ElementType::kS8;  // such layers have no parts
  const size_t parts = divides ? std::clamp<size_t>(samples / kMinSamplesOfPart, 1, threads) : 1;
  if (parts == 1) {
    visit(0, {.samples = samples, .products = products_});
    return 1;
  }
  while (parts_.size() < parts) {
    parts_.push_back(std::make_unique<Part>(products_->precision()));
  }
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(parts))
  for (size_t p = 0; p < parts; ++p) {
    const size_t begin = samples * p / parts, end = samples * (p + 1) / parts;
    visit(p, {.first = begin, .samples = end - begin, .products = &parts_[p]->products});
  }
  return parts;
}

void LayerChain::Forward(std::span<LinearLayer> layers, const float* x, size_t samples,
                         std::span<std::vector<float>> outputs) {
  for (LinearLayer& layer : layers) layer.Begin(samples);
  ForEachPart(samples, [&](size_t, const PassPart& part) {
    for (size_t l = 0; l < layers.size(); ++l) {
      layers[l].ForwardPart(part, l == 0 ? x : outputs[l - 1].data(), outputs[l].data());
    }
  });
}

void LayerChain::Backward(std::span<LinearLayer> layers, const float* x, size_t samples,
                          std::span<const std::vector<float>> outputs,
                          std::span<std::vector<float>> deltas, float* dx) {
  const std::span<const DenseParameters::Block> blocks = parameters_->blocks();
  const size_t begin = blocks[layers.front().weight_block()].offset;
  const DenseParameters::Block& last = blocks[layers.back().bias_block()];
  const std::span<float> gradients =
      parameters_->gradients().subspan(begin, last.offset + last.size() - begin);
  const size_t parts = ForEachPart(samples, [&](size_t p, const PassPart& part) {
    float* sums = gradients.data();
    if (p > 0) {
      parts_[p]->gradients.resize(gradients.size());
      sums = parts_[p]->gradients.data();
    }
    for (size_t l = layers.size(); l-- > 0;) {
      layers[l].BackwardPart(part, l == 0 ? x : outputs[l - 1].data(), outputs[l].data(),
                             deltas[l].data(), l == 0 ? dx : deltas[l - 1].data(),
                             sums + (blocks[layers[l].weight_block()].offset - begin),
                             sums + (blocks[layers[l].bias_block()].offset - begin));
    }
  });
  ForColumns(parts, gradients.size(), [&](size_t first, size_t count) {
    for (size_t p = 1; p < parts; ++p) {
      const float* const of_part = parts_[p]->gradients.data();
      for (size_t i = first; i < first + count; ++i) gradients[i] += of_part[i];
    }
  });
}

}  // namespace rowhouse
