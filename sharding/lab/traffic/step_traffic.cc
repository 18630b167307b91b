#include "sharding/lab/traffic/step_traffic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "sharding/plans/plan_maker.h"

namespace rowhouse {
namespace {

// As in common/wire: a test compares them with encoded messages.
constexpr double kHeader = 64;
constexpr double kPullBody = 1 + 8 + 8, kPullReplyBody = 1 + 8 + 1;
constexpr double kPushBody = 4 + 8 + 8 + 8, kPushReplyBody = 1 + 8;
constexpr double kPrefetchBody = 8;
constexpr double kTableRows = 12, kTableBags = 28;
constexpr double kRowId = 8, kCount = 4, kLength = 4, kWinner = 4, kFloat = 4, kPartial = 8;
constexpr double kMaxPartRows = 20000, kMaxPartBytes = 4 << 20;

double BytesOfId(const TableSpec& table) {
  return table.rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : kRowId;
}

double SamplesOfWorker(const StepShape& step) {
  return static_cast<double>(step.samples) / step.workers;
}

// Of a number of a row.
double PulledBytes(const StepShape& step) {
  return static_cast<double>(BytesOfWeight(step.row_precision.pull));
}
double PushedBytes(const StepShape& step) {
  return static_cast<double>(BytesOfWeight(step.row_precision.push));
}

// Ids, counts and values of a row in both directions. `cuts`: slices that it lies in.
double BytesByRows(const StepShape& step, const TableSpec& table, double cuts, bool is_trained,
                   bool sends_counts) {
  const double pulled = cuts * (kRowId + kCount) + table.dim * PulledBytes(step);
  const double pushed =
      cuts * (kRowId + (sends_counts ? kCount : 0)) + table.dim * PushedBytes(step);
  return pulled + (is_trained ? pushed : 0);
}

class Counting {
 public:
  Counting(const Workload& workload, const Plan& plan)
      : workload_(workload),
        plan_(plan),
        sends_counts_(DividesByLookups(workload.tables.physical)),
        bags_pushed_(plan.shards()) {
    traffic_.shards.resize(plan.shards());
    traffic_.tables.resize(workload.tables.physical.size());
  }

  StepTraffic Count() && {
    for (const TableSpec& table : workload_.tables.physical) {
      CountTable(table);
      if (plan_.pools_on_shards(table.id)) CountBags(table);
    }
    for (size_t s = 0; s < traffic_.shards.size(); ++s) AddFrames(bags_pushed_[s], s);
    return std::move(traffic_);
  }

 private:
  double samples() const { return SamplesOfWorker(workload_.step); }

  // What a slice has of the table's lookups and distinct rows on shards, [0, 1].
  struct Part {
    const Slice* slice = nullptr;
    double lookups = 0, distinct_rows = 0;
  };

  std::vector<Part> PartsOf(const TableSpec& table) const {
    std::vector<Part> parts;
    for (const Slice& slice : plan_.slices(table.id)) {
      const double rows = static_cast<double>(slice.rows()) / static_cast<double>(table.rows);
      parts.push_back({&slice, rows, rows});
    }
    const bool is_known =
        workload_.by_row != nullptr && (*workload_.by_row)[Raw(table.id)].has_value();
    // Scattered rows are alike wherever they lie, but for a few single hot ones.
    const bool is_whole = parts.front().slice->rows() == table.rows;
    if (!is_known || is_whole || plan_.order(table.id).is_scattered()) return parts;
    const LookupsByRow& by_row = *(*workload_.by_row)[Raw(table.id)];
    const std::vector<RowId>& gone = plan_.worker_rows(table.id);
    const LookupsByRow::Sum all = by_row.Of(0, table.rows, gone);
    if (all.lookups <= 0 || all.distinct_rows <= 0) return parts;
    for (Part& part : parts) {
      const LookupsByRow::Sum here = by_row.Of(part.slice->row_begin, part.slice->row_end, gone);
      part.lookups = here.lookups / all.lookups;
      part.distinct_rows = here.distinct_rows / all.distinct_rows;
    }
    return parts;
  }

