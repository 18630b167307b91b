#include "sharding/lab/planner/cache_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// A share grows by this factor at a time; faster where there are many tables, as each point of a
// curve of hits takes a good part of a millisecond.
constexpr double kGrowth = 1.1, kGrowthOfMany = 1.5;
constexpr size_t kManyTables = 100;
// The first bytes of a table, of an equal part of its fullest shard: room for the rows of two steps
// if they need no more (a row without a slot is read twice in a step).
constexpr double kMaxAtFirst = 0.5, kMinAtFirst = 0.02;
constexpr double kStepsAtFirst = 2;
// Shares are written with so many parts, rounded down.
constexpr double kParts = 1e6;

struct Candidate {
  const TableSpec* table = nullptr;
  std::map<ShardId, double> bytes_on;  // of the records that may be cached there, at most
  double record_bytes = 0;             // of a whole row
  double most_share = 0;               // that holds all these
  double share = 0, reads = 0;         // a step, with that share
  double next_share = 0, next_reads = 0;

  double Bytes(double of_share, double budget) const {
    double bytes = 0;
    for (const auto& [shard, all] : bytes_on) bytes += std::min(all, of_share * budget);
    return bytes;
  }
};

class Choice {
 public:
  Choice(const Workload& workload, const Plan& plan, uint32_t shards_per_ps)
      : workload_(workload),
        plan_(plan),
        traffic_(TrafficOfStep(workload, plan)),
        budget_(static_cast<double>(workload.storage.cache_bytes / shards_per_ps)),
        left_(plan.shards(), 1.0),
        tables_on_(plan.shards()) {}

  std::vector<std::optional<double>> Choose() {
    std::vector<std::optional<double>> shares(plan_.tables());
    if (!workload_.storage.has_files || budget_ < 1) return shares;
    CollectCandidates();
    if (candidates_.empty()) return shares;
    for (Candidate& one : candidates_) Begin(&one);
    Grow();
    for (const Candidate& one : candidates_) {
      shares[Raw(one.table->id)] = std::floor(one.share * kParts) / kParts;
    }
    return shares;
  }

 private:
  // Tables of shards that have no room for all their rows.
  void CollectCandidates() {
    std::vector<double> bytes_of_shard(plan_.shards());
    std::vector<Candidate> all;
    for (const TableSpec& table : workload_.tables.physical) {
      if (plan_.is_on_workers(table.id)) continue;
      const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
      Candidate one{.table = &table};
      for (const Slice& slice : plan_.slices(table.id)) {
        const auto record =
            static_cast<double>(LayoutOf(table, *optimizer, slice.columns()).bytes());
        const double bytes = static_cast<double>(slice.rows()) * record;
        bytes_of_shard[Raw(slice.shard)] += bytes;
        one.bytes_on[slice.shard] += bytes * std::min(1.0, workload_.storage.cache_ratio);
      }
      one.record_bytes = static_cast<double>(LayoutOf(table, *optimizer).bytes());
      for (const auto& [shard, bytes] : one.bytes_on) {
        one.most_share = std::max(one.most_share, std::min(1.0, bytes / budget_));
        ++tables_on_[Raw(shard)];
      }
      all.push_back(std::move(one));
    }
    for (Candidate& one : all) {
      const bool is_tight = std::ranges::any_of(
          one.bytes_on, [&](const auto& on) { return bytes_of_shard[Raw(on.first)] > budget_; });
      if (is_tight) candidates_.push_back(std::move(one));
    }
  }

  double Room(const Candidate& one) const {
    double room = 1;
    for (const auto& [shard, bytes] : one.bytes_on) room = std::min(room, left_[Raw(shard)]);
    return std::max(0.0, room);
  }

  // Records that a step reads from the store: of a row that is cut into columns its pieces.
  double Reads(const Candidate& one, double share) const {
    const TableId id = one.table->id;
    const TableRowsOfStep& of_step = traffic_.tables[Raw(id)];
    const double cuts = std::max(1.0, of_step.cuts);
    const double slots = one.Bytes(share, budget_) / one.record_bytes * cuts;
    return of_step.distinct_rows * cuts * workload_.step.workers *
           RowSharesOf(workload_, plan_, traffic_, id, slots).stored;
  }

  void Take(Candidate* one, double share) {
    for (const auto& [shard, bytes] : one->bytes_on) left_[Raw(shard)] -= share - one->share;
    one->share = share;
  }

  void Begin(Candidate* one) {
    size_t most_tables = 1;
    for (const auto& [shard, bytes] : one->bytes_on) {
      most_tables = std::max(most_tables, tables_on_[Raw(shard)]);
    }
    const double even = 1.0 / static_cast<double>(most_tables);
    const double rows = kStepsAtFirst * traffic_.tables[Raw(one->table->id)].distinct_rows *
                        workload_.step.workers / static_cast<double>(one->bytes_on.size());
    const double wanted =
        std::clamp(rows * one->record_bytes / budget_, kMinAtFirst * even, kMaxAtFirst * even);
    Take(one, std::min(one->most_share, wanted));
    one->reads = Reads(*one, one->share);
  }

  // What the next bytes save, each; 0: there is no room.
  double Look(Candidate* one) const {
    const double growth = candidates_.size() > kManyTables ? kGrowthOfMany : kGrowth;
    one->next_share = std::min({one->most_share, one->share * growth, one->share + Room(*one)});
    const double more = one->Bytes(one->next_share, budget_) - one->Bytes(one->share, budget_);
    if (more < one->record_bytes) return 0;
    one->next_reads = Reads(*one, one->next_share);
    return std::max(0.0, one->reads - one->next_reads) / more;
  }

  void Grow() {
    std::priority_queue<std::pair<double, size_t>> by_saving;
    const auto push = [&](size_t i) {
      const double saving = Look(&candidates_[i]);
      if (saving > 0) by_saving.emplace(saving, i);
    };
    for (size_t i = 0; i < candidates_.size(); ++i) push(i);
    while (!by_saving.empty()) {
      const size_t i = by_saving.top().second;
      by_saving.pop();
      Candidate& one = candidates_[i];
      // Others may have taken the room meanwhile; what is left may save more or less a byte.
      if (one.next_share > one.share + Room(one)) {
        push(i);
        continue;
      }
      Take(&one, one.next_share);
      one.reads = one.next_reads;
      push(i);
    }
  }

  const Workload& workload_;
  const Plan& plan_;
  const StepTraffic traffic_;
  const double budget_;       // bytes of a shard's caches
  std::vector<double> left_;  // of each shard, as a share
  std::vector<size_t> tables_on_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<std::optional<double>> ChooseCacheShares(const Workload& workload, const Plan& plan,
                                                     uint32_t shards_per_ps) {
  return Choice(workload, plan, shards_per_ps).Choose();
}

}  // namespace rowhouse
