#include "launch/prediction/id_counting.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "common/counted.h"
#include "launch/model/model_lock.h"
#include "launch/model/saved_rows.h"
#include "launch/prediction/traffic_report.h"
#include "sharding/lab/traffic/id_distribution.h"
#include "sharding/rows/record.h"
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

namespace {

using Counters = std::vector<AccessCounter>;  // of each table, in their order

// The trailer is at the end of a record.
uint32_t FrequencyIn(std::span<const std::byte> record) {
  RecordTrailer trailer;
  std::memcpy(&trailer, record.data() + record.size() - sizeof(trailer), sizeof(trailer));
  return trailer.frequency;
}

Status CheckTables(const std::vector<TableSpec>& tables, const std::vector<TableSpec>& saved) {
  for (size_t t = 0; t < tables.size(); ++t) {
    if (t < saved.size() && saved[t].name == tables[t].name && saved[t].rows == tables[t].rows) {
      continue;
    }
    return UsageError(
        "the model has {}, but this config has table \"{}\" of {} rows; plan with the config it "
        "was trained with (config.yaml beside it)",
        t < saved.size() ? fmt::format("table \"{}\" of {} rows", saved[t].name, saved[t].rows)
                         : Counted(saved.size(), "table"),
        tables[t].name, tables[t].rows);
  }
  return OkStatus();
}

Status CountShard(const SavedRows& model, const SavedShard& saved, Counters* counters) {
  const Manifest& manifest = model.manifest();
  const auto opened = model.OpenShard(saved);
  if (opened.status().code() == StatusCode::kUsage) {
    return UsageError("{}; or count ids by rowhouse plan --count_ids", opened.status().message());
  }
  if (!opened.ok()) return opened.status();
  RowStore* const rows = opened.value().get();
  return rows->Scan([&](TableId table, RowId row, uint16_t first_column,
                        std::span<const std::byte> record) -> Status {
    if (Raw(table) >= counters->size() || Raw(row) >= manifest.tables[Raw(table)].rows ||
        record.size() < sizeof(RecordTrailer)) {
      return CorruptionError("{}: table {}, row {} is none of the model's", saved.directory,
                             Raw(table), Raw(row));
    }
    // The records of a row in several slices have equal counts.
    if (first_column > 0) return OkStatus();
    const uint32_t frequency = FrequencyIn(record);
    if (frequency > 0) (*counters)[Raw(table)].Add(Raw(row), frequency);
    return OkStatus();
  });
}

Result<AccessCounts> Measure(const Settings& settings, const std::string& model_dir) {
  ASSIGN_OR_RETURN(const auto lock, LockModelForReading(model_dir));
  ASSIGN_OR_RETURN(const SavedRows model, SavedRows::Open(model_dir));
  const Manifest& manifest = model.manifest();
  RETURN_IF_ERROR(CheckTables(settings.embedding.physical, manifest.tables));
  Counters counters;
  for (const TableSpec& table : manifest.tables) counters.emplace_back(table.name, table.rows);
  for (const SavedShard& saved : manifest.shards) {
    RETURN_IF_ERROR(CountShard(model, saved, &counters));
  }
  RETURN_IF_ERROR(model.ScanRowsOnWorkers(
      [&](TableId table, RowId row, std::span<const std::byte> record) -> Status {
        const uint32_t frequency = FrequencyIn(record);
        if (frequency > 0) counters[Raw(table)].Add(Raw(row), frequency);
        return OkStatus();
      }));
  AccessCounts counts;
  for (const AccessCounter& counter : counters) counts.tables.push_back(counter.Finish());
  return counts;
}

}  // namespace

Result<AccessCounts> MeasuredAccesses(const Settings& settings, const std::string& model_dir) {
  Result<AccessCounts> counts = Measure(settings, model_dir);
  if (!counts.ok()) return counts.status().Annotate("--measured=" + model_dir);
  return counts;
}

