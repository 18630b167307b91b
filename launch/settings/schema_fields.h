// What section schema of the YAML file may say: lists of keys, from which the section is read and
// written and the config digest is made.
#pragma once

#include <string>
#include <vector>

#include "launch/settings/key_field.h"
#include "worker/data/schema.h"

namespace rowhouse {

template <typename Part>
using SchemaField = KeyField<Part>;

// Of the section itself; besides, it has the lists and maps label, dense, categorical, columns and
// ignored.
const std::vector<SchemaField<Schema>>& SchemaFields();
const std::vector<SchemaField<LabelRule>>& LabelFields();                // column, rule
const std::vector<SchemaField<DenseColumn>>& DenseColumnFields();        // name, ...
const std::vector<SchemaField<CategoricalColumn>>& CategoricalFields();  // name, ...

// All that is not as in a fresh Schema, a line for each column; "" for a schema without a format.
std::string DescribeSchema(const Schema& schema);

}  // namespace rowhouse
