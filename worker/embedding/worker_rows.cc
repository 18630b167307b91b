#include "worker/embedding/worker_rows.h"

#include <algorithm>
#include <cstring>

#include "sharding/rows/initialiser.h"
#include "sharding/rows/record_update.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

std::optional<uint64_t> WorkerRows::Table::PlaceOf(RowId row) const {
  if (rows.empty()) return Raw(row);
  const auto found = std::lower_bound(rows.begin(), rows.end(), row);
  if (found == rows.end() || *found != row) return std::nullopt;
  return static_cast<uint64_t>(found - rows.begin());
}

Result<std::unique_ptr<WorkerRows>> WorkerRows::Make(const std::vector<TableSpec>& tables,
                                                     const Plan& plan,
                                                     const RowPrecision& precision) {
  auto rows = std::make_unique<WorkerRows>();
  rows->precision_ = precision;
  rows->place_.assign(tables.size(), -1);
  std::vector<TableSpec> mine;
  for (const TableSpec& spec : tables) {
    if (plan.is_on_workers(spec.id) || !plan.worker_rows(spec.id).empty()) mine.push_back(spec);
  }
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(mine));
  for (const TableSpec& spec : mine) {
    Table table{.rows = plan.worker_rows(spec.id),
                .spec = spec,
                .optimizer = nullptr,
                .layout = {},
                .records = {}};
    if (table.size() > kMaxFloats / spec.dim) {
      return UsageError(
          "table \"{}\": {} rows of {} floats are too many to live on every worker and cross the "
          "wire in every step; the limit is {} floats: let the shards keep them (strategy, or "
          "option remainder of its kind)",
          spec.name, table.size(), spec.dim, kMaxFloats);
    }
    ASSIGN_OR_RETURN(table.optimizer, Optimizers().Make(spec.optimizer, spec.optimizer_options));
    ASSIGN_OR_RETURN(const std::unique_ptr<Initialiser> initialiser,
                     Initialisers().Make(spec.initialiser, sources.ContextOf(spec)));
    table.layout = LayoutOf(spec, *table.optimizer);
    table.records.resize(table.size() * table.layout.bytes());
    std::vector<RowId> ids(table.size());
    for (uint64_t place = 0; place < ids.size(); ++place) ids[place] = table.RowAt(place);
    std::vector<float> weights(ids.size() * spec.dim);
    RETURN_IF_ERROR(initialiser->Fill(ids, weights));
    for (uint64_t place = 0; place < ids.size(); ++place) {
      std::byte* record = table.record(place);
      WriteInitialWeights(table.layout, std::span(weights).subspan(place * spec.dim, spec.dim),
                          record);
      table.optimizer->InitState(table.layout.state(record));
    }
    rows->place_[Raw(spec.id)] = static_cast<int64_t>(rows->tables_.size());
    rows->allreduce_floats_ += table.allreduce_floats();
    rows->tables_.push_back(std::move(table));
  }
  return rows;
}

void WorkerRows::Fill(std::vector<RowBatch>* batches) const {
  for (RowBatch& batch : *batches) {
    const int64_t place = place_[Raw(batch.table)];
    if (place < 0) continue;
    const Table& table = tables_[static_cast<size_t>(place)];
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      const std::optional<uint64_t> at = table.PlaceOf(batch.rows[r]);
      if (!at) continue;
      const std::span<float> values = std::span(batch.values).subspan(r * batch.dim, batch.dim);
      ReadWeights(table.layout, table.record(*at), values);
      RoundNumbers(precision_.pull, values);
    }
  }
}

void WorkerRows::WriteGradients(const std::vector<RowBatch>& batches,
                                std::span<float> summed) const {
  CHECK_EQ(summed.size(), allreduce_floats_);
  std::fill(summed.begin(), summed.end(), -0.0f);
  for (const RowBatch& batch : batches) {
    const int64_t place = place_[Raw(batch.table)];
    if (place < 0 || !batch.trains) continue;
    size_t offset = 0;
    for (int64_t t = 0; t < place; ++t)
      offset += tables_[static_cast<size_t>(t)].allreduce_floats();
    const Table& table = tables_[static_cast<size_t>(place)];
    const std::span<float> gradients = summed.subspan(offset, table.size() * table.spec.dim);
    const std::span<float> touches = summed.subspan(offset + gradients.size(), table.size());
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      const std::optional<uint64_t> at = table.PlaceOf(batch.rows[r]);
      if (!at) continue;
      const std::span<float> gradient = gradients.subspan(*at * batch.dim, batch.dim);
      std::copy_n(&batch.gradients[r * batch.dim], batch.dim, gradient.begin());
      RoundNumbers(precision_.push, gradient);
      touches[*at] = static_cast<float>(batch.counts[r]);
    }
  }
}

