// What a worker does for the lookups of a feature.
//   merge (lookups, table_rows)                    ids to distinct rows
//   lookup_forward (samples, bag_length, dim)      rows to pooled vectors, pooling sum
//   lookup_backward (samples, bag_length, dim)     gradients of pooled vectors to gradients of rows
//   row_gradients (rows, dim)                      zeroing them before, checking them afterwards
// Eight features are measured one after the other, as a step has them, so that a feature's rows
// were not the last that the CPU saw; a figure is that of one.
#include <algorithm>

#include "common/kernels/finite.h"
#include "launch/bench/measured_shard.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {
namespace {

constexpr size_t kFeatures = 8;
constexpr size_t kMaxBytes = size_t{64} << 20;  // of rows; of long bags there are fewer features

class Merge final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    const auto rows = static_cast<uint64_t>(sizes[1]);
    const EmbeddingTables tables = MeasuredTables(kFeatures, rows, 1);
    layer_ = std::make_unique<EmbeddingLayer>(tables, &dense_);
    features_.resize(kFeatures);
    for (size_t k = 0; k < kFeatures; ++k) FillBags(SizeOf(sizes[0]), 1, rows, k, &features_[k]);
    return layer_->Prepare(features_);
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(layer_->Prepare(features_));
    return std::vector{stopwatch.Ns() / kFeatures};
  }

 private:
  DenseParameters dense_;
  std::unique_ptr<EmbeddingLayer> layer_;
  std::vector<Bags> features_;
};

class Lookup final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    const size_t samples = SizeOf(sizes[0]);
    const auto dim = static_cast<uint32_t>(SizeOf(sizes[2]));
    const size_t lookups = samples * SizeOf(sizes[1]);
    const uint64_t rows = 4 * lookups;
    const size_t features =
        std::clamp<size_t>(kMaxBytes / (lookups * dim * sizeof(float)), 1, kFeatures);
    layer_ = std::make_unique<EmbeddingLayer>(MeasuredTables(features, rows, dim), &dense_);
    features_.resize(features);
    pooled_.assign(features, std::vector<float>(samples * dim, 0.25f));
    for (size_t k = 0; k < features; ++k) {
      FillBags(samples, SizeOf(sizes[1]), rows, k, &features_[k]);
    }
    samples_ = samples;
    RETURN_IF_ERROR(layer_->Prepare(features_));
    for (RowBatch& batch : layer_->row_batches()) {
      std::fill(batch.values.begin(), batch.values.end(), 0.5f);
    }
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    layer_->RowsArrived();
    Stopwatch stopwatch;
    const size_t features = pooled_.size();
    for (size_t k = 0; k < features; ++k) layer_->Forward(k, {0, samples_}, pooled_[k]);
    const double forward = stopwatch.Ns() / static_cast<double>(features);
    stopwatch.Restart();
    for (size_t k = 0; k < features; ++k) layer_->Backward(k, {0, samples_}, pooled_[k]);
    return std::vector{forward, stopwatch.Ns() / static_cast<double>(features)};
  }

 private:
  DenseParameters dense_;
  std::unique_ptr<EmbeddingLayer> layer_;
  std::vector<Bags> features_;
  std::vector<std::vector<float>> pooled_;
  size_t samples_ = 0;
};

class RowGradients final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    batch_.dim = static_cast<uint32_t>(SizeOf(sizes[1]));
    size_ = SizeOf(sizes[0]) * batch_.dim;
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    batch_.gradients.assign(size_, 0.0f);
    if (FirstNotFinite(batch_.gradients)) return IoError("a gradient of 0 is not finite");
    return std::vector{stopwatch.Ns()};
  }

 private:
  RowBatch batch_;
  size_t size_ = 0;
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  return {
      {.name = "merge",
       .grid = {{"lookups", {1, 64, 512, 4096, 32768, 131072}},
                {"table_rows", {10, 1000, 30'000, 1'000'000, 100'000'000}}},
       .make = Makes<Merge>()},
      {.name = "lookup",
       .figures = {"lookup_forward", "lookup_backward"},
       .grid = {{"samples", {1, 32, 256, 1024, 4096}},
                {"bag_length", {1, 4, 16, 64}},
                {"dim", {4, 16, 64, 128}}},
       .held_out = {{128, 1, 16},
                    {1000, 1, 32},
                    {1000, 10, 16},
                    {4096, 1, 32},
                    {4096, 10, 32},
                    {500, 50, 64},
                    {3000, 2, 100},
                    {3500, 30, 16}},
       .judged_as = {"lookup forward", ""},
       .make = Makes<Lookup>()},
      {.name = "row_gradients",
       .grid = {{"rows", {1, 64, 1024, 16384, 131072}}, {"dim", {4, 16, 64, 128}}},
       .make = Makes<RowGradients>()},
  };
}));

}  // namespace
}  // namespace rowhouse
