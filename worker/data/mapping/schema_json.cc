#include "worker/data/mapping/schema_json.h"

#include <algorithm>
#include <limits>

#include "common/json_text.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kGreatestMovie[] = "greatest_movie";
constexpr uint64_t kAnyNumber = std::numeric_limits<uint64_t>::max();

// Reads the keys of an object one by one; the first mistake stays.
class KeyReader {
 public:
  explicit KeyReader(const json& object) : object_(object) {
    if (!object.is_object()) status_ = CorruptionError("{} is no object", ShownJson(object));
  }

  void Read(const char* key, std::string* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return Expected(key, "a text");
    *value = found->get<std::string>();
  }
  void Read(const char* key, bool* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return Expected(key, "true or false");
    *value = found->get<bool>();
  }
  void Read(const char* key, float* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!found->is_number()) return Expected(key, "a number");
    *value = found->get<float>();
  }
  void Read(const char* key, uint64_t* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    const Result<uint64_t> number = ReadJsonNumber(*found, key, kAnyNumber);
    if (!number.ok()) {
      status_ = number.status();
    } else {
      *value = number.value();
    }
  }
  void Read(const char* key, std::vector<std::string>* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return Expected(key, "a list of texts");
    for (const json& element : *found) {
      if (!element.is_string()) return Expected(key, "a list of texts");
      value->push_back(element.get<std::string>());
    }
  }

  const json* Find(const char* key) {
    if (!status_.ok()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    status_ = CorruptionError("has no \"{}\"", key);
    return nullptr;
  }
  const Status& status() const { return status_; }

 private:
  void Expected(const char* key, const char* what) {
    status_ = CorruptionError("\"{}\" is {}, expected {}", key, ShownJson(object_[key]), what);
  }

  const json& object_;
  Status status_;
};

Result<DenseColumn> DenseFromJson(const json& object) {
  DenseColumn column;
  KeyReader reader(object);
  reader.Read("name", &column.name);
  reader.Read("transform", &column.transform);
  reader.Read("missing", &column.missing);
  RETURN_IF_ERROR(reader.status());
  return column;
}

Result<CategoricalColumn> CategoricalFromJson(const json& object) {
  CategoricalColumn column;
  KeyReader reader(object);
  reader.Read("name", &column.name);
  reader.Read("token", &column.token);
  reader.Read("ids", &column.ids);
  reader.Read("rows", &column.rows);
  reader.Read("max_ind_range", &column.max_ind_range);
  reader.Read("min_count", &column.min_count);
  reader.Read("missing_row", &column.missing_row);
  reader.Read("rare_row", &column.rare_row);
  reader.Read("separator", &column.separator);
  reader.Read("weight_separator", &column.weight_separator);
  RETURN_IF_ERROR(reader.status());
  return column;
}

}  // namespace

ordered_json ToJson(const DenseColumn& column) {
  return {{"name", column.name}, {"transform", column.transform}, {"missing", column.missing}};
}

ordered_json ToJson(const CategoricalColumn& column) {
  return {{"name", column.name},
          {"token", column.token},
          {"ids", column.ids},
          {"rows", column.rows},
          {"max_ind_range", column.max_ind_range},
          {"min_count", column.min_count},
          {"missing_row", column.missing_row},
          {"rare_row", column.rare_row},
          {"separator", column.separator},
          {"weight_separator", column.weight_separator}};
}

ordered_json ToJson(const Schema& schema) {
  ordered_json object = {{"format", schema.format},
                         {"separator", schema.separator},
                         {"has_quotes", schema.has_quotes},
                         {"has_header", schema.has_header},
                         {"columns", schema.columns}};
  object["label"] = {{"column", schema.label.column},
                     {"compare", schema.label.compare},
                     {"value", schema.label.value}};
  object["weight"] = schema.weight;
  object["dense"] = ordered_json::array();
  for (const DenseColumn& column : schema.dense) object["dense"].push_back(ToJson(column));
  object["categorical"] = ordered_json::array();
  for (const CategoricalColumn& column : schema.categorical) {
    object["categorical"].push_back(ToJson(column));
  }
  object["ignored"] = schema.ignored;
  if (schema.greatest_movie > 0) object[kGreatestMovie] = schema.greatest_movie;
  return object;
}

