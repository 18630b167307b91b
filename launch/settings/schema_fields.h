// What section schema of the YAML file may say: lists of keys, from which the section is read and
// written and the config digest is made.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/mapping/schema.h"

namespace rowhouse {

// A key whose value is one word or number, of a Schema or of a part of it.
template <typename Part>
struct SchemaField {
  std::string name;      // key in YAML
  std::string expected;  // "true or false"
  bool is_text = true;   // is written in quotes
  // kUsage "expected ...".
  std::function<Status(const std::string& text, Part& part)> set;
  std::function<std::string(const Part& part)> get;
};

// Of the section itself; besides, it has the lists and maps label, dense, categorical, columns and
// ignored.
const std::vector<SchemaField<Schema>>& SchemaFields();
const std::vector<SchemaField<LabelRule>>& LabelFields();                // column, rule
const std::vector<SchemaField<DenseColumn>>& DenseColumnFields();        // name, ...
const std::vector<SchemaField<CategoricalColumn>>& CategoricalFields();  // name, ...

// All that is not as in a fresh Schema, a line for each column; "" for a schema without a format.
std::string DescribeSchema(const Schema& schema);

}  // namespace rowhouse
