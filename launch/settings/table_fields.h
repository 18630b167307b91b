// What the YAML file may say of one table, besides its kind's own options: one list, from which the
// file is read and written and the config digest is made.
#pragma once

#include <string>
#include <vector>

#include "launch/settings/key_field.h"
#include "sharding/tables/logical_table.h"

namespace rowhouse {

using TableField = KeyField<LogicalTable>;

// "name" is not among them.
const std::vector<TableField>& TableFields();
const TableField* FindTableField(const std::string& name);

// " pooling=mean share=x": fields that are not as in a fresh LogicalTable, without `left_out`, and
// the kind's options that decide what is trained.
std::string DescribeTableFields(const LogicalTable& table,
                                const std::vector<std::string>& left_out);

}  // namespace rowhouse