  void CountTable(const TableSpec& table) {
    TableRowsOfStep& of_table = traffic_.tables[Raw(table.id)];
    of_table.lookups = samples() * workload_.lookups[Raw(table.id)];
    if (plan_.is_on_workers(table.id)) return;
    double on_shards = 1;
    IdDistribution scratch;
    const IdDistribution& rows =
        DistributionOnShards(workload_, plan_, table.id, &scratch, &on_shards);
    const double lookups = of_table.lookups * on_shards;
    of_table.distinct_rows = rows.DistinctRows(lookups);
    const double updated = rows.DistinctRows(lookups * workload_.step.workers);
    const bool is_trained = !workload_.tables.is_frozen[Raw(table.id)];
    const bool sends_rows = !plan_.pools_on_shards(table.id);
    const auto all = static_cast<double>(table.rows);
    for (const Part& part : PartsOf(table)) {
      const Slice& slice = *part.slice;
      const double share = part.lookups;
      const double here = of_table.distinct_rows * part.distinct_rows;
      of_table.cuts += static_cast<double>(slice.rows()) / all;
      traffic_.pulled.push_back(
          {.table = table.id, .shard = slice.shard, .rows = here, .columns = slice.columns()});
      ShardTraffic& shard = traffic_.shards[Raw(slice.shard)];
      shard.rows_pulled += here;
      shard.accesses += lookups * share;
      shard.entries_ahead += -std::expm1(-here);
      if (is_trained) shard.rows_pushed += here;
      if (!sends_rows) continue;
      shard.row_entries += -std::expm1(-here);  // no rows, no entry
      shard.sent_rows += here;
      shard.row_floats += here * slice.columns();
      if (!is_trained) continue;
      shard.pushed_sent_rows += here;
      shard.pushed_row_floats += here * slice.columns();
      shard.updated_rows += updated * part.distinct_rows;
      shard.updated_floats += updated * part.distinct_rows * slice.columns();
    }
    if (!sends_rows) return;
    of_table.bytes = of_table.distinct_rows *
                     BytesByRows(workload_.step, table, of_table.cuts, is_trained, sends_counts_);
  }

  // What a shard pools of the table in one range of columns.
  struct BagSlices {
    double lookups = 0, distinct_rows = 0;  // the parts of the table's that they have
    double columns = 0;
  };

  void CountBags(const TableSpec& table) {
    std::map<std::pair<ShardId, uint32_t>, BagSlices> slices;
    for (const Part& part : PartsOf(table)) {
      BagSlices& of_shard = slices[{part.slice->shard, part.slice->column_begin}];
      of_shard.lookups += part.lookups;
      of_shard.distinct_rows += part.distinct_rows;
      of_shard.columns = part.slice->columns();
    }
    for (size_t f = 0; f < workload_.tables.features.size(); ++f) {
      const FeatureTable& feature = workload_.tables.features[f];
      for (const TableId part : feature.parts) {
        if (part != table.id) continue;
        const double length = workload_.step.bag_lengths[f];
        // All rows of pooled tables are on shards.
        const double distinct_rows =
            workload_.of_table[Raw(table.id)].DistinctRows(samples() * length);
        for (const auto& [place, of_shard] : slices) {
          AddBags(table, feature, {length, distinct_rows}, place.first, of_shard);
        }
      }
    }
  }

  // Of a feature in a step of a worker.
  struct BagsOfStep {
    double length = 0, distinct_rows = 0;
  };

