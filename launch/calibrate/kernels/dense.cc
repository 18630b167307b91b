// The dense part of a step.
//   fully_connected_forward, fully_connected_backward (samples, inputs, outputs)   with ReLU
//   fully_connected_bf16_forward, ..._backward     the same in bf16, where the CPU has AVX-512
//   interaction_<op> (samples, vectors, width)     forward and backward
//   dense_update_<optimizer> (floats)              the copy for the allreduce, checks, and update
// Layers are measured four at a time, forward one after the other, then backward from the last, as
// an MLP uses them; a figure is that of one.
#include <algorithm>

#include "common/kernels/finite.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/interaction.h"
#include "worker/dense/linear_layer.h"

namespace rowhouse {
namespace {

constexpr size_t kLayers = 4;

class FullyConnected final : public MeasuredKernel {
 public:
  explicit FullyConnected(ElementType precision) : products_(precision) {}

  Status Prepare(std::span<const double> sizes) override {
    if (!HasProductsOf(products_.precision())) {
      return MakeStatus(StatusCode::kUnavailable, "no products of bf16 on this CPU");
    }
    samples_ = SizeOf(sizes[0]);
    in_ = SizeOf(sizes[1]);
    out_ = SizeOf(sizes[2]);
    layers_.clear();
    dense_ = std::make_unique<DenseParameters>();
    layers_.reserve(kLayers);
    for (size_t l = 0; l < kLayers; ++l) {
      layers_.emplace_back(LinearLayerSpec{.in = static_cast<uint32_t>(in_),
                                           .out = static_cast<uint32_t>(out_),
                                           .activation = Activation::kRelu,
                                           .weight_name = "w" + std::to_string(l),
                                           .bias_name = "b" + std::to_string(l)},
                           dense_.get(), &products_);
    }
    dense_->Allocate();
    std::ranges::fill(dense_->values(), 0.01f);
    for (std::vector<std::vector<float>>* all : {&x_, &dx_}) {
      all->assign(kLayers, std::vector<float>(samples_ * in_, 0.5f));
    }
    for (std::vector<std::vector<float>>* all : {&y_, &dy_}) {
      all->assign(kLayers, std::vector<float>(samples_ * out_, 0.5f));
    }
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    Stopwatch stopwatch;
    for (size_t l = 0; l < kLayers; ++l) {
      layers_[l].Forward(x_[l].data(), samples_, y_[l].data());
    }
    const double forward = stopwatch.Ns() / kLayers;
    stopwatch.Restart();
    for (size_t l = kLayers; l-- > 0;) {
      layers_[l].Backward(y_[l].data(), dy_[l].data(), dx_[l].data());
    }
    return std::vector{forward, stopwatch.Ns() / kLayers};
  }

 private:
  size_t samples_ = 0, in_ = 0, out_ = 0;
  MatrixProducts products_;
  std::unique_ptr<DenseParameters> dense_;
  std::vector<LinearLayer> layers_;
  std::vector<std::vector<float>> x_, dx_, y_, dy_;  // of each layer
};

class InteractionKernel final : public MeasuredKernel {
 public:
  explicit InteractionKernel(std::string name) : name_(std::move(name)) {}

  Status Prepare(std::span<const double> sizes) override {
    samples_ = SizeOf(sizes[0]);
    const size_t vectors = SizeOf(sizes[1]), width = SizeOf(sizes[2]);
    dense_ = std::make_unique<DenseParameters>();
    products_ = std::make_unique<MatrixProducts>();
    InteractionOptions options;
    options.widths.assign(vectors, static_cast<uint32_t>(width));
    options.products = products_.get();
    ASSIGN_OR_RETURN(interaction_, Interactions().Make(name_, options));
    interaction_->AddParameters(dense_.get());
    dense_->Allocate();
    std::ranges::fill(dense_->values(), 0.01f);
    in_.assign(vectors, std::vector<float>(samples_ * width, 0.5f));
    out_ = in_;
    in_places_.clear();
    out_places_.clear();
    for (size_t v = 0; v < vectors; ++v) {
      in_places_.push_back(in_[v].data());
      out_places_.push_back(out_[v].data());
    }
    z_.assign(samples_ * interaction_->width(), 0.1f);
    dz_ = z_;
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    interaction_->Forward(in_places_, samples_, z_.data());
    interaction_->Backward(dz_.data(), samples_, out_places_);
    return std::vector{stopwatch.Ns()};
  }

