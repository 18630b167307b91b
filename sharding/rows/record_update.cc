#include "sharding/rows/record_update.h"

#include <algorithm>
#include <array>

#include "common/kernels/reductions.h"

namespace rowhouse {
namespace {

// Notes the step in the trailer. Returns how many steps the row missed.
uint64_t NoteUpdate(const RecordLayout& layout, uint64_t step, std::byte* record) {
  RecordTrailer trailer = layout.trailer(record);
  // The trailer keeps the low 32 bits of the step.
  const uint64_t missed =
      trailer.lsn == 0 ? 0 : static_cast<uint32_t>(step) - trailer.last_step - 1;
  trailer.lsn = step + 1;
  trailer.last_step = static_cast<uint32_t>(step);
  layout.set_trailer(record, trailer);
  return missed;
}

void Renormalise(const TableSpec& table, std::span<float> weights) {
  if (table.max_norm > 0.0) RenormaliseRow(table.max_norm, table.norm_type, weights);
}

}  // namespace

void UpdateRecords(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                   uint32_t first_column, uint64_t step, float learning_rate,
                   std::span<const RecordUpdate> rows) {
  StepContext context{
      .step = step,
      .learning_rate = static_cast<float>(double{learning_rate} * table.learning_rate_factor)};
  if (layout.precision != Precision::kF32) {
    for (const RecordUpdate& row : rows) {
      context.missed_steps = NoteUpdate(layout, step, row.record);
      float scratch[TableSpec::kMaxDim];
      const std::span<float> weights(scratch, layout.dim);
      ReadWeights(layout, row.record, weights);
      Renormalise(table, weights);
      optimizer.Apply(context, {row.gradient, layout.dim}, weights, layout.state(row.record));
      const RecordPlace place{.row = row.row, .first_column = first_column};
      WriteUpdatedWeights(layout, RoundingOf(table, place, step), weights, row.record);
    }
    return;
  }
  std::array<UpdatedRow, 32> some;  // not initialised
  for (size_t begin = 0; begin < rows.size(); begin += some.size()) {
    const size_t count = std::min(some.size(), rows.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const RecordUpdate& row = rows[begin + i];
      Renormalise(table, layout.weights(row.record));
      some[i] = {.gradient = row.gradient,
                 .weights = layout.weights(row.record).data(),
                 .state = layout.state(row.record).data(),
                 .missed_steps = NoteUpdate(layout, step, row.record)};
    }
    optimizer.ApplyAll(context, layout.dim, std::span(some).first(count));
  }
}

void UpdateRecord(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                  const RecordPlace& place, uint64_t step, float learning_rate,
                  std::span<const float> gradient, std::byte* record) {
  const RecordUpdate row{.row = place.row, .gradient = gradient.data(), .record = record};
  UpdateRecords(table, optimizer, layout, place.first_column, step, learning_rate, {&row, 1});
}

}  // namespace rowhouse