  void AddBags(const TableSpec& table, const FeatureTable& feature, const BagsOfStep& of_step,
               ShardId to, const BagSlices& slices) {
    ShardTraffic& shard = traffic_.shards[Raw(to)];
    const bool is_max = feature.table.pooling == "max";
    const double bags = samples(), lookups = bags * of_step.length * slices.lookups;
    const double values = bags * slices.columns;
    const double weights = feature.table.weighted_pooling == "learned" ? kFloat : 0;
    const double answer = is_max                        ? kFloat + kWinner
                          : plan_.splits_bags(table.id) ? kPartial
                                                        : kFloat;
    const double request = kTableBags + lookups * (BytesOfId(table) + weights) + bags * kLength;
    shard.bags += bags;
    shard.bag_lookups += lookups;
    shard.bag_lookup_floats += lookups * slices.columns;
    ++shard.bag_entries;
    shard.bag_rows += std::min(lookups, of_step.distinct_rows * slices.distinct_rows);
    shard.pull_request_bytes += request;
    shard.pull_reply_bytes += values * answer;
    double pushed = 0;
    if (!workload_.tables.is_frozen[Raw(table.id)]) {
      pushed = kTableBags + values * (kFloat + (is_max ? kWinner : 0));
      bags_pushed_[Raw(to)] += pushed;
    }
    traffic_.tables[Raw(table.id)].bytes += request + values * answer + pushed;
  }

  static double Parts(double rows, double bytes) {
    return std::max({1.0, std::ceil(rows / kMaxPartRows), std::ceil(bytes / kMaxPartBytes)});
  }

  // Headers and bodies, and the rows.
  void AddFrames(double bags_pushed, size_t number) {
    ShardTraffic& shard = traffic_.shards[number];
    // With hardly any rows most steps ask this shard for nothing.
    const double asked = shard.bag_entries > 0 ? 1 : -std::expm1(-shard.sent_rows);
    const double values = shard.row_floats * PulledBytes(workload_.step);
    const double pulled_bytes = shard.sent_rows * kRowId + values +
                                std::max(shard.pull_request_bytes, shard.pull_reply_bytes);
    const double pulls = asked * Parts(shard.sent_rows + shard.bag_lookups, pulled_bytes);
    shard.pull_request_bytes += pulls * (kHeader + kPullBody) + shard.row_entries * kTableRows +
                                shard.sent_rows * (kRowId + kCount);
    shard.pull_reply_bytes += pulls * (kHeader + kPullReplyBody) + values;
    const double pushed_bytes = shard.pushed_sent_rows * kRowId +
                                shard.pushed_row_floats * PushedBytes(workload_.step) + bags_pushed;
    const double pushes = Parts(shard.pushed_sent_rows + shard.bag_lookups, pushed_bytes);
    const double trained = shard.sent_rows > 0 ? shard.pushed_sent_rows / shard.sent_rows : 0;
    shard.push_request_bytes +=
        pushes * (kHeader + kPushBody) + shard.row_entries * trained * kTableRows +
        shard.pushed_sent_rows * (sends_counts_ ? kCount : 0) + pushed_bytes;
    shard.push_reply_bytes += pushes * (kHeader + kPushReplyBody);
  }

