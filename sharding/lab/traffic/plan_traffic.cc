#include "sharding/lab/traffic/plan_traffic.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sharding/plans/plan_maker.h"

namespace rowhouse {
namespace {

constexpr double kValue = sizeof(float), kPartialSize = sizeof(double);
constexpr double kIdSize = sizeof(uint64_t), kCountSize = sizeof(uint32_t),
                 kLengthSize = sizeof(uint32_t);

// Rows touched of `rows` that have `share` of all lookups, each as much of it: each is missed by
// every lookup with (1 - share / rows)^lookups, here without the cancellation of large tables.
double TouchedRows(double rows, double share, double lookups) {
  if (rows <= 0.0 || share <= 0.0 || lookups <= 0.0) return 0.0;
  if (share >= rows) return rows;
  return -rows * std::expm1(lookups * std::log1p(-share / rows));
}

// Pieces that a row of the table is cut into, over its rows.
double MeanCuts(const Plan& plan, const TableSpec& table) {
  double cuts = 0;
  for (const Slice& slice : plan.slices(table.id)) cuts += static_cast<double>(slice.rows());
  return cuts / static_cast<double>(table.rows);
}

// The share of a feature's ids that are rows of each of its parts, from ids all over its table: a
// part is one group's.
std::vector<double> SharesOfParts(const FeatureTable& feature) {
  std::vector<double> shares(feature.parts.size(), 1.0);
  if (feature.groups.size() < 2) return shares;
  constexpr uint64_t kSampled = 4096;
  std::vector<uint64_t> ids(std::min(feature.table.rows, kSampled));
  const double apart = static_cast<double>(feature.table.rows) / static_cast<double>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<uint64_t>(static_cast<double>(i) * apart);
  }
  std::vector<uint32_t> groups(ids.size());
  feature.kind->Assign(ids, groups);
  for (size_t g = 0; g < feature.groups.size(); ++g) {
    const double share =
        static_cast<double>(std::ranges::count(groups, g)) / static_cast<double>(ids.size());
    const IdGroup& group = feature.groups[g];
    std::fill_n(shares.begin() + group.first_part, group.parts, share);
  }
  return shares;
}

// Columns of all answers about one bag, and how many answers there are.
struct Answers {
  double count = 0, columns = 0;
};

Answers AnswersAboutBag(const Plan& plan, TableId table) {
  std::set<std::pair<ShardId, uint32_t>> groups;
  Answers answers;
  for (const Slice& slice : plan.slices(table)) {
    if (!groups.emplace(slice.shard, slice.column_begin).second) continue;
    ++answers.count;
    answers.columns += slice.columns();
  }
  return answers;
}

class Estimate {
 public:
  Estimate(const EmbeddingTables& tables, const Plan& plan, const StepShape& step,
           const AccessCounts* accesses)
      : tables_(tables), plan_(plan), step_(step), accesses_(accesses) {
    for (const FeatureTable& feature : tables.features) shares_.push_back(SharesOfParts(feature));
    features_of_.resize(tables.physical.size());
    for (size_t f = 0; f < tables.features.size(); ++f) {
      std::vector<TableId> touched = tables.features[f].parts;
      if (tables.features[f].weights) touched.push_back(*tables.features[f].weights);
      for (const TableId table : touched) {
        std::vector<size_t>& features = features_of_[Raw(table)];
        if (features.empty() || features.back() != f) features.push_back(f);
      }
    }
  }

  TableTraffic Of(const TableSpec& table) const {
    TableTraffic traffic{.table = table.id, .refusal = {}};
    traffic.pools_on_shards = plan_.pools_on_shards(table.id);
    for (const size_t f : features_of_[Raw(table.id)]) {
      const FeatureTable& feature = tables_.features[f];
      const double lookups = static_cast<double>(step_.samples) * step_.bag_lengths[f];
      if (feature.weights == table.id) {
        traffic.lookups += lookups;
        traffic.refusal = "they are the weights of ids";
      }
      for (size_t p = 0; p < feature.parts.size(); ++p) {
        if (feature.parts[p] != table.id) continue;
        traffic.lookups += lookups * shares_[f][p];
        traffic.by_bags += BytesByBags(feature, table, lookups * shares_[f][p]);
        if (traffic.refusal.empty()) {
          traffic.refusal = WhyNotPooledOnShards(tables_, feature, table.id, plan_);
        }
      }
    }
    if (!traffic.refusal.empty()) traffic.by_bags = 0;
    CountRows(table, &traffic);
    return traffic;
  }

