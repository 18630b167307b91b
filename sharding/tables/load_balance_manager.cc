#include "sharding/tables/load_balance_manager.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/counted.h"
#include "common/numpy_random.h"
#include "common/rounding.h"
#include "sharding/tables/longest_processing_time.h"

namespace rowhouse {
namespace {

using Wide = unsigned __int128;

constexpr uint64_t kMaxRowsOfFeatures = uint64_t{1} << 63;  // so that local ids fit int64_t

Status CheckTables(const LoadBalanceOptions& options) {
  const std::vector<uint64_t>& rows = options.embeddings_per_feat;
  if (rows.empty()) {
    return UsageError("embeddings_per_feat is empty; give the rows of each table");
  }
  uint64_t total = 0;
  for (size_t feature = 0; feature < rows.size(); ++feature) {
    if (rows[feature] == 0) {
      return UsageError(
          "embeddings_per_feat: table {} of {} has 0 rows; give it 1 or more, or leave it out",
          feature, rows.size());
    }
    if (rows[feature] > kMaxRowsOfFeatures - total) {
      return UsageError("embeddings_per_feat: tables 0 to {} have more than 2^63 rows together",
                        feature);
    }
    total += rows[feature];
  }
  return OkStatus();
}

Status CheckGroups(const LoadBalanceOptions& options) {
  if (options.num_groups == 0) {
    return UsageError("num_groups=0: rows need a rank to lie on; give 1 or more");
  }
  if (options.base_emb_dim == 0) {
    return UsageError("base_emb_dim=0: rows need a float; give 1 or more");
  }
  return OkStatus();
}

Status CheckCapacities(const LoadBalanceOptions& options) {
  const std::vector<uint32_t>& capacities = options.capacities;
  if (capacities.empty()) return OkStatus();
  if (options.mode == LoadBalanceMode::kShuffle) {
    return UsageError(
        "capacities are given, but shuffle assigns equally many tables to each rank; use fair or "
        "greedy");
  }
  if (capacities.size() != options.num_groups) {
    return UsageError("{} for num_groups={}; give one a rank",
                      Counted(capacities.size(), "capacity", "capacities"), options.num_groups);
  }
  for (size_t rank = 0; rank < capacities.size(); ++rank) {
    if (capacities[rank] == 0) {
      return UsageError("the capacity of rank {} is 0; give 1 or more, or fewer ranks", rank);
    }
  }
  return OkStatus();
}

}  // namespace

const std::vector<std::string>& LoadBalanceModeNames() {
  static const std::vector<std::string> names = {"fair", "shuffle", "greedy"};
  return names;
}

std::string_view LoadBalanceModeName(LoadBalanceMode mode) {
  return LoadBalanceModeNames()[static_cast<size_t>(mode)];
}

// ---- Making -------------------------------------------------------------------------------------

LoadBalanceManager::LoadBalanceManager(LoadBalanceOptions options) : options_(std::move(options)) {
  const std::vector<uint64_t>& rows = options_.embeddings_per_feat;
  all_feat_offsets_.assign(rows.size() + 1, 0);
  std::partial_sum(rows.begin(), rows.end(), all_feat_offsets_.begin() + 1);
  for (uint32_t rank = 0; rank < num_groups(); ++rank) total_capacity_ += options_.capacity(rank);
  segments_.resize(num_groups());
  nominal_rows_.resize(num_groups());
}

Result<LoadBalanceManager> LoadBalanceManager::Make(LoadBalanceOptions options) {
  RETURN_IF_ERROR(CheckTables(options));
  RETURN_IF_ERROR(CheckGroups(options));
  RETURN_IF_ERROR(CheckCapacities(options));
  if (options.mode == LoadBalanceMode::kShuffle && options.shuffle_call_number == 0) {
    return UsageError("shuffle_call_number=0: shuffles are counted from 1");
  }
  LoadBalanceManager manager(std::move(options));
  switch (manager.options_.mode) {
    case LoadBalanceMode::kFair:
      manager.CutFairly();
      break;
    case LoadBalanceMode::kShuffle:
      manager.AssignWholeTables(manager.ShuffledGroups());
      break;
    case LoadBalanceMode::kGreedy: {
      std::vector<uint32_t> capacities;
      for (uint32_t rank = 0; rank < manager.num_groups(); ++rank) {
        capacities.push_back(manager.options().capacity(rank));
      }
      manager.AssignWholeTables(
          LongestProcessingTime(manager.options_.embeddings_per_feat, capacities));
      break;
    }
  }
  return manager;
}

void LoadBalanceManager::CutFairly() {
  const std::vector<uint64_t>& rows = options_.embeddings_per_feat;
  uint32_t feature = 0;
  uint64_t row = 0;  // of the feature
  uint64_t global = 0;
  for (uint32_t rank = 0; rank < num_groups(); ++rank) {
    nominal_rows_[rank] =
        static_cast<uint64_t>(Wide{total_rows()} * options_.capacity(rank) / total_capacity_);
    const bool is_last = rank + 1 == num_groups();
    const uint64_t end = is_last ? total_rows() : global + nominal_rows_[rank];
    for (uint64_t local = 0; global < end;) {
      const uint64_t taken = std::min(rows[feature] - row, end - global);
      segments_[rank].push_back({feature, row, row + taken, local});
      global += taken;
      local += taken;
      row += taken;
      if (row == rows[feature]) {
        ++feature;
        row = 0;
      }
    }
  }
}

std::vector<std::vector<uint32_t>> LoadBalanceManager::ShuffledGroups() const {
  std::vector<uint32_t> features(num_features());
  NumpyRandom random(options_.shuffle_seed);
  for (uint32_t call = 0; call < options_.shuffle_call_number; ++call) {
    std::iota(features.begin(), features.end(), 0u);
    random.Shuffle(std::span<uint32_t>(features));
  }
  // Where there are more ranks than tables, the first have one each.
  const size_t each = std::max<size_t>(features.size() / num_groups(), 1);
  std::vector<std::vector<uint32_t>> groups(num_groups());
  for (size_t i = 0; i < features.size(); ++i) {
    groups[std::min<size_t>(i / each, num_groups() - 1)].push_back(features[i]);
  }
  return groups;
}

void LoadBalanceManager::AssignWholeTables(const std::vector<std::vector<uint32_t>>& groups) {
  for (uint32_t rank = 0; rank < num_groups(); ++rank) {
    uint64_t local = 0;
    for (const uint32_t feature : groups[rank]) {
      const uint64_t rows = options_.embeddings_per_feat[feature];
      segments_[rank].push_back({feature, 0, rows, local});
      local += rows;
    }
    nominal_rows_[rank] = local;
  }
}

// ---- Views --------------------------------------------------------------------------------------

std::span<const LoadBalanceManager::Segment> LoadBalanceManager::segments(uint32_t rank) const {
  CHECK_LT(rank, num_groups());
  return segments_[rank];
}

std::vector<uint32_t> LoadBalanceManager::Group(uint32_t rank) const {
  std::vector<uint32_t> features;
  for (const Segment& segment : segments(rank)) features.push_back(segment.feature);
  return features;
}

std::vector<uint64_t> LoadBalanceManager::Offsets(uint32_t rank) const {
  std::vector<uint64_t> offsets;
  for (const Segment& segment : segments(rank)) offsets.push_back(segment.local_begin);
  return offsets;
}

std::map<uint32_t, std::vector<uint64_t>> LoadBalanceManager::Cuts() const {
  std::map<uint32_t, std::vector<uint64_t>> cuts;
  for (const std::vector<Segment>& of_rank : segments_) {
    for (const Segment& segment : of_rank) {
      if (segment.row_begin > 0) cuts[segment.feature].push_back(segment.row_begin);
    }
  }
  return cuts;
}

std::pair<uint64_t, uint64_t> LoadBalanceManager::Range(uint32_t rank) const {
  CHECK(options_.mode == LoadBalanceMode::kFair) << "whole tables are no range of global rows";
  CHECK_LT(rank, num_groups());
  const uint64_t begin =
      std::accumulate(nominal_rows_.begin(), nominal_rows_.begin() + rank, uint64_t{0});
  return {begin, begin + NumEmbeddingsOnRank(rank)};
}

uint64_t LoadBalanceManager::NumEmbeddingsOnRank(uint32_t rank) const {
  if (segments(rank).empty()) return 0;
  const Segment& last = segments(rank).back();
  return last.local_begin + last.rows();
}

// ---- Sizes --------------------------------------------------------------------------------------

uint64_t LoadBalanceManager::remainder_rows() const {
  return total_rows() - std::accumulate(nominal_rows_.begin(), nominal_rows_.end(), uint64_t{0});
}

uint32_t LoadBalanceManager::EmbDim(uint32_t rank) const {
  if (segments(rank).empty()) return 0;
  // By capacity and not by rows, so that ranks of equal capacity have equal widths.
  const bool is_fair = options_.mode == LoadBalanceMode::kFair;
  const auto all = static_cast<double>(is_fair ? total_capacity_ : total_rows());
  const auto part = static_cast<double>(is_fair ? options_.capacity(rank) : nominal_rows_[rank]);
  return BlockDim(options_.base_emb_dim, all / part);
}

uint64_t LoadBalanceManager::QrBucketSize(uint32_t rank) const {
  if (segments(rank).empty()) return 0;
  // The last rank may have only the remainder.
  return std::max<uint64_t>(CeilSqrt(nominal_rows_[rank]), 1);
}

uint32_t LoadBalanceManager::BlockDim(uint32_t base, double divisor) {
  CHECK_GE(base, 1u);
  CHECK_GE(divisor, 1.0);
  // The binary exponent is floor(log2) without the rounding of a logarithm.
  const int halvings = std::ilogb(divisor);
  return std::max(2u, halvings < 32 ? base >> halvings : 0u);
}

}  // namespace rowhouse
