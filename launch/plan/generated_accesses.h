// Access counts of data that are generated, without counting: the source knows which ids are the
// hottest, and by what law the others follow.
//
// Threads: pure.
#pragma once

#include <optional>

#include "launch/settings/settings.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

// Expected lookups of every physical table, on a scale that has no meaning: the rows of each
// feature's 1,024 hottest ids one by one, the others evenly spread over the table. None if the
// source does not know its hottest ids, or looks all ids up equally often.
std::optional<AccessCounts> GeneratedAccesses(const Settings& settings);

}  // namespace rowhouse
