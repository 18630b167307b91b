// Which table a limit of memory asks about. Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sharding/plans/plan.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// The name of the table with most floats on a PS node.
std::string LargestTableOn(std::span<const TableSpec> tables, const Plan& plan,
                           uint32_t shards_per_ps, uint32_t node);

// The name of the table with most floats on each worker; "": none has any there.
std::string LargestTableOnWorkers(std::span<const TableSpec> tables, const Plan& plan);

}  // namespace rowhouse
