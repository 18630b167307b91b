// LoadBalanceManager (hpcaitech's CachedEmbedding; SPEC 3): which rank owns which rows of F tables,
// one a feature, and how wide a block each rank keeps.
//
//   fair     all tables, laid end to end, are cut into ranges of equal size; a table may be cut
//   shuffle  whole tables in the order numpy's generator shuffles them, as many to each rank
//   greedy   whole tables, the largest first, each to the rank with the least load
//
// It owns nothing itself: Slices() and ToPlan() say who owns what, training routes by that Plan,
// and groups, offsets, cuts and ranges are views of the same slices. "Rank" is the number of a
// group, that is of the plan's shard.
//
// Where the originals err, this does what SPEC recommends: rows that do not divide belong to the
// last rank; a cut between two tables is none, and gives no group a table without rows; there may
// be more ranks than tables, or than rows, and what is left over is empty; foreign ids are masked
// and never clamped to a row of somebody else. Threads: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

enum class LoadBalanceMode { kFair, kShuffle, kGreedy };

// "fair", "shuffle", "greedy".
const std::vector<std::string>& LoadBalanceModeNames();
std::string_view LoadBalanceModeName(LoadBalanceMode mode);

struct LoadBalanceOptions {
  std::vector<uint64_t> embeddings_per_feat;  // rows of each table, 1 and more; together <= 2^63
  uint32_t num_groups = 4;                    // ranks, 1 and more
  uint32_t base_emb_dim = 128;                // floats of a row of full width, 1 and more
  LoadBalanceMode mode = LoadBalanceMode::kFair;
  uint32_t shuffle_seed = 111;  // shuffle: of numpy's legacy generator; 111 is the original's
  // shuffle: which one of the generator's shuffles of so many tables, from 1. The original draws
  // from one generator a process: its second manager of a notebook has number 2.
  uint32_t shuffle_call_number = 1;
  // fair, greedy: how much each rank can hold, relative to the others (MB, say), 1 and more; one a
  // rank, or none: all the same. A part that comes to no row at all leaves its rank empty.
  std::vector<uint32_t> capacities = {};
};

class LoadBalanceManager {
 public:
  // Rows [row_begin, row_end) of a feature's table, the first of which is row local_begin of its
  // rank.
  struct Segment {
    uint32_t feature = 0;
    uint64_t row_begin = 0;
    uint64_t row_end = 0;
    uint64_t local_begin = 0;

    uint64_t rows() const { return row_end - row_begin; }
    bool operator==(const Segment&) const = default;
  };

  // What one rank has to look up of a batch: one column for each of `features`, row-major.
  struct TensorShard {
    std::vector<uint32_t> features;  // fair: all of them; whole tables: the rank's group
    // id + first global row of its feature - first global row of the rank, for whole tables within
    // the rank. A foreign id comes out negative or >= NumEmbeddingsOnRank, never as a row.
    std::vector<int64_t> local_ids;
    std::vector<uint8_t> is_on_this_rank;  // 0: foreign, contributes nothing here
  };

  // kUsage, naming the option, its value and the way out, if options are not as said above.
  static Result<LoadBalanceManager> Make(LoadBalanceOptions options);

  const LoadBalanceOptions& options() const { return options_; }
  uint32_t num_groups() const { return options_.num_groups; }
  size_t num_features() const { return options_.embeddings_per_feat.size(); }

  // ---- The plan and its views -------------------------------------------------------------------

  // The segments of a rank by local row: they fill [0, NumEmbeddingsOnRank(rank)) without a gap. An
  // empty rank has none, and no features, offsets, columns of a batch or weights either.
  std::span<const Segment> segments(uint32_t rank) const;

  // Feature f as table f, whole columns of tables[f].dim, shard = rank. By rank and local row.
  // kUsage if tables are not as many and as large as embeddings_per_feat says.
  Result<std::vector<Slice>> Slices(const std::vector<TableSpec>& tables) const;
  Result<Plan> ToPlan(const std::vector<TableSpec>& tables) const;

  std::vector<uint32_t> Group(uint32_t rank) const;          // features, by local row
  std::vector<uint64_t> Offsets(uint32_t rank) const;        // first local row of each of them
  std::map<uint32_t, std::vector<uint64_t>> Cuts() const;    // positions within a feature, > 0
  std::pair<uint64_t, uint64_t> Range(uint32_t rank) const;  // fair: global rows, [begin, end)
  const std::vector<uint64_t>& all_feat_offsets() const { return all_feat_offsets_; }  // F + 1
  uint64_t total_rows() const { return all_feat_offsets_.back(); }
  uint64_t NumEmbeddingsOnRank(uint32_t rank) const;

  // ---- Sizes of what a rank keeps ---------------------------------------------------------------

  // fair: rows of a rank as its capacity says, rounded down; the last rank has remainder_rows()
  // more. Whole tables: the rows it has.
  uint64_t NominalRows(uint32_t rank) const { return nominal_rows_[rank]; }
  uint64_t remainder_rows() const;

  // Floats of a rank's block: BlockDim(all rows / its nominal rows, or num_groups where capacities
  // are equal): the larger a rank's part, the wider its rows. 0 of an empty rank.
  uint32_t EmbDim(uint32_t rank) const;
  // Rows of each of two tables that stand for a rank's: ceil(sqrt(nominal rows)), 1 and more; 0 of
  // an empty rank.
  uint64_t QrBucketSize(uint32_t rank) const;

  // max(2, base / 2^floor(log2(divisor)), rounded down). Requires base >= 1 and divisor >= 1.
  static uint32_t BlockDim(uint32_t base, double divisor);

  // ---- Parts of a batch and of the weights ------------------------------------------------------

  // ids [samples x features], row-major. kUsage, naming sample and feature, for an id beyond its
  // table or ids that are no whole number of samples.
  Result<TensorShard> ShardTensor(std::span<const uint64_t> ids, uint32_t rank) const;

  // The rank's rows by local row, of weights [total_rows() x dim], all tables end to end.
  // Requires weights.size() == total_rows() * dim.
  std::vector<float> ShardWeights(std::span<const float> weights, size_t dim, uint32_t rank) const;

 private:
  explicit LoadBalanceManager(LoadBalanceOptions options);
  void CutFairly();
  void AssignWholeTables(const std::vector<std::vector<uint32_t>>& groups);
  std::vector<std::vector<uint32_t>> ShuffledGroups() const;
  uint32_t capacity(uint32_t rank) const;

  LoadBalanceOptions options_;
  std::vector<uint64_t> all_feat_offsets_;
  uint64_t total_capacity_ = 0;
  std::vector<std::vector<Segment>> segments_;  // by rank
  std::vector<uint64_t> nominal_rows_;          // by rank
};

}  // namespace rowhouse
