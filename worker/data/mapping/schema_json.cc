#include "worker/data/mapping/schema_json.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "common/json_text.h"
#include "worker/data/mapping/multi_hot.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kGreatestMovie[] = "greatest_movie";
constexpr char kMultiHot[] = "multi_hot";
constexpr char kEdgeValues[] = "edge_values";
constexpr uint64_t kAnyNumber = std::numeric_limits<uint64_t>::max();

// Calls visit(key, field) for each field of a column or a rule, in the order of the file.
template <typename Visit>
void ForEachField(auto& column, const Visit& visit) {
  using Column = std::remove_cvref_t<decltype(column)>;
  if constexpr (std::is_same_v<Column, LabelRule>) {
    visit("column", column.column);
    visit("compare", column.compare);
    visit("value", column.value);
  } else if constexpr (std::is_same_v<Column, DenseColumn>) {
    visit("name", column.name);
    visit("transform", column.transform);
    visit("missing", column.missing);
  } else {
    visit("name", column.name);
    visit("token", column.token);
    visit("ids", column.ids);
    visit("rows", column.rows);
    visit("max_ind_range", column.max_ind_range);
    visit("min_count", column.min_count);
    visit("missing_row", column.missing_row);
    visit("rare_row", column.rare_row);
    visit("separator", column.separator);
    visit("weight_separator", column.weight_separator);
  }
}

// Of a column of buckets or a cross alone: others do without, and keep their digests.
template <typename Visit>
void ForEachDerivedField(auto& column, const Visit& visit) {
  visit("edges", column.edges);
  visit("of", column.of);
  visit(kEdgeValues, column.edge_values);
  visit("cross", column.cross);
}

template <typename Column>
ordered_json JsonOf(const Column& column) {
  ordered_json object;
  const auto add = [&](const char* key, const auto& field) { object[key] = field; };
  ForEachField(column, add);
  if constexpr (std::is_same_v<Column, CategoricalColumn>) {
    if (column.is_derived()) ForEachDerivedField(column, add);
  }
  return object;
}

ordered_json ListOf(const auto& columns) {
  ordered_json list = ordered_json::array();
  for (const auto& column : columns) list.push_back(JsonOf(column));
  return list;
}

// Reads the keys of an object one by one; the first mistake stays.
class KeyReader {
 public:
  explicit KeyReader(const json& object) : object_(object) {
    if (!object.is_object()) status_ = CorruptionError("{} is no object", ShownJson(object));
  }

  void Read(const char* key, std::string* value) { Read(key, &json::is_string, "a text", value); }
  void Read(const char* key, bool* value) { Read(key, &json::is_boolean, "true or false", value); }
  void Read(const char* key, float* value) { Read(key, &json::is_number, "a number", value); }
  void Read(const char* key, uint64_t* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    const Result<uint64_t> number = ReadJsonNumber(*found, key, kAnyNumber);
    if (number.ok()) *value = number.value();
    status_ = number.status();
  }
  void Read(const char* key, std::vector<std::string>* value) {
    ReadList(key, &json::is_string, "a list of texts", value);
  }
  void Read(const char* key, std::vector<uint64_t>* value) {
    ReadList(key, &json::is_number_unsigned, "a list of whole numbers", value);
  }
  void Read(const char* key, std::vector<float>* value) {
    ReadList(key, &json::is_number, "a list of numbers", value);
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
  template <typename Item>
  void ReadList(const char* key, bool (json::*fits)() const, const char* what,
                std::vector<Item>* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!found->is_array() || !std::ranges::all_of(*found, fits)) return Expected(key, what);
    *value = found->get<std::vector<Item>>();
  }
  template <typename Value>
  void Read(const char* key, bool (json::*fits)() const, const char* what, Value* value) {
    const json* const found = Find(key);
    if (found == nullptr) return;
    if (!(found->*fits)()) return Expected(key, what);
    *value = found->get<Value>();
  }
  void Expected(const char* key, const char* what) {
    status_ = CorruptionError("\"{}\" is {}, expected {}", key, ShownJson(object_[key]), what);
  }

