// rowhouse ckpt: looks into a saved model and compacts its rows.
//
//   ckpt inspect TABLE ID   one row: where it lies, how often it was used, weights and state
//   ckpt stats              tables and shards: rows, bytes, levels, files, the cache's hits
//   ckpt compact            rewrites each shard's files so that each row is there once
//
// inspect and stats only read. `stats` reads every row, and so checks every checksum.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "common/wire/control.h"
#include "launch/model/saved_rows.h"
#include "launch/report/json_output.h"
#include "launch/verbs.h"
#include "ps/store/store_environment.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// What is found, as text for people and as JSON for --json; delivered when all of it is found.
struct Findings {
  std::string text = {};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  }
};

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// ---- inspect --------------------------------------------------------------------------------

// A table by the name rows are kept under. Kinds that keep a logical table in several parts name
// them NAME.part; which row of each an id is only the model's config can say.
Result<const TableSpec*> FindTable(const std::vector<TableSpec>& tables, const std::string& name) {
  std::vector<std::string> names, parts;
  for (const TableSpec& table : tables) {
    if (table.name == name) return &table;
    names.push_back(table.name);
    if (table.name.starts_with(name + ".")) {
      parts.push_back(fmt::format("{} ({})", table.name, Counted(table.rows, "row")));
    }
  }
  if (!parts.empty()) {
    return UsageError(
        "table \"{}\" is kept in {} physical tables: {}; name one of them, and a row "
        "of it",
        name, parts.size(), fmt::join(parts, ", "));
  }
  return UsageError("unknown table \"{}\" {}", name, DescribeKnownNames(name, names));
}

Result<RowId> ReadRow(const std::string& text, const TableSpec& table) {
  const auto row = ReadWhole(text);
  if (!row || *row >= table.rows) {
    return UsageError("\"{}\" is no row of table \"{}\": a number from 0 to {}", text, table.name,
                      table.rows - 1);
  }
  return RowId{*row};
}

// As many floats a line as fit, each with the digits that give it back.
void PrintFloats(const char* head, std::span<const float> values, Findings* out) {
  std::string line = head;
  for (const float value : values) {
    const std::string text = fmt::format(" {}", value);
    if (line.size() + text.size() > 100) {
      out->Say("{}\n", line);
      line = "   ";
    }
    line += text;
  }
  out->Say("{}\n", line);
}

// `piece`: the object of these columns in `out`.
void PrintRecord(const TableSpec& table, const RecordLayout& layout, uint32_t first_column,
                 const std::byte* record, nlohmann::ordered_json piece, Findings* out) {
  if (layout.dim != table.dim) {
    out->Say("columns {} to {}\n", first_column, first_column + layout.dim - 1);
  }
  const RecordTrailer trailer = layout.trailer(record);
  if (trailer.lsn == 0) {
    out->Say("no step has changed it; looked up {}\n", Counted(trailer.frequency, "time"));
  } else {
    out->Say("LSN {}, last changed in step {}, looked up {}\n", trailer.lsn, trailer.last_step,
             Counted(trailer.frequency, "time"));
  }
  std::vector<float> weights(layout.dim);
  ReadWeights(layout, record, weights);
  PrintFloats("weights", weights, out);
  const std::span<const float> state = layout.state(record);
  if (!state.empty()) PrintFloats("state", state, out);
  piece["first_column"] = first_column;
  piece["lsn"] = trailer.lsn;
  piece["last_step"] = trailer.last_step;
  piece["lookups"] = trailer.frequency;
  piece["weights"] = weights;
  piece["state"] = std::vector<float>(state.begin(), state.end());
  out->json["pieces"].push_back(std::move(piece));
}

