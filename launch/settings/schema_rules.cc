#include "launch/settings/schema_rules.h"

#include <map>
#include <set>
#include <string_view>

#include "common/nearest_name.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

// A format may have columns of its own.
bool NamesColumns(const Schema& schema) {
  return TextFormats().DeclarationOf(schema.format).names_columns || !schema.dense.empty() ||
         !schema.categorical.empty();
}

std::vector<std::string> NamesOf(const std::vector<LogicalTable>& tables) {
  std::vector<std::string> names;
  for (const LogicalTable& table : tables) names.push_back(table.name);
  return names;
}

// Of the tables that the columns are looked up in.
std::vector<std::string> NamesOf(const std::vector<CategoricalColumn>& columns) {
  std::vector<std::string> names;
  for (const CategoricalColumn& column : columns) names.push_back(TableNameOf(column.name));
  return names;
}

Status CheckNames(const Schema& schema, const std::vector<LogicalTable>& tables) {
  const std::vector<std::string> of_tables = NamesOf(tables),
                                 of_columns = NamesOf(schema.categorical);
  const std::set<std::string> known_tables(of_tables.begin(), of_tables.end());
  std::set<std::string> known_columns;
  for (const std::string& name : of_columns) {
    if (!known_columns.insert(name).second) {
      return UsageError("schema: several categorical columns are looked up in table {}; rename one",
                        name);
    }
    if (known_tables.contains(name)) continue;
    return UsageError(
        "schema: categorical column \"{}\" has no table of its name {}; add it to tables: list, as "
        "in {{name: {}, rows: 1000}}",
        name, DescribeKnownNames(name, of_tables), name);
  }
  for (const std::string& name : of_tables) {
    if (known_columns.contains(name)) continue;
    return UsageError(
        "table \"{}\" has no categorical column of its name in the schema {}; add the column, or "
        "take the table away",
        name, DescribeKnownNames(name, of_columns));
  }
  return OkStatus();
}

Status CheckDenseWidth(const Settings& s) {
  const size_t columns = s.data.schema.dense.size();
  const size_t width = DenseInputs(s.data.schema).size();
  if (s.model.bottom_mlp.empty() || s.model.bottom_mlp.front() == width) return OkStatus();
  return UsageError(
      "arch_mlp_bot begins with {}, but the schema has {} dense column{}: let it begin with {}{}",
      s.model.bottom_mlp.front(), columns, columns == 1 ? "" : "s", width,
      columns == 0 ? " (one input, which is always 0)" : "");
}

Status CheckTokenWeights(const Settings& s) {
  std::map<std::string_view, const LogicalTable*> tables;
  for (const LogicalTable& table : s.tables) tables.emplace(table.name, &table);
  for (const CategoricalColumn& column : s.data.schema.categorical) {
    if (column.weight_separator.empty()) continue;
    const LogicalTable* const table = tables.at(TableNameOf(column.name));
    if (table->pooling == "sum") continue;
    return UsageError(
        "schema: tokens of column \"{}\" have weights (weight_separator), which needs pooling=sum; "
        "that of its table is {}",
        column.name, table->pooling);
  }
  return OkStatus();
}

}  // namespace

void FitSchemaToTables(Settings* settings) {
  Schema& schema = settings->data.schema;
  if (!NamesColumns(schema) || !CheckNames(schema, settings->tables).ok()) return;
  std::map<std::string, const CategoricalColumn*> of_table;
  for (const CategoricalColumn& column : schema.categorical) {
    of_table.emplace(TableNameOf(column.name), &column);
  }
  std::vector<CategoricalColumn> columns;
  for (const LogicalTable& table : settings->tables) {
    columns.push_back(*of_table.at(table.name));
    columns.back().rows = table.rows;
  }
  schema.categorical = std::move(columns);
}

Status CheckSchemaFits(const Settings& settings) {
  if (!NamesColumns(settings.data.schema)) return OkStatus();
  RETURN_IF_ERROR(CheckNames(settings.data.schema, settings.tables));
  RETURN_IF_ERROR(CheckDenseWidth(settings));
  RETURN_IF_ERROR(CheckTokenWeights(settings));
  return CheckSchema(settings.data.schema);
}

}  // namespace rowhouse
