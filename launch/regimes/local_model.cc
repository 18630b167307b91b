#include "launch/regimes/local_model.h"

#include <algorithm>

#include "common/kernels/row_updates.h"
#include "worker/dense/dense_initialiser.h"

namespace rowhouse {
namespace {

// Rows are asked of memory this far ahead, as a shard's cache does.
constexpr size_t kAhead = 16;

void Prefetch(const float* row, size_t dim) {
  constexpr size_t kFloatsOfLine = 64 / sizeof(float);
  for (size_t at = 0; at < dim; at += kFloatsOfLine) __builtin_prefetch(row + at);
}

}  // namespace

LocalModel::LocalModel(const Settings& settings, std::span<float> memory)
    : learning_rate_(settings.training.learning_rate),
      step_({.model = settings.model,
             .tables = settings.embedding,
             .optimizer = settings.dense_optimizer(),
             .optimizer_options = settings.dense_optimizer_options()}) {
  InitialiseDense(settings.data.seed, settings.embedding.physical, step_.model(), &step_.dense());
  for (const TableSpec& table : settings.embedding.physical) {
    const size_t floats = table.rows * table.dim;
    CHECK_LE(floats, memory.size());
    tables_.push_back(memory.first(floats));
    memory = memory.subspan(floats);
  }
}

uint64_t LocalModel::FloatsOf(const Settings& settings) {
  uint64_t floats = 0;
  for (const TableSpec& table : settings.embedding.physical) floats += table.rows * table.dim;
  return floats;
}

uint64_t LocalModel::lookup_bytes(uint64_t lookups) const {
  uint64_t bytes = 0;
  for (size_t k = 0; k < step_.embedding().features(); ++k) {
    bytes += lookups * step_.embedding().out_width(k) * sizeof(float);
  }
  return bytes;
}

void LocalModel::ReadRows() {
  for (RowBatch& batch : step_.row_batches()) {
    const float* const table = tables_[Raw(batch.table)].data();
    const size_t rows = batch.rows.size(), dim = batch.dim;
    for (size_t r = 0; r < rows; ++r) {
      if (r + kAhead < rows) Prefetch(table + Raw(batch.rows[r + kAhead]) * dim, dim);
      std::copy_n(table + Raw(batch.rows[r]) * dim, dim, &batch.values[r * dim]);
    }
  }
}

void LocalModel::UpdateRows() {
  const auto rate = static_cast<float>(learning_rate_);
  for (const RowBatch& batch : step_.row_batches()) {
    const std::span<float> table = tables_[Raw(batch.table)];
    const size_t rows = batch.rows.size(), dim = batch.dim;
    for (size_t r = 0; r < rows; ++r) {
      if (r + kAhead < rows) Prefetch(&table[Raw(batch.rows[r + kAhead]) * dim], dim);
      SgdUpdate(rate, std::span(batch.gradients).subspan(r * dim, dim),
                table.subspan(Raw(batch.rows[r]) * dim, dim));
    }
  }
}

Result<LocalTimes> LocalModel::Step(const Batch& batch) {
  PhaseLog log(clock_, StepPhaseKinds());
  step_.CountPhasesIn(&log);
  const auto end = [&log](StepPhase phase) { log.End(Number(phase)); };
  log.Restart();
  RETURN_IF_ERROR(step_.Prepare(batch));
  end(StepPhase::kMerge);
  ReadRows();
  end(StepPhase::kPull);
  RETURN_IF_ERROR(step_.Compute(batch.samples).status());
  end(StepPhase::kOther);
  UpdateRows();
  end(StepPhase::kPush);
  RETURN_IF_ERROR(step_.ApplyDense(static_cast<float>(learning_rate_), steps_++).status());
  end(StepPhase::kDenseUpdate);
  const StepPhases phases = StepPhasesOf(log);
  step_.CountPhasesIn(nullptr);
  return LocalTimes{.lookups = phases.SumOf({PhaseGroup::kRows, PhaseGroup::kExchange}),
                    .mlp = phases.mlp + phases.dense_update,
                    .other = phases.interaction + phases.other};
}

}  // namespace rowhouse