  const Workload& workload_;
  const Plan& plan_;
  const bool sends_counts_;
  std::vector<double> bags_pushed_;  // bytes, of each shard
  StepTraffic traffic_;
};

// Of one bag of a feature, all but its ids.
double BytesByBags(const EmbeddingTables& tables, const FeatureTable& feature,
                   const TableSpec& table, const Plan& plan) {
  std::set<std::pair<ShardId, uint32_t>> answers;
  double columns = 0;  // of all answers about the bag
  for (const Slice& slice : plan.slices(table.id)) {
    if (answers.emplace(slice.shard, slice.column_begin).second) columns += slice.columns();
  }
  const bool is_max = feature.table.pooling == "max";
  const double winner = is_max ? kWinner : 0;
  const double answer = !is_max && plan.splits_bags(table.id) ? kPartial : kFloat;
  const double pushed = tables.is_frozen[Raw(table.id)] ? 0 : kFloat + winner;
  return static_cast<double>(answers.size()) * kLength + columns * (answer + winner + pushed);
}

}  // namespace

std::vector<TableTraffic> TrafficOfTables(const Workload& workload, const Plan& plan) {
  const EmbeddingTables& tables = workload.tables;
  const StepTraffic step = TrafficOfStep(workload, plan);
  const bool sends_counts = DividesByLookups(tables.physical);
  std::vector<TableTraffic> all;
  for (const TableSpec& table : tables.physical) {
    if (plan.is_on_workers(table.id)) continue;
    const TableRowsOfStep& rows = step.tables[Raw(table.id)];
    TableTraffic traffic{.table = table.id,
                         .lookups = rows.lookups * workload.step.workers,
                         .distinct_rows = rows.distinct_rows * workload.step.workers,
                         .refusal = {},
                         .pools_on_shards = plan.pools_on_shards(table.id)};
    const bool is_trained = !tables.is_frozen[Raw(table.id)];
    traffic.by_rows = traffic.distinct_rows *
                      BytesByRows(workload.step, table, rows.cuts, is_trained, sends_counts);
    traffic.by_bags = traffic.lookups * rows.cuts * BytesOfId(table);
    for (const FeatureTable& feature : tables.features) {
      if (feature.weights == table.id) traffic.refusal = "they are the weights of ids";
      for (const TableId part : feature.parts) {
        if (part != table.id) continue;
        traffic.by_bags +=
            static_cast<double>(workload.step.samples) * BytesByBags(tables, feature, table, plan);
        if (traffic.refusal.empty()) {
          traffic.refusal = WhyNotPooledOnShards(tables, feature, table.id, plan);
        }
      }
    }
    if (!traffic.refusal.empty()) traffic.by_bags = 0;
    all.push_back(std::move(traffic));
  }
  return all;
}

const IdDistribution& DistributionOnShards(const Workload& workload, const Plan& plan,
                                           TableId table, IdDistribution* scratch,
                                           double* on_shards) {
  const IdDistribution& all = workload.of_table[Raw(table)];
  *on_shards = 1;
  const size_t hot = plan.worker_rows(table).size();  // the most frequent ones
  if (hot == 0) return all;
  double share = 0;
  *scratch = all.Without(static_cast<double>(hot), &share);
  *on_shards = std::max(0.0, 1 - share);  // Rounding may leave less than nothing.
  return *scratch;
}

void SpreadByRow(Workload* workload, const std::vector<bool>& left_out) {
  workload->by_row = nullptr;
  if (workload->accesses == nullptr) return;
  auto by_row = std::make_shared<std::vector<std::optional<LookupsByRow>>>();
  const double samples = SamplesOfWorker(workload->step);
  for (const TableSpec& table : workload->tables.physical) {
    const size_t t = Raw(table.id);
    by_row->emplace_back();
    if (!left_out.empty() && left_out[t]) continue;
    const TableAccesses* const counted = workload->accesses->Find(table.name);
    const bool is_of_table =
        counted != nullptr && counted->rows == table.rows && counted->total() > 0;
    if (is_of_table) by_row->back().emplace(*counted, samples * workload->lookups[t]);
  }
  workload->by_row = std::move(by_row);
}

void SetStep(uint64_t samples, uint32_t workers, Workload* workload) {
  const double before = SamplesOfWorker(workload->step);
  workload->step.samples = samples;
  workload->step.workers = workers;
  if (workload->by_row == nullptr || SamplesOfWorker(workload->step) == before) return;
  std::vector<bool> left_out;
  for (const auto& of_table : *workload->by_row) left_out.push_back(!of_table.has_value());
  SpreadByRow(workload, left_out);
}

// Of bags the rows are told, too.
void AddPrefetches(double share, StepTraffic* traffic) {
  for (ShardTraffic& shard : traffic->shards) {
    const double asked = -std::expm1(-shard.rows_pulled);
    shard.pull_request_bytes +=
        share * (asked * (kHeader + kPrefetchBody) + shard.entries_ahead * kTableRows +
                 shard.rows_pulled * kRowId);
  }
}

StepTraffic TrafficOfStep(const Workload& workload, const Plan& plan) {
  CHECK_EQ(workload.of_table.size(), workload.tables.physical.size());
  CHECK_EQ(workload.lookups.size(), workload.tables.physical.size());
  return Counting(workload, plan).Count();
}

}  // namespace rowhouse