// What a pull of a row that no step has changed gives.
Status PrintInitialValue(const TableSpec& table, const Optimizer& optimizer, RowId row,
                         Findings* out) {
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open({table}));
  ASSIGN_OR_RETURN(const auto initialiser,
                   Initialisers().Make(table.initialiser, sources.ContextOf(table)));
  std::vector<float> weights(table.dim);
  RETURN_IF_ERROR(initialiser->Fill(std::span(&row, 1), weights));
  const RecordLayout layout = LayoutOf(table, optimizer);
  std::vector<std::byte> record(layout.bytes());
  WriteInitialWeights(layout, weights, record.data());
  ReadWeights(layout, record.data(), weights);
  out->Say("never written: no step has changed it, and it is its first value ({}, seed {})\n",
           table.initialiser, table.initialiser_options.seed);
  PrintFloats("weights", weights, out);
  out->json["first_value"] = {{"initialiser", table.initialiser},
                              {"seed", table.initialiser_options.seed},
                              {"weights", weights}};
  return OkStatus();
}

Status PrintRowOnWorkers(const SavedRows& model, const TableSpec& table, const RecordLayout& layout,
                         RowId row, Findings* out) {
  const std::string& file = model.manifest().dense_file;
  out->Say("on the workers, in {}\n", file);
  return model.ScanRowsOnWorkers(
      [&](TableId id, RowId at, std::span<const std::byte> record) -> Status {
        if (id == table.id && at == row) {
          PrintRecord(table, layout, 0, record.data(), {{"on_workers", file}}, out);
        }
        return OkStatus();
      });
}

// Columns of a row and the shard that keeps them.
struct Piece {
  const Slice* slice;
  const SavedShard* shard;
  std::unique_ptr<RowStore> rows;
};

Result<std::vector<Piece>> OpenPieces(const SavedRows& model, const TableSpec& table, RowId row) {
  const Plan& plan = model.manifest().plan;
  const uint64_t position = plan.order(table.id).PositionOf(row);
  std::vector<Piece> pieces;
  for (const Slice& slice : plan.slices(table.id)) {
    if (position < slice.row_begin || position >= slice.row_end) continue;
    const SavedShard* saved = model.FindShard(slice.shard);
    if (saved == nullptr) {
      return CorruptionError("the manifest has no directory of shard {}", Raw(slice.shard));
    }
    ASSIGN_OR_RETURN(auto rows, model.OpenShard(*saved));
    pieces.push_back({&slice, saved, std::move(rows)});
  }
  return pieces;
}

void PrintHead(const Manifest& manifest, const TableSpec& table, RowId row, Findings* out) {
  out->Say("table {} row {} of {}: {} x {}, {}, after {}\n", table.name, Raw(row), table.rows,
           table.dim, table.precision, table.optimizer, Counted(manifest.steps, "step"));
  out->json = {{"table", table.name},          {"row", Raw(row)},
               {"rows", table.rows},           {"dim", table.dim},
               {"precision", table.precision}, {"optimizer", table.optimizer},
               {"steps", manifest.steps},      {"pieces", nlohmann::ordered_json::array()}};
}

