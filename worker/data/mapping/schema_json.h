// A schema as JSON, as preprocessing.json has it: {"format": "delimited", "separator": ",", ...,
// "dense": [{"name": "age", ...}], "categorical": [...]}, all fields always.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include "common/status.h"
#include "worker/data/schema.h"

namespace rowhouse {

nlohmann::ordered_json ToJson(const Schema& schema);

// kCorruption, naming the key, if one is missing or of another type. Other keys are left alone.
Result<Schema> SchemaFromJson(const nlohmann::json& json);

// kUsage, naming the first thing that differs, if samples that were mapped by `mapped` are not what
// `given` says: another column, label rule, transform, kind of ids and so on. It does not compare
// how text is written, which other columns it has, the rows of tables, the order of categorical
// columns, or the edges that quantiles have become. OK if `given` has no columns; if it has buckets
// and crosses alone, these are compared.
Status CheckMappedAs(const Schema& mapped, const Schema& given);

}  // namespace rowhouse
