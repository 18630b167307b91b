// LayerChain: consecutive layers forward and backward, the samples divided among the OpenMP
// threads. A thread takes its samples through all layers, so that threads wait for each other once
// a pass and not once a product: with two threads a step takes 9 % less time than if oneDNN
// divides each product (Kaggle's shape, 2048 samples, median of 8 interleaved pairs).
//
// Threads:   one caller.
// Memory:    for each part after the first, gradients of the parameters of all layers.
// Exactness: each part has the products of one thread. Gradients of parameters are summed over a
//            part's samples, then over the parts in their order, so that they depend on the number
//            of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker/dense/dense_parameters.h"
#include "worker/dense/linear_layer.h"

namespace rowhouse {

class LayerChain {
 public:
  // The layers' own; both outlive the chain.
  LayerChain(DenseParameters* parameters, MatrixProducts* products);

  // x: samples x in of the first layer; outputs[l]: samples x out of layer l, overwritten. Requires
  // samples >= 1.
  void Forward(std::span<LinearLayer> layers, const float* x, size_t samples,
               std::span<std::vector<float>> outputs);

  // For the last Forward of these layers. deltas[l]: samples x out, the gradient of outputs[l];
  // that of the last is given, all are changed to the gradients before the activations. Overwrites
  // the gradients of the layers' blocks and, unless null, dx (samples x in of the first layer).
  void Backward(std::span<LinearLayer> layers, const float* x, size_t samples,
                std::span<const std::vector<float>> outputs, std::span<std::vector<float>> deltas,
                float* dx);

  size_t gradient_floats() const;  // kept for the parts after the first

 private:
  struct Part {
    explicit Part(ElementType precision) : products(precision) {}

    MatrixProducts products;
    std::vector<float> gradients;  // of the layers; those of the first part lie where they belong
  };

  // Calls visit(number, part) for parts of the samples, on the threads; returns how many they are.
  size_t ForEachPart(size_t samples, const std::function<void(size_t, const PassPart&)>& visit);

  DenseParameters* const parameters_;
  MatrixProducts* const products_;            // of a pass in one part
  std::vector<std::unique_ptr<Part>> parts_;  // of a pass in several
};

}  // namespace rowhouse