 private:
  bool IsPushed(const TableSpec& table) const { return !tables_.is_frozen[Raw(table.id)]; }

  void CountRows(const TableSpec& table, TableTraffic* traffic) const {
    const TableAccesses* counted = accesses_ == nullptr ? nullptr : accesses_->Find(table.name);
    const bool is_counted = counted != nullptr && counted->total() > 0;
    const double of_worker = traffic->lookups / step_.workers;
    traffic->distinct_rows =
        step_.workers *
        (is_counted || step_.zipf_exponent == 0
             ? ExpectedDistinctRows(table.rows, of_worker, counted, plan_.worker_rows(table.id))
             : DistinctZipfRows(table));
    const double cuts = MeanCuts(plan_, table);
    const double values = table.dim * kValue;
    double bytes = cuts * (kIdSize + kCountSize) + values;
    if (IsPushed(table)) {
      const double counts = DividesByLookups(tables_.physical) ? kCountSize : 0;
      bytes += cuts * (kIdSize + counts) + values;
    }
    traffic->by_rows = traffic->distinct_rows * bytes;
  }

  // Of the lookups of the feature, by the first of its parts that is the table.
  double ShareOf(size_t feature, TableId table) const {
    const std::vector<TableId>& parts = tables_.features[feature].parts;
    const auto part = std::ranges::find(parts, table);
    return part == parts.end() ? 1 : shares_[feature][static_cast<size_t>(part - parts.begin())];
  }

  // Of a worker. Features that share a table have their frequent ids in different places.
  double DistinctZipfRows(const TableSpec& table) const {
    const auto rows = static_cast<double>(table.rows);
    const size_t on_workers = plan_.worker_rows(table.id).size();  // the most frequent, if any
    double missed = 1.0;                                           // the chance of a row
    for (const size_t f : features_of_[Raw(table.id)]) {
      const FeatureTable& feature = tables_.features[f];
      const double share = ShareOf(f, table.id);
      const auto times = static_cast<size_t>(feature.weights == table.id) +
                         static_cast<size_t>(std::ranges::count(feature.parts, table.id));
      const auto ids = std::max<uint64_t>(
          1, static_cast<uint64_t>(std::llround(share * static_cast<double>(feature.table.rows))));
      const double lookups =
          share * static_cast<double>(step_.samples) * step_.bag_lengths[f] / step_.workers;
      const bool is_row_an_id = table.rows >= ids;
      const double distinct =
          ExpectedDistinctIds(ids, step_.zipf_exponent, lookups,
                              is_row_an_id ? std::min<uint64_t>(on_workers, ids) : 0);
      const double touched = is_row_an_id ? distinct
                                          : TouchedRows(rows, 1.0, distinct) *
                                                (1.0 - static_cast<double>(on_workers) / rows);
      missed *= std::pow(1.0 - std::min(1.0, touched / rows), static_cast<double>(times));
    }
    return rows * (1.0 - missed);
  }

  double BytesByBags(const FeatureTable& feature, const TableSpec& table, double lookups) const {
    const auto bags = static_cast<double>(step_.samples);
    const double id = table.rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
    const bool is_max = feature.table.pooling == "max";
    const double answer = !is_max && plan_.splits_bags(table.id) ? kPartialSize : kValue;
    const double winner = is_max ? sizeof(uint32_t) : 0;
    const Answers answers = AnswersAboutBag(plan_, table.id);
    double bytes = lookups * MeanCuts(plan_, table) * id + bags * answers.count * kLengthSize +
                   bags * answers.columns * (answer + winner);
    if (IsPushed(table)) bytes += bags * answers.columns * (kValue + winner);
    return bytes;
  }