Status WorkerRows::Apply(uint64_t step, float learning_rate, std::span<const float> summed) {
  CHECK_EQ(summed.size(), allreduce_floats_);
  std::vector<float> divided;
  for (Table& table : tables_) {
    const size_t dim = table.spec.dim;
    const std::span<const float> gradients = summed.first(table.size() * dim);
    const std::span<const float> touches = summed.subspan(gradients.size(), table.size());
    summed = summed.subspan(table.allreduce_floats());
    for (uint64_t place = 0; place < table.size(); ++place) {
      if (!(touches[place] > 0.0f)) continue;
      std::span<const float> gradient = gradients.subspan(place * dim, dim);
      if (table.spec.scale_grad_by_freq) {
        divided.assign(gradient.begin(), gradient.end());
        for (float& value : divided) value /= touches[place];
        gradient = divided;
      }
      const RecordPlace at{table.RowAt(place)};
      UpdateRecord(table.spec, *table.optimizer, table.layout, at, step, learning_rate, gradient,
                   table.record(place));
      // Shards count the lookups of their rows likewise.
      CountLookups(table.layout, table.record(place), static_cast<uint32_t>(touches[place]));
      if (!IsFiniteRecord(table.layout, table.record(place))) {
        return NotFiniteError(table.spec, table.layout, at, table.record(place));
      }
    }
  }
  return OkStatus();
}

RowsDigest WorkerRows::Digest() const {
  RowsDigest digest;
  for (const Table& table : tables_) {
    const DigestedTable digested(table.spec.name, StateShapeOf(*table.optimizer));
    for (uint64_t place = 0; place < table.size(); ++place) {
      if (table.Exists(place)) {
        digest.Add(digested, table.RowAt(place), /*first_column=*/0, table.layout,
                   table.record(place));
      }
    }
  }
  return digest;
}

uint64_t WorkerRows::existing_rows() const {
  uint64_t rows = 0;
  for (const Table& table : tables_) {
    for (uint64_t place = 0; place < table.size(); ++place) rows += table.Exists(place) ? 1 : 0;
  }
  return rows;
}

void WorkerRows::Put(TableId id, RowId row, std::span<const std::byte> record) {
  CHECK_GE(place_[Raw(id)], 0);
  Table& table = tables_[static_cast<size_t>(place_[Raw(id)])];
  const std::optional<uint64_t> place = table.PlaceOf(row);
  CHECK(place && record.size() == table.layout.bytes());
  std::ranges::copy(record, table.record(*place));
}

size_t WorkerRows::saved_floats() const {
  size_t bytes = 0;
  for (const Table& table : tables_) bytes += table.records.size();
  return bytes / sizeof(float);
}

std::vector<float> WorkerRows::Save() const {
  std::vector<float> saved(saved_floats());
  auto* to = reinterpret_cast<std::byte*>(saved.data());
  for (const Table& table : tables_) {
    std::memcpy(to, table.records.data(), table.records.size());
    to += table.records.size();
  }
  return saved;
}

Status WorkerRows::Load(std::span<const float> saved) {
  if (saved.size() != saved_floats()) {
    return CorruptionError("the saved rows of the workers have {} floats, the model needs {}",
                           saved.size(), saved_floats());
  }
  const auto* from = reinterpret_cast<const std::byte*>(saved.data());
  for (Table& table : tables_) {
    std::memcpy(table.records.data(), from, table.records.size());
    from += table.records.size();
  }
  return OkStatus();
}

std::vector<float> MakeDenseFile(DenseParameters& parameters, DenseOptimizer& optimizer,
                                 const WorkerRows& rows) {
  std::vector<float> file(parameters.values().begin(), parameters.values().end());
  file.insert(file.end(), optimizer.state().begin(), optimizer.state().end());
  const std::vector<float> records = rows.Save();
  file.insert(file.end(), records.begin(), records.end());
  return file;
}

Status LoadDenseFile(std::span<const float> file, DenseParameters* parameters,
                     DenseOptimizer* optimizer, WorkerRows* rows) {
  const std::span<float> values = parameters->values(), state = optimizer->state();
  const size_t wanted = values.size() + state.size() + rows->saved_floats();
  if (file.size() != wanted) {
    return CorruptionError("the saved dense part has {} floats, the model needs {}", file.size(),
                           wanted);
  }
  std::ranges::copy(file.first(values.size()), values.begin());
  std::ranges::copy(file.subspan(values.size(), state.size()), state.begin());
  return rows->Load(file.subspan(values.size() + state.size()));
}

}  // namespace rowhouse
