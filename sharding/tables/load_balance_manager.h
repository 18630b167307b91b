// LoadBalanceManager (hpcaitech's CachedEmbedding): which rank owns which rows of F tables, one a
// feature, and how wide the rows of each rank's block are.
//
//   fair     all tables, laid end to end, are cut into ranges of equal size; a table may be cut
//   shuffle  whole tables in the order of numpy's shuffle, equally many for each rank
//   greedy   whole tables, the largest first, each to the rank with the least load
//
// segments() say who owns what, and training routes by that plan. Groups, offsets, cuts
// and ranges are views of the same slices. A rank is the number of a group, and of the plan's
// shard.
//
// It differs from the original where that errs. The rows left over by the division belong to the
// last rank. A cut between two tables is not listed, and no group lists a table of which it has no
// rows. There may be more ranks than tables or rows; the ranks left over are empty. Ids of other
// ranks are never clamped to one of this rank's rows. Threads: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace rowhouse {

enum class LoadBalanceMode { kFair, kShuffle, kGreedy };

// "fair", "shuffle", "greedy".
const std::vector<std::string>& LoadBalanceModeNames();
std::string_view LoadBalanceModeName(LoadBalanceMode mode);

struct LoadBalanceOptions {
  std::vector<uint64_t> embeddings_per_feat;  // rows of each table, >= 1; together <= 2^63
  uint32_t num_groups = 4;                    // ranks, >= 1
  uint32_t base_emb_dim = 128;                // floats of a row of full width, >= 1
  LoadBalanceMode mode = LoadBalanceMode::kFair;
  uint32_t shuffle_seed = 111;  // shuffle: of numpy's legacy generator; 111 is the original's
  // shuffle: n takes the n-th shuffle that the generator makes, n >= 1. The original has one
  // generator a process, so that the second manager of a notebook has the second shuffle.
  uint32_t shuffle_call_number = 1;
  // fair, greedy: how much each rank can hold, relative to the others, each >= 1; empty: all the
  // same. A rank whose share is less than a row is empty.
  std::vector<uint32_t> capacities = {};

  uint32_t capacity(uint32_t rank) const { return capacities.empty() ? 1 : capacities[rank]; }
};

class LoadBalanceManager {
 public:
  // Rows [row_begin, row_end) of a feature's table. They are the rank's rows from local_begin on.
  struct Segment {
    uint32_t feature = 0;
    uint64_t row_begin = 0;
    uint64_t row_end = 0;
    uint64_t local_begin = 0;

    uint64_t rows() const { return row_end - row_begin; }
    bool operator==(const Segment&) const = default;
  };

  // kUsage, naming option, value and remedy, if an option is out of the range given above.
  static Result<LoadBalanceManager> Make(LoadBalanceOptions options);

  const LoadBalanceOptions& options() const { return options_; }
  uint32_t num_groups() const { return options_.num_groups; }
  size_t num_features() const { return options_.embeddings_per_feat.size(); }

  // ---- The plan and its views -------------------------------------------------------------------

  // The segments of a rank by local row: they fill [0, NumEmbeddingsOnRank(rank)) without a gap. An
  // empty rank has no segments, features, offsets, columns of a batch or weights.
  std::span<const Segment> segments(uint32_t rank) const;

  std::vector<uint32_t> Group(uint32_t rank) const;          // features, by local row
  std::vector<uint64_t> Offsets(uint32_t rank) const;        // first local row of each of them
  std::map<uint32_t, std::vector<uint64_t>> Cuts() const;    // positions within a feature, > 0
  std::pair<uint64_t, uint64_t> Range(uint32_t rank) const;  // fair: global rows, [begin, end)
  const std::vector<uint64_t>& all_feat_offsets() const { return all_feat_offsets_; }  // F + 1
  uint64_t total_rows() const { return all_feat_offsets_.back(); }
  uint64_t NumEmbeddingsOnRank(uint32_t rank) const;

  // ---- Sizes of a rank's tables -----------------------------------------------------------------

  // fair: the rank's share by capacity, rounded down; the last rank has remainder_rows() more.
  // shuffle, greedy: the rows it has.
  uint64_t NominalRows(uint32_t rank) const { return nominal_rows_[rank]; }
  uint64_t remainder_rows() const;

  // Floats of a row of the rank's block: BlockDim(base_emb_dim, d). fair: d is the sum of all
  // capacities, divided by the rank's own; it is num_groups if all are equal. shuffle, greedy: d is
  // the number of all rows, divided by the rank's. So the larger a rank's share, the wider its
  // rows. 0 for an empty rank.
  uint32_t EmbDim(uint32_t rank) const;
  // Rows of each of the two tables of a quotient-remainder embedding of the rank's rows:
  // ceil(sqrt(nominal rows)), >= 1; 0 for an empty rank.
  uint64_t QrBucketSize(uint32_t rank) const;

  // max(2, base / 2^floor(log2(divisor)), rounded down). Requires base >= 1 and divisor >= 1.
  static uint32_t BlockDim(uint32_t base, double divisor);

 private:
  explicit LoadBalanceManager(LoadBalanceOptions options);
  void CutFairly();
  void AssignWholeTables(const std::vector<std::vector<uint32_t>>& groups);
  std::vector<std::vector<uint32_t>> ShuffledGroups() const;

  LoadBalanceOptions options_;
  std::vector<uint64_t> all_feat_offsets_;
  uint64_t total_capacity_ = 0;
  std::vector<std::vector<Segment>> segments_;  // by rank
  std::vector<uint64_t> nominal_rows_;          // by rank
};

}  // namespace rowhouse
