#include "launch/model/ckpt_token.h"

#include <algorithm>
#include <vector>

#include "launch/model/ckpt_inspect.h"

namespace rowhouse {
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
                    const std::string& token, CkptFigures* out) {
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
    CkptFigures of_part;
    RETURN_IF_ERROR(InspectRow(model, tables.physical[Raw(part.table)].name,
                               std::to_string(part.row), &of_part));
    out->text += of_part.text;
    out->json["rows"].push_back(std::move(of_part.json));
  }
  return OkStatus();
}

}  // namespace rowhouse
