#include "sharding/lab/planner/plan_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <string_view>

#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// Work of all predictions of a search, in tables and shards.
constexpr uint64_t kMaxWork = 140'000;
// At least this many plans are tried, however large the cluster.
constexpr uint64_t kFewTried = 12;
// Of this many tables more, predictions take longer, and few of them help.
constexpr size_t kTooManyTables = 500;
constexpr uint64_t kMaxRefinements = 10'000;
// Of this many tables, two at a time are placed otherwise.
constexpr size_t kMaxTablesInPairs = 8;
// Plans whose times differ by a smaller share than kAlike are alike; then a largest load that is
// smaller by kClearlyMoreEven counts.
constexpr double kAlike = 0.01, kClearlyMoreEven = 0.03;
// Another place has to save more than this share of the step.
constexpr double kMinGain = 1e-4;
// A plan that is more even may take longer than table_wise_lpt by this share, which no run shows.
constexpr double kUnseen = 2e-3;
// A strategy that divides every table makes no more slices than this.
constexpr uint64_t kMaxSlices = 20'000;
// No plan is made even at the price of a longer step than this strategy's. It is always tried.
constexpr std::string_view kMadeEven = ", made even";

double LargestLoad(const StepCost& cost) {
  double largest = 0;
  for (const RankCost& node : cost.ps) largest = std::max(largest, node.busy_ms);
  return largest;
}

size_t SlicesOf(const Plan& plan) {
  size_t slices = 0;
  for (uint32_t t = 0; t < plan.tables(); ++t) slices += plan.slices(TableId{t}).size();
  return slices;
}

}  // namespace

PlanChoice::PlanChoice(const Workload& workload, const ClusterShape& cluster,
                       const Machine& machine, const PlannerOptions& options,
                       const NodeLimits& limits, const TableForms& forms)
    : workload_(workload),
      cluster_(cluster),
      machine_(machine),
      options_(options),
      limits_(workload, cluster, limits),
      shards_(cluster.ps * cluster.shards_per_ps),
      places_(workload, shards_, options, forms) {
  // Shares of a cache that does not hold all rows take longer to predict than all the rest.
  double bytes = 0;
  for (const TableSpec& table : workload.tables.physical) {
    bytes += static_cast<double>(TableBytesOf(table));
  }
  const StorageShape& storage = workload.storage;
  const bool is_cached =
      storage.has_files && bytes > static_cast<double>(storage.cache_bytes) * cluster.ps;
  const size_t tables = workload.tables.physical.size();
  const size_t of_table = is_cached ? 20 : 1 + tables / kTooManyTables;
  most_tried_ = std::max<uint64_t>(kFewTried, kMaxWork / (tables * of_table + shards_));
}

// ---- One plan -----------------------------------------------------------------------------------

Status PlanChoice::Try(const Plan& plan, const std::string& name) {
  ASSIGN_OR_RETURN(StepCost cost, PredictStep(workload_, plan, cluster_, machine_));
  ++tried_;
  last_ms_ = cost.ms;
  const bool is_faster = !best_ || cost.ms < cost_.ms * (1 - kMinGain) ||
                         (cost.ms <= cost_.ms && SlicesOf(plan) < SlicesOf(*best_));
  if (!is_faster) return OkStatus();
  if (std::string why = limits_.WhyTooMuch(plan, cost); !why.empty()) {
    const double overload = limits_.OverloadOf(plan, cost);
    if (refusal_.empty() || overload < least_overload_) {
      refusal_ = std::move(why);
      least_overload_ = overload;
    }
    return OkStatus();
  }
  best_ = plan;
  least_ms_ = std::min(least_ms_, cost.ms);
  cost_ = std::move(cost);
  name_ = name;
  return OkStatus();
}

Result<std::optional<StepCost>> PlanChoice::TryEven(const PlanByTable& parts) {
  Result<Plan> plan = parts.ToPlan(workload_.tables, shards_);
  if (!plan.ok()) return std::optional<StepCost>();
  ASSIGN_OR_RETURN(StepCost cost, PredictStep(workload_, plan.value(), cluster_, machine_));
  ++tried_;
  // Of the fastest plan so far, lest what each plan may take longer adds up.
  const double most_ms =
      std::min(least_ms_ * (1 + kAlike), std::max(least_ms_, least_ms_of_lpt_) * (1 + kUnseen));
  const bool is_more_even =
      cost.ms <= most_ms && LargestLoad(cost) < LargestLoad(cost_) * (1 - kClearlyMoreEven);
  const bool is_better = is_more_even || cost.ms < least_ms_ * (1 - kMinGain);
  if (is_better && limits_.WhyTooMuch(plan.value(), cost).empty()) {
    best_ = std::move(plan).value();
    least_ms_ = std::min(least_ms_, cost.ms);
    cost_ = cost;
    if (!name_.ends_with(kMadeEven)) name_ += kMadeEven;
  }
  return std::optional<StepCost>(std::move(cost));
}

Status PlanChoice::ShareCaches() {
  const auto shares = ChooseCacheShares(workload_, *best_, cluster_.shards_per_ps);
  const bool is_any = std::ranges::any_of(shares, [](const auto& share) { return !!share; });
  if (!is_any) return OkStatus();
  ASSIGN_OR_RETURN(Plan plan, best_->WithCacheShares(workload_.tables.physical, shares));
  ASSIGN_OR_RETURN(StepCost cost, PredictStep(workload_, plan, cluster_, machine_));
  const bool is_worse = cost.ms > cost_.ms * (1 + kMinGain) || cost.hit_rate < cost_.hit_rate;
  if (is_worse || !limits_.WhyTooMuch(plan, cost).empty()) return OkStatus();
  best_ = std::move(plan);
  cost_ = std::move(cost);
  return OkStatus();
}

