#include "sharding/tables/table_sizes.h"

#include <algorithm>
#include <set>
#include <string>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxRows = uint64_t{1} << 63;
constexpr uint64_t kMaxBuckets = uint64_t{1} << 62;

uint64_t Sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t Product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t FloatBytes(uint64_t rows, uint64_t floats) {
  return Product(Product(rows, floats), sizeof(float));
}

double Ratio(uint64_t bytes, uint64_t plain) {
  return static_cast<double>(bytes) / static_cast<double>(plain);
}

// Piece `rank` of n things in `ranks` pieces that differ by one at most.
uint64_t PieceOf(uint64_t n, uint32_t ranks, uint32_t rank) {
  CHECK_LT(rank, ranks);
  return n / ranks + (rank < n % ranks ? 1 : 0);
}

uint64_t ProjectionBytes(const FeatureTable& feature, const IdGroup& group) {
  return group.projects ? FloatBytes(feature.out_width(), group.width) : 0;
}

LogicalTableSizes SizesOfFeature(const FeatureTable& feature, const ModelSizes& model,
                                 const EmbeddingTables& tables) {
  LogicalTableSizes sizes;
  std::vector<TableId> own;  // each once, though several parts may be rows of it
  for (const TableId part : feature.parts) {
    const TableSpec& table = tables.physical[Raw(part)];
    if (std::find(own.begin(), own.end(), part) != own.end()) continue;
    own.push_back(part);
    sizes.physical_rows = Sum(sizes.physical_rows, table.rows);
  }
  for (const IdGroup& group : feature.groups) {
    uint64_t floats = 0;
    for (uint32_t p = 0; p < group.parts; ++p) {
      floats += tables.physical[Raw(feature.parts[group.first_part + p])].dim;
    }
    sizes.lookup = std::max(sizes.lookup, FloatBytes(1, floats));
    sizes.projection = Sum(sizes.projection, ProjectionBytes(feature, group));
  }
  sizes.plain_rows = FloatBytes(feature.table.rows, feature.table.dim);
  if (feature.weights) {
    own.push_back(*feature.weights);
    sizes.lookup = Sum(sizes.lookup, FloatBytes(1, 1));
    sizes.plain_rows = Sum(sizes.plain_rows, FloatBytes(feature.table.rows, 1));
  }
  for (const TableId id : own) sizes.bytes += model.physical[Raw(id)];
  return sizes;
}

struct Candidate {
  uint64_t bytes = 0;
  uint64_t physical_rows = 0;
};

Result<Candidate> Measure(const LogicalTable& table) {
  ASSIGN_OR_RETURN(const EmbeddingTables tables, EmbeddingTables::Make({table}));
  const ModelSizes sizes = SizesOf(tables);
  return Candidate{.bytes = Sum(sizes.bytes.total(), sizes.projections),
                   .physical_rows = sizes.tables[0].physical_rows};
}

}  // namespace

uint64_t TableBytes::total() const { return Sum(Sum(rows, state), trailers); }

TableBytes& TableBytes::operator+=(const TableBytes& other) {
  rows = Sum(rows, other.rows);
  state = Sum(state, other.state);
  trailers = Sum(trailers, other.trailers);
  return *this;
}

TableBytes BytesOfTable(const TableSpec& table, bool on_workers, bool is_frozen) {
  TableBytes bytes{.rows = FloatBytes(table.rows, table.dim)};
  if (is_frozen) return bytes;
  const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
  bytes.state = FloatBytes(table.rows, optimizer->state_floats(table.dim));
  if (!on_workers) bytes.trailers = Product(table.rows, sizeof(RecordTrailer));
  return bytes;
}

double LogicalTableSizes::of_plain() const {
  return Ratio(Sum(bytes.rows, projection), plain_rows);
}

uint64_t ModelSizes::rows_and_projections() const { return Sum(bytes.rows, projections); }

double ModelSizes::of_plain() const { return Ratio(rows_and_projections(), plain_rows); }

ModelSizes SizesOf(const EmbeddingTables& tables) {
  ModelSizes sizes;
  for (size_t t = 0; t < tables.physical.size(); ++t) {
    sizes.physical.push_back(
        BytesOfTable(tables.physical[t], tables.on_workers[t], tables.is_frozen[t]));
    sizes.bytes += sizes.physical.back();
  }
  std::set<std::string> projections;
  for (const FeatureTable& feature : tables.features) {
    const LogicalTableSizes table = SizesOfFeature(feature, sizes, tables);
    for (const IdGroup& group : feature.groups) {
      if (!projections.insert(group.projection).second) continue;
      sizes.projections = Sum(sizes.projections, ProjectionBytes(feature, group));
    }
    sizes.plain_rows = Sum(sizes.plain_rows, table.plain_rows);
    sizes.lookup = Sum(sizes.lookup, table.lookup);
    sizes.tables.push_back(table);
  }
  return sizes;
}

