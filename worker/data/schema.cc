#include "worker/data/schema.h"

#include <algorithm>
#include <map>

#include "common/nearest_name.h"
#include "worker/data/buckets.h"

namespace rowhouse {
namespace {

// A column has one use. *uses gets "dense" and so on by the column's name.
Status AddUse(const std::string& column, const char* use,
              std::map<std::string, std::string>* uses) {
  if (column.empty()) return UsageError("schema: a column in {} has no name", use);
  const auto [first, is_new] = uses->emplace(column, use);
  if (is_new) return OkStatus();
  return UsageError(
      "schema: column \"{}\" is named in {} and in {}; a column has one use: take one away", column,
      first->second, use);
}

Status CheckUses(const Schema& schema) {
  std::map<std::string, std::string> uses;
  if (!schema.label.column.empty()) RETURN_IF_ERROR(AddUse(schema.label.column, "label", &uses));
  if (!schema.weight.empty()) RETURN_IF_ERROR(AddUse(schema.weight, "weight", &uses));
  for (const DenseColumn& column : schema.dense) {
    RETURN_IF_ERROR(AddUse(column.name, "dense", &uses));
  }
  std::map<std::string, std::string> tables;
  for (const CategoricalColumn& column : schema.categorical) {
    RETURN_IF_ERROR(AddUse(column.name, "categorical", &tables));
    if (!column.is_derived()) RETURN_IF_ERROR(AddUse(column.name, "categorical", &uses));
  }
  for (const CategoricalColumn& column : schema.categorical) {
    const bool is_added = column.is_bucket() && uses.emplace(column.numbers(), "dense").second;
    if (!column.is_bucket() || is_added || uses[column.numbers()] == "dense") continue;
    return UsageError(
        "schema: column \"{}\" has buckets of column \"{}\", which is named in {}: buckets are of "
        "numbers",
        column.name, column.numbers(), uses[column.numbers()]);
  }
  for (const std::string& column : schema.ignored) {
    // A column of files whose lines end with a separator, or that begin with row numbers.
    if (column.empty() || column == kAllOthers) continue;
    RETURN_IF_ERROR(AddUse(column, "ignored", &uses));
  }
  if (schema.has_header || schema.columns.empty()) return OkStatus();
  for (const auto& [column, use] : uses) {
    if (std::ranges::count(schema.columns, column) > 0) continue;
    return UsageError("schema: {} names column \"{}\", which is not in columns {}", use, column,
                      DescribeKnownNames(column, schema.columns));
  }
  return OkStatus();
}

Status Refuse(const CategoricalColumn& column, std::string_view what) {
  return UsageError("schema: categorical column \"{}\": {}", column.name, what);
}

// Of buckets and crosses, which have no tokens in the text.
Status CheckDerived(const CategoricalColumn& column) {
  const CategoricalColumn fresh;
  if (column.is_bucket() && column.is_cross()) {
    return Refuse(column, "edges make buckets of it and cross pairs: give only one");
  }
  if (!column.of.empty() && !column.is_bucket()) {
    return Refuse(column,
                  "of names the column of numbers of which it has buckets: give edges, too");
  }
  if (column.token != fresh.token || !column.separator.empty()) {
    return Refuse(column, fmt::format("its tokens are {}, not in the text: take token, separator "
                                      "and weight_separator away",
                                      column.is_bucket() ? "buckets" : "pairs"));
  }
  if (column.is_cross() || !column.is_bucket()) return OkStatus();
  if (column.ids != fresh.ids || column.max_ind_range > 0) {
    return Refuse(column, "each bucket has a row of its own: take ids and max_ind_range away");
  }
  const Result<EdgeRule> rule = ReadEdges(column.edges);
  if (!rule.ok()) return Refuse(column, "edges: " + rule.status().message());
  const uint64_t needed = rule.value().max_buckets() + 1;
  if (column.rows == 0 || column.rows >= needed) return OkStatus();
  return Refuse(column, fmt::format("its table has {} rows, and {} buckets and one for missing "
                                    "numbers need {}: give it rows: {}",
                                    column.rows, needed - 1, needed, needed));
}

Status CheckCategorical(const CategoricalColumn& column) {
  if (column.is_derived() || !column.of.empty()) RETURN_IF_ERROR(CheckDerived(column));
  const auto refuse = [&column](const char* what) { return Refuse(column, what); };
  if (column.ids != "dictionary" && column.rare_row) {
    return refuse("rare_row is for tokens that a dictionary lacks: give ids: dictionary, too");
  }
  if (column.ids != "dictionary" && column.min_count > 1) {
    return refuse("min_count keeps tokens out of a dictionary: give ids: dictionary, too");
  }
  if (!column.weight_separator.empty() && column.separator.empty()) {
    return refuse("weight_separator needs a separator: the text between two tokens");
  }
  if (!column.separator.empty() && column.separator == column.weight_separator) {
    return refuse("separator and weight_separator must differ");
  }
  if (column.rows > 0 && column.rows <= KeptRows(column)) {
    return refuse("its table has rows for missing and rare tokens only; give it more rows");
  }
  return OkStatus();
}

}  // namespace

Status CheckColumns(const Schema& schema) {
  RETURN_IF_ERROR(CheckUses(schema));
  for (const CategoricalColumn& column : schema.categorical) {
    RETURN_IF_ERROR(CheckCategorical(column));
  }
  return schema.has_columns() ? CheckCrosses(schema) : OkStatus();
}

Status CheckCrosses(const Schema& schema) {
  std::vector<std::string> names;
  for (const CategoricalColumn& column : schema.categorical) names.push_back(column.name);
  for (const CategoricalColumn& column : schema.categorical) {
    if (!column.is_cross()) continue;
    if (column.cross.size() != 2 || column.cross[0] == column.cross[1]) {
      return Refuse(column, "a cross is of two columns, such as cross: [user, city]");
    }
    for (const std::string& name : column.cross) {
      const auto of = std::ranges::find(schema.categorical, name, &CategoricalColumn::name);
      if (of == schema.categorical.end()) {
        return Refuse(column,
                      fmt::format("cross names column \"{}\", which is not in categorical {}", name,
                                  DescribeKnownNames(name, names)));
      }
      if (of->is_cross() || !of->weight_separator.empty()) {
        return Refuse(column,
                      fmt::format("cross names column \"{}\", which {}: name another", name,
                                  of->is_cross() ? "is a cross" : "has tokens with weights"));
      }
      if (column.ids != "dictionary" || !of->is_bucket()) continue;
      ASSIGN_OR_RETURN(const EdgeRule rule, ReadEdges(of->edges));
      if (rule.quantiles == 0) continue;
      return Refuse(column, fmt::format("a dictionary of its pairs is counted while the edges of "
                                        "\"{}\" are not known: give ids: hash, or other edges than "
                                        "quantiles",
                                        name));
    }
  }
  return OkStatus();
}

std::string TableNameOf(const std::string& column) {
  std::string name;
  for (const char c : column) {
    const bool is_legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (is_legal) {
      name += c;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  return name;
}

std::vector<std::string> DenseInputs(const Schema& schema) {
  if (schema.dense.empty()) return {"none"};
  std::vector<std::string> names;
  for (const DenseColumn& column : schema.dense) names.push_back(column.name);
  return names;
}

Status CheckSameColumns(const Schema& text, const Schema& given) {
  const auto names = [](const auto& columns) {
    std::vector<std::string> all;
    for (const auto& column : columns) all.push_back(column.name);
    return all;
  };
  if (text.multi_hot.is_on() && text.multi_hot != given.multi_hot) {
    return UsageError(
        "multi_hot_sizes and multi_hot_distribution_type are not those that the model's "
        "preprocessing has, by which its data are mapped; leave both out, or train another model");
  }
  if (names(text.dense) == names(given.dense) &&
      names(text.categorical) == names(given.categorical)) {
    return OkStatus();
  }
  return UsageError(
      "the data have other columns than the model's preprocessing maps: {} dense and {} "
      "categorical "
      "ones in place of {} and {}, or other names; give data of the form that the model was "
      "trained "
      "on (with the files that lay beside it), and no other schema",
      text.dense.size(), text.categorical.size(), given.dense.size(), given.categorical.size());
}

}  // namespace rowhouse