  const json& object_;
  Status status_;
};

template <typename Column>
Status ReadFields(const json& object, Column* column) {
  KeyReader reader(object);
  const auto read = [&](const char* key, auto& field) { reader.Read(key, &field); };
  ForEachField(*column, read);
  if constexpr (std::is_same_v<Column, CategoricalColumn>) {
    if (object.contains("edges")) ForEachDerivedField(*column, read);
  }
  return reader.status();
}

template <typename Column>
Status ReadColumns(const json& list, const char* what, std::vector<Column>* columns) {
  RETURN_IF_ERROR(CheckJsonList(list, what));
  for (const json& one : list) RETURN_IF_ERROR(ReadFields(one, &columns->emplace_back()));
  return OkStatus();
}

Status ReadMultiHot(const json& object, MultiHot* multi_hot) {
  KeyReader reader(object);
  uint64_t seed = 0;
  reader.Read("sizes", &multi_hot->sizes);
  reader.Read("distribution", &multi_hot->distribution);
  reader.Read("seed", &seed);
  RETURN_IF_ERROR(reader.status());
  if (seed == kMultiHotSeed) return OkStatus();
  return UsageError("multi-hot bags were drawn from seed {}, and this program draws from {}", seed,
                    kMultiHotSeed);
}

// Of one column: the keys of its JSON.
Status CheckSameKeys(const std::string& column, const ordered_json& mapped,
                     const ordered_json& given) {
  for (const auto& [key, ignored] : (given.size() < mapped.size() ? mapped : given).items()) {
    const json of_data = mapped.value(key, json()), of_config = given.value(key, json());
    if (key == "rows" || key == kEdgeValues || of_data == of_config) continue;
    return UsageError("\"{}\" has {} {} in the data and {} in the config", column, key,
                      ShownJson(of_data), ShownJson(of_config));
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
    RETURN_IF_ERROR(CheckSameKeys(column.name, JsonOf(*same), JsonOf(column)));
  }
  return OkStatus();
}

}  // namespace

ordered_json ToJson(const Schema& schema) {
  ordered_json object = {{"format", schema.format},
                         {"separator", schema.separator},
                         {"has_quotes", schema.has_quotes},
                         {"has_header", schema.has_header},
                         {"columns", schema.columns},
                         {"label", JsonOf(schema.label)},
                         {"weight", schema.weight},
                         {"dense", ListOf(schema.dense)},
                         {"categorical", ListOf(schema.categorical)},
                         {"ignored", schema.ignored}};
  if (schema.greatest_movie > 0) object[kGreatestMovie] = schema.greatest_movie;
  if (schema.multi_hot.is_on()) {
    object[kMultiHot] = {{"sizes", schema.multi_hot.sizes},
                         {"distribution", schema.multi_hot.distribution},
                         {"seed", kMultiHotSeed}};
  }
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
  if (object.contains(kMultiHot)) {
    RETURN_IF_ERROR(ReadMultiHot(object[kMultiHot], &schema.multi_hot));
  }
  RETURN_IF_ERROR(ReadFields(*label, &schema.label));
  RETURN_IF_ERROR(ReadColumns(*dense, "dense", &schema.dense));
  RETURN_IF_ERROR(ReadColumns(*categorical, "categorical", &schema.categorical));
  return schema;
}

Status CheckMappedAs(const Schema& mapped, const Schema& given) {
  if (given.multi_hot.is_on() && mapped.multi_hot != given.multi_hot) {
    return UsageError("multi_hot_sizes or multi_hot_distribution_type are {} in the data",
                      mapped.multi_hot.is_on() ? "others" : "not");
  }
  if (!given.has_columns()) {
    std::vector<CategoricalColumn> derived = mapped.categorical;
    std::erase_if(derived, [](const CategoricalColumn& column) { return !column.is_derived(); });
    return given.has_derived() ? CheckColumnsAreSame("categorical", derived, given.categorical)
                               : OkStatus();
  }
  if (!given.label.column.empty()) {
    RETURN_IF_ERROR(CheckSameKeys("label", JsonOf(mapped.label), JsonOf(given.label)));
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
