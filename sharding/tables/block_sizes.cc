#include "sharding/tables/block_sizes.h"

#include <algorithm>

#include "sharding/tables/table_sizes.h"

namespace rowhouse {
namespace {

uint64_t BlockProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void Add(uint64_t* sum, uint64_t more) {
  if (__builtin_add_overflow(*sum, more, sum)) *sum = UINT64_MAX;
}

bool CanBeBlock(const FeatureTable& feature) {
  return feature.table.kind == "plain" || feature.table.kind == "block";
}

}  // namespace

std::vector<BlockSavings> BlockSavingsOf(const EmbeddingTables& tables) {
  uint32_t widest = 0;
  for (const FeatureTable& feature : tables.features) {
    if (CanBeBlock(feature)) widest = std::max(widest, feature.table.dim);
  }
  std::vector<BlockSavings> all;
  for (uint32_t divisor = 2; divisor <= widest; divisor *= 2) {
    BlockSavings one = {.divisor = divisor};
    for (const FeatureTable& feature : tables.features) {
      if (!CanBeBlock(feature)) continue;
      const uint64_t dim = feature.table.dim;
      const uint64_t block_dim = std::max<uint64_t>(1, dim / divisor);
      Add(&one.plain_bytes, BlockProduct(BlockProduct(feature.table.rows, dim), sizeof(float)));
      Add(&one.rows_bytes,
          BlockProduct(BlockProduct(feature.table.rows, block_dim), sizeof(float)));
      if (block_dim == dim) continue;
      Add(&one.projection_bytes, dim * block_dim * sizeof(float));
      Add(&one.multiply_adds, dim * block_dim);
    }
    all.push_back(one);
  }
  return all;
}

RankLimits RankLimitsOf(uint64_t floats_a_rank, uint32_t dim, uint32_t ranks) {
  RankLimits limits;
  const uint64_t rows = floats_a_rank / dim;
  limits.replicated = BlockProduct(rows, dim);
  limits.divided = BlockProduct(limits.replicated, ranks);
  const uint64_t block_dim = dim / ranks;
  const uint64_t projection = block_dim * dim;
  if (block_dim == 0 || floats_a_rank < projection) return limits;
  const uint64_t block_rows = (floats_a_rank - projection) / block_dim;
  limits.as_blocks = BlockProduct(BlockProduct(block_rows, ranks), dim);
  limits.stored_as_blocks = BlockProduct(block_rows * block_dim + projection, ranks);
  return limits;
}

}  // namespace rowhouse
