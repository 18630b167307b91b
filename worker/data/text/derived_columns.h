// Buckets and crosses of a format (worker/data/schema.h): the format reads the columns that the
// text has, and what it gives is completed here, so that no format knows of them.
//
// In raw samples a bucket column has the key of its number (worker/data/buckets.h), or an empty bag
// where that is missing. A cross has empty bags: Preprocessing::Map makes its pairs, as edges may
// be of the data. Threads: as TextFormat.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// The columns of the text that the schema needs: without buckets and crosses, and with the numbers
// that buckets are made of as dense columns behind the others. If a format has columns of its own
// and the schema names none of them, the format gives the numbers already.
Schema WithoutDerived(const Schema& schema);

// The format `name` with the buckets and crosses of options.schema. Where the schema names columns,
// these are in its order; else those of the format come first, unless the names of the tables say
// another order. kUsage as the format, for buckets of a column that is no number of it, and as
// CheckCrosses.
Result<std::unique_ptr<TextFormat>> MakeWithDerived(const std::string& name,
                                                    TextFormatOptions options);

}  // namespace rowhouse
