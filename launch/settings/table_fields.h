// What the YAML file may say of one table, besides its kind's own options: one list, from which the
// file is read and written and the config digest is made.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/tables/logical_table.h"

namespace rowhouse {

struct TableField {
  std::string name;      // key in YAML
  std::string expected;  // "a whole number of 1 or more"
  // kUsage "expected ..." or what the family says of an unknown name.
  std::function<Status(const std::string& text, LogicalTable& table)> set;
  std::function<std::string(const LogicalTable& table)> get;
  bool is_part_of_digest = true;
};

// "name" is not among them.
const std::vector<TableField>& TableFields();
const TableField* FindTableField(const std::string& name);

// " pooling=mean share=x": fields that are not as in a fresh LogicalTable, without `left_out`, and
// the kind's options that decide what is trained.
std::string DescribeTableFields(const LogicalTable& table,
                                const std::vector<std::string>& left_out);

}  // namespace rowhouse