Result<Schema> SchemaFromJson(const json& object) {
  Schema schema;
  KeyReader reader(object);
  reader.Read("format", &schema.format);
  reader.Read("separator", &schema.separator);
  reader.Read("has_quotes", &schema.has_quotes);
  reader.Read("has_header", &schema.has_header);
  reader.Read("columns", &schema.columns);
  reader.Read("weight", &schema.weight);
  reader.Read("ignored", &schema.ignored);
  if (object.contains(kGreatestMovie)) reader.Read(kGreatestMovie, &schema.greatest_movie);
  const json* const label = reader.Find("label");
  const json* const dense = reader.Find("dense");
  const json* const categorical = reader.Find("categorical");
  RETURN_IF_ERROR(reader.status());
  KeyReader rule(*label);
  rule.Read("column", &schema.label.column);
  rule.Read("compare", &schema.label.compare);
  rule.Read("value", &schema.label.value);
  RETURN_IF_ERROR(rule.status());
  RETURN_IF_ERROR(CheckJsonList(*dense, "dense"));
  for (const json& one : *dense) {
    ASSIGN_OR_RETURN(DenseColumn column, DenseFromJson(one));
    schema.dense.push_back(std::move(column));
  }
  RETURN_IF_ERROR(CheckJsonList(*categorical, "categorical"));
  for (const json& one : *categorical) {
    ASSIGN_OR_RETURN(CategoricalColumn column, CategoricalFromJson(one));
    schema.categorical.push_back(std::move(column));
  }
  return schema;
}

namespace {

// Of one column: the keys of its JSON.
Status CheckSameKeys(const std::string& column, const ordered_json& mapped,
                     const ordered_json& given) {
  for (const auto& [key, value] : given.items()) {
    if (key == "rows" || mapped.at(key) == value) continue;
    return UsageError("\"{}\" has {} {} in the data and {} in the config", column, key,
                      ShownJson(mapped.at(key)), ShownJson(value));
  }
  return OkStatus();
}

template <typename Column>
Status CheckColumnsAreSame(const char* kind, const std::vector<Column>& mapped,
                           const std::vector<Column>& given) {
  const auto check_all_there = [&](const auto& some, const auto& others, const char* there,
                                   const char* not_there) {
    for (const Column& column : some) {
      const auto same = std::ranges::find(others, column.name, &Column::name);
      if (same != others.end()) continue;
      return UsageError("{} column \"{}\" is in {} and not in {}", kind, column.name, there,
                        not_there);
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(check_all_there(given, mapped, "the config", "the data"));
  RETURN_IF_ERROR(check_all_there(mapped, given, "the data", "the config"));
  for (const Column& column : given) {
    const auto same = std::ranges::find(mapped, column.name, &Column::name);
    RETURN_IF_ERROR(CheckSameKeys(column.name, ToJson(*same), ToJson(column)));
  }
  return OkStatus();
}

}  // namespace

Status CheckMappedAs(const Schema& mapped, const Schema& given) {
  if (given.dense.empty() && given.categorical.empty()) return OkStatus();
  if (!given.label.column.empty()) {
    RETURN_IF_ERROR(CheckSameKeys("label", ToJson(mapped).at("label"), ToJson(given).at("label")));
  }
  if (mapped.weight != given.weight) {
    return UsageError(
        "the column of samples' weights is \"{}\" in the data and \"{}\" in the config",
        mapped.weight, given.weight);
  }
  RETURN_IF_ERROR(CheckColumnsAreSame("categorical", mapped.categorical, given.categorical));
  RETURN_IF_ERROR(CheckColumnsAreSame("dense", mapped.dense, given.dense));
  for (size_t i = 0; i < given.dense.size(); ++i) {
    if (mapped.dense[i].name == given.dense[i].name) continue;
    return UsageError("dense column {} is \"{}\" in the data and \"{}\" in the config", i + 1,
                      mapped.dense[i].name, given.dense[i].name);
  }
  return OkStatus();
}

}  // namespace rowhouse