namespace {

constexpr size_t kHotIds = 1024;
constexpr uint64_t kRanges = 1024;
constexpr double kLookups = 1e9;  // of a feature whose bags have one id: shares as whole numbers

struct OfTable {
  std::map<uint64_t, double> hot;  // lookups of these rows
  double others = 0;               // lookups of other ids
};

// Adds the lookups of a feature, whose ids follow Zipf's law; hot[k]: the id of rank k + 1.
class AddedFeature {
 public:
  AddedFeature(const FeatureTable& feature, double lookups, double exponent,
               std::vector<uint64_t> hot)
      : feature_(feature), hot_(std::move(hot)), groups_(hot_.size()) {
    feature.kind->Assign(hot_, groups_);
    const double first = IdDistribution::Zipf(static_cast<double>(feature.table.rows), exponent)
                             .groups()[0]
                             .probability;
    double left = 1;
    for (size_t k = 0; k < hot_.size(); ++k) {
      const double share = first * std::pow(static_cast<double>(k + 1), -exponent);
      const bool pads = feature.table.padding_id == hot_[k];  // and is no row
      lookups_.push_back(pads ? 0 : lookups * share);
      left -= share;
    }
    // Where all ids are hot ones, rounding leaves no others.
    others_ = hot_.size() == feature.table.rows ? 0 : lookups * std::max(0.0, left);
  }

  void AddTo(std::vector<OfTable>* tables) const {
    for (size_t g = 0; g < feature_.groups.size(); ++g) {
      const IdGroup& group = feature_.groups[g];
      for (size_t p = group.first_part; p < group.first_part + group.parts; ++p) {
        AddPart(g, p, &(*tables)[Raw(feature_.parts[p])]);
      }
    }
    if (feature_.weights) {
      OfTable& weights = (*tables)[Raw(*feature_.weights)];
      for (size_t k = 0; k < hot_.size(); ++k) weights.hot[hot_[k]] += lookups_[k];
      weights.others += others_;
    }
  }

 private:
  void AddPart(size_t group, size_t part, OfTable* table) const {
    std::vector<uint64_t> ids;
    std::vector<double> lookups;
    for (size_t k = 0; k < hot_.size(); ++k) {
      if (groups_[k] != group) continue;
      ids.push_back(hot_[k]);
      lookups.push_back(lookups_[k]);
    }
    std::vector<uint64_t> rows(ids.size());
    feature_.kind->Resolve(part, ids, rows);
    for (size_t i = 0; i < rows.size(); ++i) table->hot[rows[i]] += lookups[i];
    // Groups have about as many of the other ids as of the hot ones.
    const double share =
        hot_.empty() ? 1.0 : static_cast<double>(ids.size()) / static_cast<double>(hot_.size());
    table->others += others_ * share;
  }

  const FeatureTable& feature_;
  const std::vector<uint64_t> hot_;
  std::vector<uint32_t> groups_;  // of each hot id
  std::vector<double> lookups_;   // likewise
  double others_ = 0;
};

TableAccesses AccessesOf(const TableSpec& table, const OfTable& lookups) {
  TableAccesses accesses{.name = table.name, .rows = table.rows};
  accesses.range_rows = (table.rows + kRanges - 1) / kRanges;
  accesses.ranges.resize((table.rows + accesses.range_rows - 1) / accesses.range_rows);
  for (size_t i = 0; i < accesses.ranges.size(); ++i) {
    const uint64_t rows = std::min(accesses.range_rows, table.rows - i * accesses.range_rows);
    const double share = static_cast<double>(rows) / static_cast<double>(table.rows);
    accesses.ranges[i] = static_cast<uint64_t>(std::llround(lookups.others * share));
  }
  for (const auto& [row, number] : lookups.hot) {
    const auto count = static_cast<uint64_t>(std::llround(number));
    if (count == 0) continue;
    accesses.ranges[row / accesses.range_rows] += count;
    accesses.hottest.push_back({row, count});
  }
  std::ranges::sort(accesses.hottest, [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.row < b.row;
  });
  return accesses;
}

}  // namespace

std::optional<AccessCounts> GeneratedAccesses(const Settings& settings) {
  const StepShape step = StepShapeOf(settings, /*workers=*/1);
  const std::string source = settings.data_source();
  if (step.zipf_exponent <= 0) return std::nullopt;
  const EmbeddingTables& tables = settings.embedding;
  std::vector<OfTable> of_table(tables.physical.size());
  for (size_t f = 0; f < tables.features.size(); ++f) {
    std::vector<uint64_t> hot =
        DeclarationOfDataset(source).hottest_ids(settings.data, tables.ColumnOf(f), kHotIds);
    if (hot.empty()) return std::nullopt;
    AddedFeature(tables.features[f], kLookups * step.bag_lengths[f], step.zipf_exponent,
                 std::move(hot))
        .AddTo(&of_table);
  }
  AccessCounts counts;
  for (const TableSpec& table : tables.physical) {
    counts.tables.push_back(AccessesOf(table, of_table[Raw(table.id)]));
  }
  return counts;
}

}  // namespace rowhouse