Status PlanChoice::Try(const PlanByTable& parts, const std::string& name) {
  const Result<Plan> plan = parts.ToPlan(workload_.tables, shards_);
  return plan.ok() ? Try(plan.value(), name) : OkStatus();
}

// ---- Strategies ---------------------------------------------------------------------------------

Status PlanChoice::TryStrategies() {
  EmbeddingTables tables = workload_.tables;  // The planner decides, whatever tables name.
  std::ranges::fill(tables.strategies, "");
  std::ranges::fill(tables.pool_on, "");
  const size_t physical = tables.physical.size();
  std::vector<std::string> names = ShardingStrategies().Names();
  const auto declared = [](const std::string& name) -> const StrategyDeclaration& {
    return ShardingStrategies().DeclarationOf(name);
  };
  std::ranges::stable_partition(names,
                                [&](const auto& name) { return declared(name).is_baseline; });
  for (const std::string& name : names) {
    const StrategyDeclaration& strategy = declared(name);
    if (tried_ >= most_tried_ && !strategy.is_baseline) continue;
    if (strategy.divides_tables && (!options_.may_split || physical * shards_ > kMaxSlices))
      continue;
    if (strategy.copies_to_workers && !options_.may_replicate) continue;
    PlanOptions made{.shards = shards_, .strategy = name, .options = {}, .capacities = {}};
    made.options.hot_rows = options_.hot_rows;
    made.accesses = workload_.accesses.get();
    const Result<Plan> plan = MakePlan(tables, made);
    if (!plan.ok()) continue;  // It cannot place these tables, or needs counts.
    const PlanByTable parts(plan.value());
    const bool is_allowed = std::ranges::all_of(tables.physical, [&](const TableSpec& table) {
      return places_.IsAllowed(table, parts.tables()[Raw(table.id)]);
    });
    if (is_allowed) {
      RETURN_IF_ERROR(Try(plan.value(), name));
      if (strategy.is_baseline) least_ms_of_lpt_ = std::min(least_ms_of_lpt_, last_ms_);
    }
    if (!options_.may_pool_on_shards) continue;
    for (const bool only_where_better : {true, false}) {
      const PlanByTable pooled = places_.Pooled(plan.value(), only_where_better);
      const bool is_any = std::ranges::any_of(
          pooled.tables(), [](const TableParts& table) { return table.placement.pools_on_shards; });
      if (!is_any) continue;
      RETURN_IF_ERROR(Try(pooled, name + ", pooled on shards"));
      if (strategy.is_baseline) least_ms_of_lpt_ = std::min(least_ms_of_lpt_, last_ms_);
    }
  }
  return OkStatus();
}

// ---- Single tables ------------------------------------------------------------------------------

Status PlanChoice::Refine() {
  const uint64_t most = std::min(kMaxRefinements, most_tried_);
  if (!best_) return OkStatus();
  double before = std::numeric_limits<double>::infinity();
  while (cost_.ms < before && tried_ < most) {
    before = cost_.ms;
    RETURN_IF_ERROR(RefineTables(most));
    if (cost_.ms < before || workload_.tables.physical.size() > kMaxTablesInPairs) continue;
    RETURN_IF_ERROR(RefinePairs(most));
  }
  return OkStatus();
}

Status PlanChoice::RefineTables(uint64_t most) {
  bool helped = true;
  while (helped && tried_ < most) {
    helped = false;
    // Those that cost most first.
    std::vector<size_t> order(workload_.tables.physical.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](size_t t) { return cost_.tables[t].ms; });
    for (const size_t t : order) {
      const TableSpec& table = workload_.tables.physical[t];
      const PlanByTable now(*best_);
      for (TableParts& place : places_.Of(table, &now.tables()[t])) {
        if (tried_ >= most) return OkStatus();
        PlanByTable other = now;
        other.tables()[t] = std::move(place);
        const double so_far = cost_.ms;
        RETURN_IF_ERROR(Try(other, "local search"));
        helped = helped || cost_.ms < so_far;
      }
    }
  }
  return OkStatus();
}

Status PlanChoice::RefinePairs(uint64_t most) {
  const std::vector<TableSpec>& tables = workload_.tables.physical;
  for (size_t t = 0; t < tables.size(); ++t) {
    for (size_t u = t + 1; u < tables.size(); ++u) {
      const PlanByTable now(*best_);
      const std::vector<TableParts> of_other = places_.Of(tables[u], &now.tables()[u]);
      for (const TableParts& place : places_.Of(tables[t], &now.tables()[t])) {
        for (const TableParts& other_place : of_other) {
          if (tried_ >= most) return OkStatus();
          PlanByTable other = now;
          other.tables()[t] = place;
          other.tables()[u] = other_place;
          RETURN_IF_ERROR(Try(other, "local search"));
        }
      }
    }
  }
  return OkStatus();
}

namespace {

// A share grows by this factor at a time; faster where there are many tables, as each point of a
// curve of hits takes a good part of a millisecond.
constexpr double kGrowth = 1.1, kGrowthOfMany = 1.5;
constexpr size_t kManyTables = 100;
// The first bytes of a table, of an equal part of its fullest shard: room for the rows of two steps
// if they need no more (a row without a slot is read twice in a step).
constexpr double kMaxAtFirst = 0.5, kMinAtFirst = 0.02;
constexpr double kStepsAtFirst = 2;
// Shares are written with this many parts, rounded down.
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
        budget_(static_cast<double>(uint64_t{workload.storage.cache_bytes / shards_per_ps})),
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
