// What `rowhouse plan --sizes` says of block tables (sharding/tables/block_sizes.h). Threads: pure
// functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sharding/tables/block_sizes.h"

namespace rowhouse {

inline constexpr uint32_t kRanksOfNotebook = 4;

struct BlockFigures {
  std::vector<BlockSavings> savings;  // empty: the model has no table for it
  uint32_t ranks = 1;                 // shards; of one shard as if there were kRanksOfNotebook
  bool is_example = false;            // there is one shard
  uint64_t memory_bytes = 0;          // of each rank
  uint32_t dim = 1;
  RankLimits limits;
};

BlockFigures BlockFiguresOf(const EmbeddingTables& tables, uint32_t dim, uint64_t memory_bytes,
                            uint32_t shards);

// {"savings": [{divisor, rows_bytes, projection_bytes, plain_bytes, saved_bytes, multiply_adds}],
// "limits": {ranks, memory_bytes, dim, replicated, divided, as_blocks, stored_as_blocks}}
nlohmann::ordered_json BlockFiguresToJson(const BlockFigures& figures);
std::string BlockFiguresText(const BlockFigures& figures);

}  // namespace rowhouse
