// RowsInArrays: whole physical tables in plain arrays as a RowSource.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/embedding/row_batch.h"

namespace rowhouse {

class RowsInArrays final : public RowSource {
 public:
  // tables[t]: rows x dim of physical table t.
  explicit RowsInArrays(std::vector<std::vector<float>> tables) : tables_(std::move(tables)) {}

  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override {
    if (!bags->empty()) return UsageError("arrays do not pool bags");
    for (RowBatch& batch : *rows) {
      const std::vector<float>& table = tables_.at(Raw(batch.table));
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        std::copy_n(&table.at(Raw(batch.rows[r]) * batch.dim), batch.dim,
                    &batch.values[r * batch.dim]);
      }
    }
    return OkStatus();
  }

 private:
  std::vector<std::vector<float>> tables_;
};

}  // namespace rowhouse
