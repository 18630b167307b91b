#include "sharding/rows/record_update.h"

#include "common/kernels/row_norm.h"

namespace rowhouse {
namespace {

void UpdateWeights(const TableSpec& table, const Optimizer& optimizer, const StepContext& context,
                   std::span<const float> gradient, std::span<float> weights,
                   std::span<float> state) {
  if (table.max_norm > 0.0) RenormaliseRow(table.max_norm, table.norm_type, weights);
  optimizer.Apply(context, gradient, weights, state);
}

}  // namespace

void UpdateRecord(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                  const RecordPlace& place, uint64_t step, float learning_rate,
                  std::span<const float> gradient, std::byte* record) {
  RecordTrailer trailer = layout.trailer(record);
  StepContext context{
      .step = step,
      .learning_rate = static_cast<float>(double{learning_rate} * table.learning_rate_factor)};
  // The trailer keeps the low 32 bits of the step.
  if (trailer.lsn != 0) {
    context.missed_steps = static_cast<uint32_t>(step) - trailer.last_step - 1;
  }
  if (layout.precision == Precision::kF32) {
    UpdateWeights(table, optimizer, context, gradient, layout.weights(record),
                  layout.state(record));
  } else {
    float scratch[TableSpec::kMaxDim];
    const std::span<float> weights(scratch, layout.dim);
    ReadWeights(layout, record, weights);
    UpdateWeights(table, optimizer, context, gradient, weights, layout.state(record));
    WriteUpdatedWeights(layout, RoundingOf(table, place, step), weights, record);
  }
  trailer.lsn = step + 1;
  trailer.last_step = static_cast<uint32_t>(step);
  layout.set_trailer(record, trailer);
}

}  // namespace rowhouse
