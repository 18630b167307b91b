#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/counted.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/model/ckpt.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// A physical table by name. Kinds with several physical tables name them NAME.part; which of their
// rows an id is, only the model's config says.
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

// Floats in lines, with as many digits as it takes to read them back.
void PrintFloats(const char* head, std::span<const float> values, Figures* out) {
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

// `piece`: the JSON object of these columns.
void PrintRecord(const TableSpec& table, const RecordLayout& layout, uint32_t first_column,
                 const std::byte* record, nlohmann::ordered_json piece, Figures* out) {
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

// The value that a pull of a row without a record returns.
Status PrintInitialValue(const TableSpec& table, const Optimizer& optimizer, RowId row,
                         Figures* out) {
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open({table}));
  ASSIGN_OR_RETURN(const auto initialiser,
                   Initialisers().Make(table.initialiser, sources.ContextOf(table)));
  std::vector<float> weights(table.dim);
  RETURN_IF_ERROR(initialiser->Fill(std::span(&row, 1), weights));
  const RecordLayout layout = LayoutOf(table, optimizer);
  std::vector<std::byte> record(layout.bytes());
  WriteInitialWeights(layout, weights, record.data());
  ReadWeights(layout, record.data(), weights);
  out->Say("never written: no step has changed it, and this is its initial value ({}, seed {})\n",
           table.initialiser, table.initialiser_options.seed);
  PrintFloats("weights", weights, out);
  out->json["first_value"] = {{"initialiser", table.initialiser},
                              {"seed", table.initialiser_options.seed},
                              {"weights", weights}};
  return OkStatus();
}

Status PrintRowOnWorkers(const SavedRows& model, const TableSpec& table, const RecordLayout& layout,
                         RowId row, Figures* out) {
  const std::string& file = model.manifest().dense.file;
  out->Say("on the workers, in {}\n", file);
  return model.ScanRowsOnWorkers(
      [&](TableId id, RowId at, std::span<const std::byte> record) -> Status {
        if (id == table.id && at == row) {
          PrintRecord(table, layout, 0, record.data(), {{"on_workers", file}}, out);
        }
        return OkStatus();
      });
}

// A slice of a row and the shard that owns it.
struct RowSlice {
  const Slice* slice;
  const SavedShard* shard;
  std::unique_ptr<RowStore> rows;
};

Result<std::vector<RowSlice>> OpenRowSlices(const SavedRows& model, const TableSpec& table,
                                            RowId row) {
  const Plan& plan = model.manifest().plan;
  const uint64_t position = plan.order(table.id).PositionOf(row);
  std::vector<RowSlice> slices_of_row;
  for (const Slice& slice : plan.slices(table.id)) {
    if (position < slice.row_begin || position >= slice.row_end) continue;
    const SavedShard* saved = model.FindShard(slice.shard);
    if (saved == nullptr) {
      return CorruptionError("the manifest has no directory of shard {}", Raw(slice.shard));
    }
    ASSIGN_OR_RETURN(auto rows, model.OpenShard(*saved));
    slices_of_row.push_back({&slice, saved, std::move(rows)});
  }
  return slices_of_row;
}

void PrintHead(const Manifest& manifest, const TableSpec& table, RowId row, Figures* out) {
  out->Say("table {} row {} of {}: {} x {}, {}, after {}\n", table.name, Raw(row), table.rows,
           table.dim, table.precision, table.optimizer, Counted(manifest.steps, "step"));
  out->json = {{"table", table.name},          {"row", Raw(row)},
               {"rows", table.rows},           {"dim", table.dim},
               {"precision", table.precision}, {"optimizer", table.optimizer},
               {"steps", manifest.steps},      {"pieces", nlohmann::ordered_json::array()}};
}

}  // namespace

Status InspectRow(const SavedRows& model, const std::string& name, const std::string& id,
                  Figures* out) {
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
  // Errors come before anything is printed.
  ASSIGN_OR_RETURN(const std::vector<RowSlice> slices_of_row, OpenRowSlices(model, *table, row));
  PrintHead(manifest, *table, row, out);
  bool is_written = false;
  for (const RowSlice& piece : slices_of_row) {
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

namespace {

// A row of a physical table.
struct PartRow {
  TableId table{};
  uint64_t row = 0;
};

// The rows that a lookup of the id reads.
std::vector<PartRow> RowsOfId(const FeatureTable& feature, uint64_t id) {
  uint32_t group = 0;
  if (feature.groups.size() > 1) {
    feature.kind->Assign(std::span(&id, 1), std::span(&group, 1));
  }
  std::vector<PartRow> rows;
  const uint32_t first = feature.groups[group].first_part;
  for (uint32_t part = first; part < first + feature.groups[group].parts; ++part) {
    PartRow& at = rows.emplace_back(PartRow{.table = feature.parts[part]});
    feature.kind->Resolve(part, std::span(&id, 1), std::span(&at.row, 1));
  }
  if (feature.weights) rows.push_back({.table = *feature.weights, .row = id});
  return rows;
}

}  // namespace

size_t ColumnOf(const Preprocessing& preprocessing, const std::string& table) {
  const std::vector<CategoricalColumn>& columns = preprocessing.schema().categorical;
  const auto found = std::ranges::find(
      columns, table, [](const CategoricalColumn& column) { return TableNameOf(column.name); });
  return static_cast<size_t>(found - columns.begin());
}

Status InspectToken(const SavedRows& model, const EmbeddingTables& tables,
                    const Preprocessing& preprocessing, const std::string& table,
                    const std::string& token, Figures* out) {
  const size_t number = ColumnOf(preprocessing, table);
  const Result<uint64_t> found = preprocessing.IdOf(number, token);
  if (found.status().code() == StatusCode::kNotFound) {
    return UsageError(
        "\"{}\" was not in column \"{}\" of the data that the model was trained on, so no row is "
        "its own; row=NUMBER names a row",
        token, table);
  }
  RETURN_IF_ERROR(found.status());
  const auto feature = std::ranges::find(tables.features, table,
                                         [](const FeatureTable& one) { return one.table.name; });
  if (feature == tables.features.end()) {
    return CorruptionError("column \"{}\" of the preprocessing has no table", table);
  }
  uint64_t id = found.value();
  const LogicalTable& logical = feature->table;
  if (id >= logical.rows && logical.bad_ids == "modulo") id %= logical.rows;
  const CategoricalColumn& column = preprocessing.schema().categorical[number];
  const bool is_rare =
      column.ids == "dictionary" && column.rare_row && id == (column.missing_row ? 1u : 0u);
  out->Say("token \"{}\" of {} is id {}{}\n", token, table, id,
           is_rare ? ", the row of tokens that are not in the dictionary" : "");
  out->json = {{"token", token}, {"id", id}, {"rows", nlohmann::ordered_json::array()}};
  if (id >= logical.rows || logical.padding_id == id) {
    out->Say("it is padding: it is left out of the bag\n");
    return OkStatus();
  }
  for (const PartRow& part : RowsOfId(*feature, id)) {
    Figures of_part;
    RETURN_IF_ERROR(InspectRow(model, tables.physical[Raw(part.table)].name,
                               std::to_string(part.row), &of_part));
    out->Append(FiguresAsText(of_part));
    out->json["rows"].push_back(std::move(of_part.json));
  }
  return OkStatus();
}

}  // namespace rowhouse