  const EmbeddingTables& tables_;
  const Plan& plan_;
  const StepShape& step_;
  const AccessCounts* accesses_;
  std::vector<std::vector<double>> shares_;       // of each feature and part
  std::vector<std::vector<size_t>> features_of_;  // of each table: those with lookups in it
};

}  // namespace

double ExpectedDistinctRows(uint64_t rows, double lookups, const TableAccesses* accesses,
                            std::span<const RowId> but_for) {
  const auto all = static_cast<double>(rows);
  if (accesses == nullptr || accesses->total() == 0) {
    return TouchedRows(all, 1.0, lookups) * (1.0 - static_cast<double>(but_for.size()) / all);
  }
  const auto total = static_cast<double>(accesses->total());
  std::vector<double> left(accesses->ranges.begin(), accesses->ranges.end());
  std::vector<double> rows_left(left.size());
  for (size_t r = 0; r < left.size(); ++r) {
    rows_left[r] = static_cast<double>(
        std::min(accesses->range_rows, accesses->rows - r * accesses->range_rows));
  }
  double distinct = 0;
  for (const TableAccesses::Row& hot : accesses->hottest) {
    const auto count = static_cast<double>(hot.count);
    if (!std::ranges::binary_search(but_for, RowId{hot.row})) {
      distinct += TouchedRows(1.0, count / total, lookups);
    }
    const size_t range = hot.row / accesses->range_rows;
    left[range] = std::max(0.0, left[range] - count);
    --rows_left[range];
  }
  for (size_t r = 0; r < left.size(); ++r) {
    distinct += TouchedRows(rows_left[r], left[r] / total, lookups);
  }
  return distinct;
}

double ExpectedDistinctIds(uint64_t ids, double zipf_exponent, double lookups, uint64_t without) {
  CHECK_LE(without, ids);
  constexpr double kOneByOne = 4096;  // ranks; from there on in blocks of 0.5 %
  constexpr double kGrowth = 1.005;
  const auto end = static_cast<double>(ids);
  // Of ranks (from, to], each standing for the density around it.
  const auto mass = [zipf_exponent](double from, double to) {
    const double a = from + 0.5, b = to + 0.5, power = 1.0 - zipf_exponent;
    return std::abs(power) < 1e-9 ? std::log(b / a)
                                  : (std::pow(b, power) - std::pow(a, power)) / power;
  };
  struct Block {
    double ranks, mass, last;
  };
  std::vector<Block> blocks;
  double all = 0;
  for (double rank = 0; rank < end;) {
    const double next =
        std::min(end, rank < kOneByOne ? rank + 1 : std::max(rank + 1, std::floor(rank * kGrowth)));
    const double of_block = next == rank + 1 ? std::pow(next, -zipf_exponent) : mass(rank, next);
    blocks.push_back({next - rank, of_block, next});
    all += of_block;
    rank = next;
  }
  double distinct = 0;
  for (const Block& block : blocks) {
    const double counted =
        std::clamp(block.last - static_cast<double>(without), 0.0, block.ranks) / block.ranks;
    distinct += counted * TouchedRows(block.ranks, block.mass / all, lookups);
  }
  return distinct;
}

std::vector<TableTraffic> TrafficOf(const EmbeddingTables& tables, const Plan& plan,
                                    const StepShape& step, const AccessCounts* accesses) {
  CHECK_EQ(step.bag_lengths.size(), tables.features.size());
  CHECK_GT(step.workers, 0u);
  const Estimate estimate(tables, plan, step, accesses);
  std::vector<TableTraffic> all;
  for (const TableSpec& table : tables.physical) {
    if (!plan.is_on_workers(table.id)) all.push_back(estimate.Of(table));
  }
  return all;
}

}  // namespace rowhouse