Status Inspect(const SavedRows& model, const std::string& name, const std::string& id,
               Findings* out) {
  const Manifest& manifest = model.manifest();
  ASSIGN_OR_RETURN(const TableSpec* table, FindTable(manifest.tables, name));
  ASSIGN_OR_RETURN(const RowId row, ReadRow(id, *table));
  const auto optimizer = Optimizers().Make(table->optimizer, table->optimizer_options).value();

  const std::vector<RowId>& on_workers = manifest.plan.worker_rows(table->id);
  if (manifest.plan.is_on_workers(table->id) ||
      std::binary_search(on_workers.begin(), on_workers.end(), row)) {
    PrintHead(manifest, *table, row, out);
    return PrintRowOnWorkers(model, *table, LayoutOf(*table, *optimizer), row, out);
  }
  // Whatever would be refused is refused before anything is printed.
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, OpenPieces(model, *table, row));
  PrintHead(manifest, *table, row, out);
  bool is_written = false;
  for (const Piece& piece : pieces) {
    const Slice& slice = *piece.slice;
    const RecordLayout layout = LayoutOf(*table, *optimizer, slice.columns());
    out->Say("shard {}, {} on {}\n", Raw(slice.shard), piece.shard->directory, piece.shard->host);
    std::vector<std::byte> record(layout.bytes());
    std::vector<size_t> missing;
    RETURN_IF_ERROR(piece.rows
                        ->Get({.table = table->id,
                               .first_column = static_cast<uint16_t>(slice.column_begin),
                               .record_bytes = static_cast<uint32_t>(layout.bytes())},
                              std::span(&row, 1), record, &missing)
                        .Annotate(fmt::format("shard {}", Raw(slice.shard))));
    if (!missing.empty()) continue;
    is_written = true;
    PrintRecord(*table, layout, slice.column_begin, record.data(),
                {{"shard", Raw(slice.shard)},
                 {"directory", piece.shard->directory},
                 {"host", piece.shard->host}},
                out);
  }
  return is_written ? OkStatus() : PrintInitialValue(*table, *optimizer, row, out);
}

// ---- stats ----------------------------------------------------------------------------------

// Of a row whose columns are cut, every piece has its bytes; the row counts where its first column
// lies.
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
                        Megabytes(level.bytes), level.files);
  }
  return text.empty() ? "-" : text;
}

uint64_t BytesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t bytes = 0;
  for (const RowStoreLevel& level : levels) bytes += level.bytes;
  return bytes;
}

uint64_t FilesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t files = 0;
  for (const RowStoreLevel& level : levels) files += level.files;
  return files;
}

// Nothing for what is no report of a run; types are checked, so that nlohmann never throws.
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

// Of the run that saved the model, if its report lies beside it.
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

// Of each table.
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

