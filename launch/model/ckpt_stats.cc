#include <optional>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/wire/control.h"
#include "launch/figures/figure_text.h"
#include "launch/model/ckpt.h"

namespace rowhouse {
namespace {

// A row in several slices has bytes in each, and counts as a row where its first column lies.
struct StoredBytes {
  uint64_t rows = 0;
  uint64_t bytes = 0;  // of records

  void Add(const StoredBytes& other) {
    rows += other.rows;
    bytes += other.bytes;
  }
};

constexpr char kStatsLine[] = "{:<9}{:<24}{:>14}{:>14}{:>14}{:>7}  {}\n";

std::string DescribeLevels(const std::vector<RowStoreLevel>& levels) {
  std::string text;
  for (const RowStoreLevel& level : levels) {
    text += fmt::format("{}L{}: {} in {}", text.empty() ? "" : ", ", level.level,
                        BytesText(level.bytes), level.files);
  }
  return text.empty() ? "-" : text;
}

// nullopt if it is no report of a run. Types are checked, so that nlohmann never throws.
std::optional<RowsPulled> ReadPulled(const std::string& report) {
  const Result<nlohmann::json> json = ParseJson(report);
  if (!json.ok()) return std::nullopt;
  const auto shards = json.value().find("shards");
  if (shards == json.value().end() || !shards->is_array()) return std::nullopt;
  RowsPulled sum;
  for (const auto& shard : *shards) {
    for (const auto& [key, count] : {std::pair("rows_first_touched", &sum.first_touched),
                                     std::pair("rows_from_memory", &sum.from_memory),
                                     std::pair("rows_from_store", &sum.from_store)}) {
      const auto found = shard.find(key);
      if (found == shard.end() || !found->is_number_unsigned()) return std::nullopt;
      *count += found->get<uint64_t>();
    }
  }
  return sum;
}

// Where the run that saved the model found the rows it pulled, if its report lies beside the model.
std::string DescribePulled(const std::string& model_dir) {
  const Result<std::string> text = ReadFile(model_dir + "/report.json");
  if (!text.ok()) return "not recorded: no report.json in --model_dir";
  const std::optional<RowsPulled> counted = ReadPulled(text.value());
  if (!counted) return "not recorded: report.json in --model_dir has no counts of them";
  if (counted->total() == 0) return "none by the run that saved it";
  const auto part = [&](uint64_t rows) {
    return 100.0 * static_cast<double>(rows) / static_cast<double>(counted->total());
  };
  return fmt::format(
      "{} by the run that saved it: first touch {:.2f} %, memory {:.2f} %, disk {:.2f} %",
      counted->total(), part(counted->first_touched), part(counted->from_memory),
      part(counted->from_store));
}

// Rows and bytes of each table on a shard.
Result<std::vector<StoredBytes>> CountShard(const SavedShard& saved, size_t tables,
                                            RowStore& rows) {
  std::vector<StoredBytes> counted(tables);
  RETURN_IF_ERROR(rows.Scan([&](TableId table, RowId, uint16_t first_column,
                                std::span<const std::byte> record) -> Status {
                        if (Raw(table) >= tables) {
                          return CorruptionError("{}: table {} is none of the model's",
                                                 saved.directory, Raw(table));
                        }
                        counted[Raw(table)].Add(
                            {.rows = first_column == 0 ? 1u : 0u, .bytes = record.size()});
                        return OkStatus();
                      })
                      .Annotate(fmt::format("shard {}", Raw(saved.shard))));
  return counted;
}

Result<std::vector<StoredBytes>> CountWorkers(const SavedRows& model) {
  std::vector<StoredBytes> counted(model.manifest().tables.size());
  RETURN_IF_ERROR(model.ScanRowsOnWorkers(
      [&counted](TableId table, RowId, std::span<const std::byte> record) -> Status {
        counted[Raw(table)].Add({.rows = 1, .bytes = record.size()});
        return OkStatus();
      }));
  return counted;
}

// Adds a line for each table with rows at `place`; returns their sum.
StoredBytes AddTables(const std::string& place, const std::vector<TableSpec>& tables,
                      const std::vector<StoredBytes>& counted, nlohmann::ordered_json* of_tables,
                      Figures* out) {
  StoredBytes sum;
  *of_tables = nlohmann::ordered_json::array();
  for (const TableSpec& table : tables) {
    const StoredBytes& stored = counted[Raw(table.id)];
    if (stored.bytes == 0) continue;
    out->Say(kStatsLine, place, table.name, stored.rows, BytesText(stored.bytes), "", "", "");
    of_tables->push_back(
        {{"name", table.name}, {"rows", stored.rows}, {"record_bytes", stored.bytes}});
    sum.Add(stored);
  }
  return sum;
}

nlohmann::ordered_json LevelsJson(const std::vector<RowStoreLevel>& levels) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RowStoreLevel& level : levels) {
    list.push_back({{"level", level.level}, {"bytes", level.bytes}, {"files", level.files}});
  }
  return list;
}

}  // namespace