 private:
  const std::string name_;
  size_t samples_ = 0;
  std::unique_ptr<DenseParameters> dense_;
  std::unique_ptr<MatrixProducts> products_;
  std::unique_ptr<Interaction> interaction_;
  std::vector<std::vector<float>> in_, out_;
  std::vector<const float*> in_places_;
  std::vector<float*> out_places_;
  std::vector<float> z_, dz_;
};

class DenseUpdate final : public MeasuredKernel {
 public:
  explicit DenseUpdate(std::string optimizer) : optimizer_(std::move(optimizer)) {}

  Status Prepare(std::span<const double> sizes) override {
    DenseOptimizerOptions options;
    options.parameters = SizeOf(sizes[0]);
    ASSIGN_OR_RETURN(made_, DenseOptimizers().Make(optimizer_, options));
    gradients_.assign(options.parameters, 1e-3f);
    summed_ = gradients_;
    values_.assign(options.parameters, 0.1f);
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    std::ranges::copy(gradients_, summed_.begin());
    bool is_finite = !FirstNotFinite(summed_);
    made_->Apply(1e-6f, step_++, summed_, values_);
    is_finite = is_finite && !FirstNotFinite(values_) && !FirstNotFinite(made_->state());
    if (!is_finite) return IoError("dense parameters of {} are not finite", optimizer_);
    return std::vector{stopwatch.Ns()};
  }

 private:
  const std::string optimizer_;
  std::unique_ptr<DenseOptimizer> made_;
  std::vector<float> gradients_, summed_, values_;
  uint64_t step_ = 0;
};

KernelDeclaration InteractionNamed(const std::string& name) {
  KernelDeclaration kernel{
      .name = "interaction_" + name,
      .group = PhaseGroup::kDense,
      .grid = {{"samples", {1, 16, 128, 1024, 4096}},
               {"vectors", {2, 4, 9, 16, 27, 48}},
               {"width", {4, 16, 32, 64, 128}}},
      .held_out = {{64, 27, 16}, {512, 9, 24}, {2048, 14, 32}, {2048, 27, 48}, {700, 5, 100}},
      .judged_as = {"interaction"},
      .make = Makes<InteractionKernel>(name)};
  if (Interactions().DeclarationOf(name).multiplies_matrices) {  // It takes long.
    kernel.grid = {{"samples", {16, 256, 2048}}, {"vectors", {2, 8, 27}}, {"width", {8, 32, 64}}};
    kernel.held_out = {{128, 4, 16}, {1000, 16, 16}};
  }
  return kernel;
}

REGISTER_MEMBER(AddMeasuredKernels([] {
  std::vector<KernelDeclaration> kernels = {
      {.name = "fully_connected",
       .figures = {"fully_connected_forward", "fully_connected_backward"},
       .group = PhaseGroup::kDense,
       .grid = {{"samples", {1, 16, 64, 256, 1024, 4096}},
                {"inputs", {4, 16, 64, 128, 256, 512, 1024}},
                {"outputs", {1, 4, 16, 64, 128, 256, 512, 1024}}},
       .held_out = {{128, 13, 512},
                    {128, 367, 256},
                    {512, 512, 192},
                    {512, 32, 96},
                    {2048, 13, 64},
                    {2048, 96, 1},
                    {2048, 200, 200},
                    {1500, 300, 700},
                    {100, 700, 300},
                    {3000, 48, 32}},
       .judged_as = {"fully connected", "fully connected"},
       .make = Makes<FullyConnected>(ElementType::kF32)},
      {.name = "fully_connected_bf16",
       .figures = {"fully_connected_bf16_forward", "fully_connected_bf16_backward"},
       .group = PhaseGroup::kDense,
       .grid = {{"samples", {16, 128, 1024, 4096}},
                {"inputs", {16, 128, 1024}},
                {"outputs", {1, 16, 128, 1024}}},
       .make = Makes<FullyConnected>(ElementType::kBf16)},
  };
  for (const std::string& name : Interactions().Names()) kernels.push_back(InteractionNamed(name));
  for (const std::string& name : DenseOptimizers().Names()) {
    kernels.push_back({.name = "dense_update_" + name,
                       .group = PhaseGroup::kUpdate,
                       .grid = {{"floats", {100, 3000, 30'000, 300'000, 1'000'000, 4'000'000}}},
                       .held_out = {{10'000}, {100'000}, {600'000}},
                       .judged_as = {"update"},
                       .make = Makes<DenseUpdate>(name)});
  }
  return kernels;
}));

}  // namespace
}  // namespace rowhouse