// A line a table that has rows at `place`; their sum.
StoredBytes PrintTables(const std::string& place, const std::vector<TableSpec>& tables,
                        const std::vector<StoredBytes>& counted, nlohmann::ordered_json* of_tables,
                        Findings* out) {
  StoredBytes sum;
  *of_tables = nlohmann::ordered_json::array();
  for (const TableSpec& table : tables) {
    const StoredBytes& stored = counted[Raw(table.id)];
    if (stored.bytes == 0) continue;
    out->Say(kStatsLine, place, table.name, stored.rows, Megabytes(stored.bytes), "", "", "");
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

Status PrintStats(const SavedRows& model, const std::string& model_dir, Findings* out) {
  const Manifest& manifest = model.manifest();
  // Whatever would be refused is refused before anything is printed.
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
    const StoredBytes sum = PrintTables(shard, manifest.tables, counted, &tables, out);
    const std::vector<RowStoreLevel> levels = rows->levels();
    out->Say(kStatsLine, shard, "all", sum.rows, Megabytes(sum.bytes), Megabytes(BytesOf(levels)),
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
    const StoredBytes sum = PrintTables("workers", manifest.tables, on_workers, &tables, out);
    out->json["workers"] = {{"rows", sum.rows},
                            {"record_bytes", sum.bytes},
                            {"file", manifest.dense_file},
                            {"tables", tables}};
    // Their records lie there as they are, those that no step changed too.
    out->Say(kStatsLine, "workers", "all", sum.rows, Megabytes(sum.bytes), Megabytes(sum.bytes), 1,
             "in " + manifest.dense_file);
    all.Add(sum);
    file_bytes += sum.bytes;
  }
  out->Say(kStatsLine, "all", "", all.rows, Megabytes(all.bytes), Megabytes(file_bytes), "",
           all.bytes == 0
               ? ""
               : fmt::format("{:.2f} bytes of files for each of records",
                             static_cast<double>(file_bytes) / static_cast<double>(all.bytes)));
  out->json["all"] = {{"rows", all.rows}, {"record_bytes", all.bytes}, {"file_bytes", file_bytes}};
  return OkStatus();
}

// ---- compact --------------------------------------------------------------------------------

std::string DescribeFiles(const std::vector<RowStoreLevel>& levels) {
  return fmt::format("{} in {}", Megabytes(BytesOf(levels)), Counted(FilesOf(levels), "file"));
}

// `given`: what --store_compression says; "": what a shard's files have already.
// Says each shard as it is done: a large one takes minutes. `says`: a line a shard on stdout.
Status Compact(const SavedRows& model, const NodeOptions& storage, const std::string& given,
               bool says, nlohmann::ordered_json* json) {
  const auto environment_of = [&storage](const std::string& compression) {
    return std::make_shared<StoreEnvironment>(
        StoreEnvironmentOptions{.compression = compression, .direct_reads = storage.direct_reads});
  };
  // Whatever would be refused is refused before anything is changed.
  std::vector<std::string> compressions;
  for (const SavedShard& saved : model.manifest().shards) {
    ASSIGN_OR_RETURN(const auto files, model.OpenShard(saved));
    compressions.push_back(given);
    if (!given.empty()) continue;
    ASSIGN_OR_RETURN(compressions.back(), files->compression());
  }
  for (size_t s = 0; s < compressions.size(); ++s) {
    const SavedShard& saved = model.manifest().shards[s];
    const std::string& compression = compressions[s];
    ASSIGN_OR_RETURN(const auto rows,
                     model.OpenShard(saved, {.environment = environment_of(compression)}));
    const std::vector<RowStoreLevel> before = rows->levels();
    RETURN_IF_ERROR(rows->Compact().Annotate(fmt::format("shard {}", Raw(saved.shard))));
    const std::vector<RowStoreLevel> after = rows->levels();
    json->push_back({{"shard", Raw(saved.shard)},
                     {"file_bytes_before", BytesOf(before)},
                     {"file_bytes", BytesOf(after)},
                     {"files", FilesOf(after)},
                     {"compression", compression}});
    if (!says) continue;
    fmt::print("shard {}: {} -> {}, compression {}\n", Raw(saved.shard), DescribeFiles(before),
               DescribeFiles(after), compression);
    std::fflush(stdout);
  }
  return OkStatus();
}

}  // namespace

Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const std::string& given_compression, const std::string& json) {
  const std::vector<std::string> known = {"inspect", "stats", "compact"};
  if (arguments.empty()) return UsageError("ckpt needs one of inspect, stats, compact");
  const std::string& action = arguments[0];
  if (std::find(known.begin(), known.end(), action) == known.end()) {
    return UsageError("unknown action \"{}\" of ckpt {}", action,
                      DescribeKnownNames(action, known));
  }
  const size_t due = action == "inspect" ? 3 : 1;
  if (arguments.size() != due) {
    return UsageError("ckpt {} takes {}, not {} arguments", action,
                      due == 3 ? "TABLE and ID" : "flags only", arguments.size() - 1);
  }
  const std::string& model_dir = settings.output.model_dir;
  if (model_dir.empty()) {
    return UsageError("ckpt {} needs --model_dir=DIRECTORY of a saved model", action);
  }
  const auto carry = [&]() -> Status {
    ASSIGN_OR_RETURN(const SavedRows model, SavedRows::Open(model_dir, settings.storage.row_dir));
    Findings found;
    if (action == "inspect") {
      RETURN_IF_ERROR(Inspect(model, arguments[1], arguments[2], &found));
    } else if (action == "stats") {
      RETURN_IF_ERROR(PrintStats(model, model_dir, &found));
    } else {
      found.json = nlohmann::ordered_json::array();
      RETURN_IF_ERROR(Compact(model, settings.storage, given_compression,
                              /*says=*/json != kJsonToStdout, &found.json));
    }
    return DeliverFigures(json, found.json.dump(2) + "\n", found.text);
  };
  return carry().Annotate("--model_dir=" + model_dir);
}

}  // namespace rowhouse
