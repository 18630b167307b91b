#include "launch/measured_accesses.h"

#include <cstring>

#include "common/counted.h"
#include "launch/manifest.h"
#include "ps/directory_state.h"
#include "ps/row_store.h"
#include "ps/shard_opening.h"
#include "sharding/optimizer.h"
#include "sharding/record_weights.h"

namespace rowhouse {
namespace {

using Counters = std::vector<AccessCounter>;  // of each table, in their order

// A record ends with its trailer, whatever else it holds.
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
        "the model has {}, this config table \"{}\" of {} rows; plan with the config "
        "it was trained with (config.yaml beside it)",
        t < saved.size() ? fmt::format("table \"{}\" of {} rows", saved[t].name, saved[t].rows)
                         : Counted(saved.size(), "table"),
        tables[t].name, tables[t].rows);
  }
  return OkStatus();
}

Status CountShard(const Settings& settings, const Manifest& manifest, const SavedShard& saved,
                  Counters* counters) {
  const Result<DirectoryOwner> owner = ReadOwner(saved.directory);
  if (!owner.ok()) {
    return UsageError(
        "the rows of shard {} were saved in \"{}\" on {}, and cannot be read here ({}); make them "
        "readable, or count ids by rowhouse plan --count_ids",
        Raw(saved.shard), saved.directory, saved.host, owner.status().message());
  }
  if (owner.value().model != manifest.model_id || owner.value().shard != saved.shard) {
    return UsageError("{} holds shard {} of model {}, not shard {} of model {}", saved.directory,
                      Raw(owner.value().shard), owner.value().model, Raw(saved.shard),
                      manifest.model_id);
  }
  ASSIGN_OR_RETURN(const DirectoryState state, ReadState(saved.directory));
  RETURN_IF_ERROR(CheckClean(saved.directory, state));
  ASSIGN_OR_RETURN(const auto rows,
                   RowStores().Make(settings.storage.store,
                                    {.path = RowsDirectory(saved.directory), .read_only = true}));
  return rows->Scan([&](TableId table, RowId row, uint16_t first_column,
                        std::span<const std::byte> record) -> Status {
    if (Raw(table) >= counters->size() || Raw(row) >= manifest.tables[Raw(table)].rows ||
        record.size() < sizeof(RecordTrailer)) {
      return CorruptionError("{}: table {}, row {} is none of the model's", saved.directory,
                             Raw(table), Raw(row));
    }
    // Every piece of a row whose columns are cut was asked for as often.
    if (first_column > 0) return OkStatus();
    const uint32_t frequency = FrequencyIn(record);
    if (frequency > 0) (*counters)[Raw(table)].Add(Raw(row), frequency);
    return OkStatus();
  });
}

// They are the end of the dense file, in the order of the tables (worker/worker_rows.h).
Status CountRowsOnWorkers(const std::string& model_dir, const Manifest& manifest,
                          Counters* counters) {
  if (!manifest.plan.has_worker_rows()) return OkStatus();
  struct Part {
    const TableSpec* table;
    std::vector<RowId> rows;  // none: all
    uint64_t count;
    size_t record_bytes;
  };
  std::vector<Part> parts;
  uint64_t bytes = 0;
  for (const TableSpec& table : manifest.tables) {
    const bool is_whole = manifest.plan.is_on_workers(table.id);
    const std::vector<RowId>& rows = manifest.plan.worker_rows(table.id);
    if (!is_whole && rows.empty()) continue;
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    parts.push_back({.table = &table,
                     .rows = rows,
                     .count = is_whole ? table.rows : rows.size(),
                     .record_bytes = LayoutOf(table, *optimizer).bytes()});
    bytes += parts.back().count * parts.back().record_bytes;
  }
  ASSIGN_OR_RETURN(const std::vector<float> dense, ReadDense(model_dir, manifest));
  std::span<const std::byte> rest = std::as_bytes(std::span(dense));
  if (rest.size() < bytes) {
    return CorruptionError("{}/{} has {} bytes, the rows on the workers alone take {}", model_dir,
                           manifest.dense_file, rest.size(), bytes);
  }
  rest = rest.last(bytes);
  for (const Part& part : parts) {
    for (uint64_t place = 0; place < part.count; ++place) {
      const uint32_t frequency = FrequencyIn(rest.first(part.record_bytes));
      rest = rest.subspan(part.record_bytes);
      if (frequency == 0) continue;
      (*counters)[Raw(part.table->id)].Add(part.rows.empty() ? place : Raw(part.rows[place]),
                                           frequency);
    }
  }
  return OkStatus();
}

Result<AccessCounts> Measure(const Settings& settings, const std::string& model_dir) {
  if (!HasManifest(model_dir)) return UsageError("holds no saved model; train with --model_dir");
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(model_dir));
  RETURN_IF_ERROR(CheckTables(settings.embedding.physical, manifest.tables));
  Counters counters;
  for (const TableSpec& table : manifest.tables) counters.emplace_back(table.name, table.rows);
  for (const SavedShard& saved : manifest.shards) {
    RETURN_IF_ERROR(CountShard(settings, manifest, saved, &counters));
  }
  RETURN_IF_ERROR(CountRowsOnWorkers(model_dir, manifest, &counters));
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
