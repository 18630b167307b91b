// "pulse": a stream that does not know how long it is. Sample s has id s mod rows of each table,
// label 1 where s is a multiple of the option pulse_period, and weighs pulse_weight there, else 1.
// It keeps the number of the next sample as its position, and a file of kind "pulse".
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

const DeclaredOption kPeriod =
    DeclaredOption::Whole("pulse_period", 4, 1, 1000, "samples from one pulse to the next");
const DeclaredOption kWeight =
    DeclaredOption::Real("pulse_weight", 1.0, 0.0, 10.0, "of the samples that are pulses");

class Pulse final : public Dataset {
 public:
  explicit Pulse(const DatasetOptions& options)
      : options_(options),
        period_(kPeriod.WholeIn(options.own)),
        weight_(static_cast<float>(kWeight.RealIn(options.own))) {}

  uint64_t train_samples() const override { return kUnknownSamples; }
  uint64_t test_samples() const override { return 0; }

  Status ReadTrain(uint64_t, uint64_t first, uint64_t count, Batch* batch) override {
    batch->Clear(options_.shape.dense_features, options_.shape.table_rows.size());
    for (uint64_t s = first; s < first + count; ++s) {
      const bool is_pulse = s % period_ == 0;
      for (uint32_t d = 0; d < options_.shape.dense_features; ++d) {
        batch->dense.push_back(static_cast<float>((s + d) % 3));
      }
      for (size_t k = 0; k < batch->features.size(); ++k) {
        batch->features[k].ids.push_back(s % options_.shape.table_rows[k]);
        batch->features[k].EndBag();
      }
      batch->labels.push_back(is_pulse ? 1.0f : 0.0f);
      if (weight_ != 1.0f) batch->weights.push_back(is_pulse ? weight_ : 1.0f);
    }
    batch->samples = count;
    return OkStatus();
  }
  Status ReadTest(uint64_t, uint64_t, Batch* batch) override {
    batch->Clear(options_.shape.dense_features, options_.shape.table_rows.size());
    return OkStatus();
  }

  Result<DatasetState> StateAt(uint64_t epoch, uint64_t next) override {
    return DatasetState{
        .position = fmt::format("{}:{}", epoch, next),
        .files = {{.kind = "pulse", .bytes = fmt::format("{} {}\n", period_, weight_)}}};
  }
  Status GoOnFrom(uint64_t epoch, uint64_t next, const DatasetState& state) override {
    if (state == StateAt(epoch, next).value()) return OkStatus();
    return UsageError("pulse: the model was trained up to {}", state.position);
  }

 private:
  const DatasetOptions options_;
  const uint64_t period_;
  const float weight_;
};

REGISTER_MEMBER(AddDataset<Pulse>("pulse", {.options = {kPeriod, kWeight}, .is_generated = true}));

}  // namespace
}  // namespace rowhouse
