#include "launch/plan/id_counting.h"

#include <algorithm>

#include "worker/embedding/embedding.h"

namespace rowhouse {

uint64_t SamplesOfEpoch(const Settings& settings, const Dataset& data) {
  const uint64_t pieces = settings.training.accumulation;
  const uint64_t step_samples = settings.data.mini_batch_size * pieces;
  const uint64_t steps = (settings.data.num_batches + pieces - 1) / pieces;
  uint64_t most = 0;
  if (steps == 0 || __builtin_mul_overflow(steps, step_samples, &most)) most = UINT64_MAX;
  return std::min(data.train_samples(), most);
}

Result<IdCounts> CountIds(const Settings& settings, uint64_t max_samples) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data,
                   Datasets().Make(settings.data_source(), settings.data));
  DenseParameters dense;  // Never allocated: nothing is projected.
  EmbeddingLayer layer(settings.embedding, &dense);
  const std::vector<TableSpec>& tables = settings.embedding.physical;
  std::vector<AccessCounter> counters;
  for (const TableSpec& table : tables) counters.emplace_back(table.name, table.rows);

  IdCounts result;
  result.rows_pulled.resize(tables.size());
  const uint64_t step_samples = settings.data.mini_batch_size * settings.training.accumulation;
  result.samples = SamplesOfEpoch(settings, *data);
  if (max_samples > 0) result.samples = std::min(result.samples, max_samples);
  if (result.samples == Dataset::kUnknownSamples) {
    return UsageError(
        "the data source does not know how many samples it has; give --max_samples or "
        "--num_batches");
  }
  Batch batch;
  for (uint64_t first = 0; first < result.samples; first += step_samples) {
    const uint64_t samples = std::min(step_samples, result.samples - first);
    RETURN_IF_ERROR(data->ReadTrain(/*epoch=*/0, first, samples, &batch));
    RETURN_IF_ERROR(layer.Prepare(batch.features).Annotate(fmt::format("samples from {}", first)));
    for (const RowBatch& rows : layer.row_batches()) {
      const size_t t = Raw(rows.table);
      result.rows_pulled[t] += rows.rows.size();
      for (size_t r = 0; r < rows.rows.size(); ++r) {
        counters[t].Add(Raw(rows.rows[r]), rows.counts[r]);
      }
    }
  }
  for (const AccessCounter& counter : counters) {
    result.counts.tables.push_back(counter.Finish());
    result.rows_touched.push_back(counter.rows_touched());
  }
  return result;
}

}  // namespace rowhouse