Status CollectStats(const SavedRows& model, const std::string& model_dir, Figures* out) {
  const Manifest& manifest = model.manifest();
  // Errors come before anything is printed.
  for (const SavedShard& saved : manifest.shards) {
    RETURN_IF_ERROR(model.OpenShard(saved).status());
  }
  ASSIGN_OR_RETURN(const std::vector<StoredBytes> on_workers, CountWorkers(model));
  out->Say("model {} after {}, {}\n", manifest.model_id, Counted(manifest.steps, "step"),
           Counted(manifest.shards.size(), "shard"));
  out->Say("rows pulled: {}\n", DescribePulled(model_dir));
  out->Say(kStatsLine, "shard", "table", "rows", "of records", "of files", "files", "levels");
  out->json = {{"model", manifest.model_id},
               {"steps", manifest.steps},
               {"rows_pulled", DescribePulled(model_dir)},
               {"shards", nlohmann::ordered_json::array()}};
  StoredBytes all;
  uint64_t file_bytes = 0;
  for (const SavedShard& saved : manifest.shards) {
    ASSIGN_OR_RETURN(const auto rows, model.OpenShard(saved));
    ASSIGN_OR_RETURN(const std::vector<StoredBytes> counted,
                     CountShard(saved, manifest.tables.size(), *rows));
    const std::string shard = std::to_string(Raw(saved.shard));
    nlohmann::ordered_json tables;
    const StoredBytes sum = AddTables(shard, manifest.tables, counted, &tables, out);
    const std::vector<RowStoreLevel> levels = rows->levels();
    out->Say(kStatsLine, shard, "all", sum.rows, BytesText(sum.bytes), BytesText(BytesOf(levels)),
             FilesOf(levels), DescribeLevels(levels));
    out->json["shards"].push_back({{"shard", Raw(saved.shard)},
                                   {"rows", sum.rows},
                                   {"record_bytes", sum.bytes},
                                   {"file_bytes", BytesOf(levels)},
                                   {"levels", LevelsJson(levels)},
                                   {"tables", tables}});
    all.Add(sum);
    file_bytes += BytesOf(levels);
  }
  if (manifest.plan.has_worker_rows()) {
    nlohmann::ordered_json tables;
    const StoredBytes sum = AddTables("workers", manifest.tables, on_workers, &tables, out);
    out->json["workers"] = {{"rows", sum.rows},
                            {"record_bytes", sum.bytes},
                            {"file", manifest.dense.file},
                            {"tables", tables}};
    // The dense file has the records as they are, also those that no step changed.
    out->Say(kStatsLine, "workers", "all", sum.rows, BytesText(sum.bytes), BytesText(sum.bytes), 1,
             "in " + manifest.dense.file);
    all.Add(sum);
    file_bytes += sum.bytes;
  }
  out->Say(kStatsLine, "all", "", all.rows, BytesText(all.bytes), BytesText(file_bytes), "",
           all.bytes == 0
               ? ""
               : fmt::format("{:.2f} bytes of files for each of records",
                             static_cast<double>(file_bytes) / static_cast<double>(all.bytes)));
  out->json["all"] = {{"rows", all.rows}, {"record_bytes", all.bytes}, {"file_bytes", file_bytes}};
  return OkStatus();
}

}  // namespace rowhouse
