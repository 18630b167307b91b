// What tests of kinds ask of tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/tables/embedding_tables.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {

inline EmbeddingTables Resolved(const std::string& kind, const KindOptions& options, uint64_t rows,
                                uint32_t dim) {
  return EmbeddingTables::Make({TableOfKind(kind, options, rows, dim)}).value();
}

inline std::string Refusal(const std::vector<LogicalTable>& tables) {
  const Status status = EmbeddingTables::Make(tables).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  return status.message();
}

inline std::string Refusal(const std::string& kind, const KindOptions& options) {
  return Refusal({TableOfKind(kind, options, 100, 8)});
}

inline std::vector<uint64_t> RowsOfPart(const FeatureTable& feature, size_t part,
                                        const std::vector<uint64_t>& ids) {
  std::vector<uint64_t> rows(ids.size());
  feature.kind->Resolve(part, ids, rows);
  return rows;
}

// Bytes of all weights: rows on shards or workers, and projections.
inline uint64_t Bytes(const EmbeddingTables& tables) {
  uint64_t floats = 0;
  for (const TableSpec& table : tables.physical) floats += table.rows * table.dim;
  for (const FeatureTable& feature : tables.features) {
    const KindLayout& layout = feature.kind->layout();
    if (layout.projects) floats += uint64_t{layout.out_width} * layout.width;
  }
  return floats * sizeof(float);
}

}  // namespace rowhouse
