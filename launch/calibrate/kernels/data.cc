// data_<source> (samples, ids): making samples with this many ids each, over 26 tables at most, of
// every source that generates them.
#include <algorithm>

#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

class Data final : public MeasuredKernel {
 public:
  explicit Data(std::string source) : source_(std::move(source)) {}

  Status Prepare(std::span<const double> sizes) override {
    samples_ = SizeOf(sizes[0]);
    const size_t ids = SizeOf(sizes[1]), tables = std::min<size_t>(ids, 26);
    DatasetOptions options;
    options.shape.dense_features = 13;
    options.shape.table_rows.assign(tables, 100'000);
    options.mini_batch_size = samples_;
    options.data_size = samples_ * 1000;
    const std::string bag = std::to_string(ids / tables);
    options.flags = {{"synthetic_bag_length", bag},
                     {"num_indices_per_lookup", bag},
                     {"num_indices_per_lookup_fixed", "true"}};
    ASSIGN_OR_RETURN(data_, Datasets().Make(source_, options));
    turn_ = 0;
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(data_->ReadTrain(0, turn_++ % 1000 * samples_, samples_, &batch_));
    return std::vector{stopwatch.Ns()};
  }

 private:
  const std::string source_;
  size_t samples_ = 0;
  uint64_t turn_ = 0;
  std::unique_ptr<Dataset> data_;
  Batch batch_;
};

REGISTER_MEMBER(AddMeasuredKernels([] {
  std::vector<KernelDeclaration> kernels;
  for (const std::string& source : Datasets().Names()) {
    if (!DeclarationOfDataset(source).is_generated) continue;
    kernels.push_back({.name = "data_" + source,
                       .group = PhaseGroup::kReading,
                       .grid = {{"samples", {1, 64, 1024, 4096}}, {"ids", {1, 8, 26, 260}}},
                       .make = Makes<Data>(source)});
  }
  return kernels;
}));

}  // namespace
}  // namespace rowhouse
