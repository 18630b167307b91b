#include "launch/plan/measured_accesses.h"

#include <cstring>

#include "common/counted.h"
#include "launch/model/model_lock.h"
#include "launch/model/saved_rows.h"
#include "sharding/rows/record.h"

namespace rowhouse {
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

}  // namespace rowhouse