uint64_t QuantisedBytes(const EmbeddingTables& tables, uint32_t bits) {
  uint64_t bytes = 0;
  for (const TableSpec& table : tables.physical) {
    bytes = Sum(bytes, Product(table.rows, QuantisedRowBytes(bits, table.dim)));
  }
  return bytes;
}

ShardBytes FullestShard(const EmbeddingTables& tables, uint32_t shards) {
  ShardBytes bytes;
  for (size_t t = 0; t < tables.physical.size(); ++t) {
    if (tables.on_workers[t]) continue;
    const TableSpec& table = tables.physical[t];
    bytes.by_rows = Sum(bytes.by_rows, RowSplitBytes(table.rows, table.dim, shards, 0));
    bytes.by_columns = Sum(bytes.by_columns, ColumnSplitBytes(table.rows, table.dim, shards, 0));
    bytes.as_blocks = Sum(bytes.as_blocks,
                          FloatBytes(SplitIntoBlocks(table.rows, table.dim, shards).per_rank, 1));
  }
  return bytes;
}

Result<LargestTable> LargestVocabulary(LogicalTable like, uint64_t memory_bytes) {
  const std::string& rows_option = TableKinds().DeclarationOf(like.kind).rows_option;
  const bool has_buckets = !rows_option.empty();
  const auto measure = [&](uint64_t size) {
    like.rows = has_buckets ? kMaxRows : size;
    if (has_buckets) like.kind_options[rows_option] = fmt::format("{}", size);
    return Measure(like);
  };
  const auto fits = [&](uint64_t size) {
    const Result<Candidate> candidate = measure(size);
    return candidate.ok() && candidate.value().bytes <= memory_bytes;
  };
  RETURN_IF_ERROR(measure(1).status());
  if (!fits(1)) return LargestTable{.ids = 0};
  const uint64_t most = has_buckets ? kMaxBuckets : kMaxRows;
  uint64_t largest = most;
  if (!fits(most)) {
    largest = 1;
    for (uint64_t too_large = most; too_large - largest > 1;) {
      const uint64_t middle = largest + (too_large - largest) / 2;
      (fits(middle) ? largest : too_large) = middle;
    }
  }
  const Candidate found = measure(largest).value();
  LargestTable vocabulary{.physical_rows = found.physical_rows, .bytes = found.bytes};
  if (!has_buckets && largest < most) vocabulary.ids = largest;
  return vocabulary;
}

uint64_t CacheBytes(uint64_t sets, uint64_t lines, uint32_t dim, uint32_t element_bytes) {
  return Product(Product(sets, lines), uint64_t{dim} * element_bytes);
}

uint64_t CachedRows(uint64_t rows, double ratio) {
  return ratio >= 1.0 ? rows : static_cast<uint64_t>(static_cast<double>(rows) * ratio);
}

uint64_t QuantisedRowBytes(uint32_t bits, uint32_t dim) {
  CHECK(bits == 8 || bits == 4 || bits == 2) << bits;
  const uint64_t codes = (uint64_t{dim} * bits + 7) / 8;
  return codes + (bits == 8 ? 8 : 4);
}

uint64_t RowSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank) {
  return FloatBytes(PieceOf(rows, ranks, rank), dim);
}

uint64_t ColumnSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank) {
  return FloatBytes(rows, PieceOf(dim, ranks, rank));
}

BlockSplit SplitIntoBlocks(uint64_t rows, uint32_t dim, uint32_t ranks) {
  CHECK_GE(ranks, 1u);
  const uint64_t piece = rows / ranks;
  const uint64_t block = Product(piece, dim) / ranks;
  const uint64_t projection = uint64_t{dim} / ranks * dim;
  const auto saved = static_cast<__int128>(Product(piece, dim)) - block - projection;
  constexpr __int128 kMax = INT64_MAX;
  return {.per_rank = Sum(block, projection),
          .saved = static_cast<int64_t>(std::clamp(saved * ranks, -kMax, kMax))};
}

}  // namespace rowhouse
