// ckpt inspect TABLE TOKEN: the rows that a token of the data reads, by the model's preprocessing
// and the table's kind. Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/model/ckpt_figures.h"
#include "launch/model/saved_rows.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {

// The number of the categorical column of this name; the number of columns if there is none.
size_t ColumnOf(const Preprocessing& preprocessing, const std::string& table);

// `table`: a logical table that is a column of the preprocessing; `token`: as it stands in the
// data. Says which id it is, and prints the row of each part. kUsage for a token that is none of
// the column's type, or that the dictionary lacks; otherwise as InspectRow.
Status InspectToken(const SavedRows& model, const EmbeddingTables& tables,
                    const Preprocessing& preprocessing, const std::string& table,
                    const std::string& token, CkptFigures* out);

}  // namespace rowhouse
