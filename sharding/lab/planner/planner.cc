#include "sharding/lab/planner/planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/planner/plan_choice.h"
#include "sharding/lab/planner/plan_draft.h"
#include "sharding/lab/planner/table_forms.h"
#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

// ---- Forms of tables
// -----------------------------------------------------------------------------

double BytesOnWorkers(const TableSpec& table) {
  return BytesOnWorker(table, static_cast<double>(table.rows));
}

// Drafts that put one more table on the workers each, before all of them go there.
constexpr size_t kMaxSteps = 8;

// A form for each table, before it is known which shards get which pieces: the forms that cost
// least by themselves, and those that keep to what workers and PS nodes may hold.
class FormChoice {
 public:
  // All of them outlive this object.
  FormChoice(const Workload& workload, const PlannerOptions& options, const NodeLimits& limits,
             const TableForms& forms)
      : workload_(workload), options_(options), limits_(limits), forms_(forms) {}

  // Of each table the form that costs least if shards share its work evenly; of those of which no
  // piece need take a shard more than `most_ms`, if there are any. Tables that workers have no room
  // for are on shards.
  std::vector<TableForm> Best(bool with_hot_rows = true,
                              double most_ms = std::numeric_limits<double>::infinity()) const;

  // Workers pull the rows of all tables that may be on shards: rows take the least room there.
  std::vector<TableForm> Rows() const;

  // Rows(), with more and more tables on the workers, those first whose bytes cost least there: the
  // first entry has as many as leave shards no more bytes than `shard_bytes` in all, the last one
  // as many as there can be. Empty if no table can leave the shards.
  std::vector<std::vector<TableForm>> Roomier(double shard_bytes) const;

  // Whether Roomier() left tables on shards because workers have no room for them.
  bool WorkersAreFull() const;

 private:
  TableForm BestOf(const TableSpec& table, bool with_hot_rows, double most_ms,
                   bool may_replicate) const;
  bool MayLeaveShards(const TableSpec& table) const;
  // What is left for tables that need not be on the workers.
  double WorkerRoom() const;
  // The tables that can leave the shards, those first whose bytes cost least on the workers, as
  // many as there is room for.
  std::vector<TableId> Leaving() const;

  const Workload& workload_;
  const PlannerOptions& options_;
  const NodeLimits& limits_;
  const TableForms& forms_;
};

TableForm FormChoice::BestOf(const TableSpec& table, bool with_hot_rows, double most_ms,
                             bool may_replicate) const {
  if (forms_.MustBeOnWorkers(table.id)) return forms_.OnWorkers(table.id);
  const std::string& pool_on = workload_.tables.pool_on[Raw(table.id)];
  const bool may_pool = options_.may_pool_on_shards && forms_.MayPool(table.id);
  if (may_pool && pool_on == "shards") return forms_.Bags(table.id);
  std::vector<TableForm> forms = {forms_.Rows(table.id)};
  if (with_hot_rows && !forms_.HotRows(table.id).empty()) {
    forms.push_back(forms_.Rows(table.id, forms_.HotRows(table.id)));
  }
  if (may_pool) forms.push_back(forms_.Bags(table.id));
  if (may_replicate) forms.push_back(forms_.OnWorkers(table.id));
  return *std::ranges::min_element(forms, {}, [&](const TableForm& form) {
    return std::pair(std::max(form.LeastPieceMs(), most_ms), form.even_ms);
  });
}

double FormChoice::WorkerRoom() const {
  if (limits_.worker_bytes == 0) return std::numeric_limits<double>::infinity();
  double room = static_cast<double>(limits_.worker_bytes) - BytesOfDensePart(workload_.dense);
  for (const TableSpec& table : workload_.tables.physical) {
    if (forms_.MustBeOnWorkers(table.id)) room -= BytesOnWorkers(table);
  }
  return room;
}

std::vector<TableForm> FormChoice::Best(bool with_hot_rows, double most_ms) const {
  std::vector<TableForm> forms;
  struct OnWorkers {
    TableId table;
    double gain_of_byte, bytes;
  };
  std::vector<OnWorkers> chosen;
  for (const TableSpec& table : workload_.tables.physical) {
    forms.push_back(BestOf(table, with_hot_rows, most_ms, options_.may_replicate));
    if (!forms.back().is_on_workers || forms_.MustBeOnWorkers(table.id)) continue;
    const double bytes = BytesOnWorkers(table);
    const double otherwise = forms_.Rows(table.id).even_ms;
    chosen.push_back({table.id, (otherwise - forms.back().even_ms) / bytes, bytes});
  }
  double room = WorkerRoom();
  std::ranges::stable_sort(chosen, std::greater<>(), &OnWorkers::gain_of_byte);
  for (const OnWorkers& one : chosen) {
    if (one.bytes <= room) {
      room -= one.bytes;
      continue;
    }
    const TableSpec& table = workload_.tables.physical[Raw(one.table)];
    forms[Raw(one.table)] = BestOf(table, with_hot_rows, most_ms, /*may_replicate=*/false);
  }
  return forms;
}

std::vector<TableForm> FormChoice::Rows() const {
  std::vector<TableForm> forms = Best(/*with_hot_rows=*/false);
  for (const TableSpec& table : workload_.tables.physical) {
    const bool must_be_elsewhere =
        forms_.MustBeOnWorkers(table.id) || workload_.tables.pool_on[Raw(table.id)] == "shards";
    if (!must_be_elsewhere) forms[Raw(table.id)] = forms_.Rows(table.id);
  }
  return forms;
}

bool FormChoice::MayLeaveShards(const TableSpec& table) const {
  return options_.may_replicate && !forms_.MustBeOnWorkers(table.id) &&
         workload_.tables.pool_on[Raw(table.id)] != "shards";
}

std::vector<TableId> FormChoice::Leaving() const {
  std::vector<std::pair<double, TableId>> all;  // milliseconds of a byte
  for (const TableSpec& table : workload_.tables.physical) {
    if (!MayLeaveShards(table)) continue;
    const double costs = forms_.OnWorkers(table.id).even_ms - forms_.Rows(table.id).even_ms;
    all.emplace_back(costs / BytesOnWorkers(table), table.id);
  }
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first; });
  std::vector<TableId> leaving;
  double room = WorkerRoom();
  for (const auto& [costs, table] : all) {
    const double bytes = BytesOnWorkers(workload_.tables.physical[Raw(table)]);
    if (bytes > room) continue;
    room -= bytes;
    leaving.push_back(table);
  }
  return leaving;
}

bool FormChoice::WorkersAreFull() const {
  const auto may_leave = std::ranges::count_if(
      workload_.tables.physical, [&](const TableSpec& table) { return MayLeaveShards(table); });
  return Leaving().size() < static_cast<size_t>(may_leave);
}

std::vector<std::vector<TableForm>> FormChoice::Roomier(double shard_bytes) const {
  std::vector<std::vector<TableForm>> all;
  std::vector<TableForm> forms = Rows();
  double bytes = 0;
  for (const TableSpec& table : workload_.tables.physical) {
    if (!forms[Raw(table.id)].is_on_workers) bytes += static_cast<double>(TableBytesOf(table));
  }
  const std::vector<TableId> leaving = Leaving();
  for (size_t i = 0; i < leaving.size(); ++i) {
    forms[Raw(leaving[i])] = forms_.OnWorkers(leaving[i]);
    bytes -= static_cast<double>(TableBytesOf(workload_.tables.physical[Raw(leaving[i])]));
    const bool is_last = i + 1 == leaving.size();
    if (is_last || (bytes <= shard_bytes && all.size() < kMaxSteps)) all.push_back(forms);
  }
  return all;
}

// ---- Plans --------------------------------------------------------------------------------------

class Planner {
 public:
  Planner(const Workload& workload, const ClusterShape& cluster, const Machine& machine,
          const PlannerOptions& options)
      : workload_(workload),
        cluster_(cluster),
        options_(options),
        shards_(cluster.ps * cluster.shards_per_ps),
        limits_(LimitsOf(workload, cluster, machine, options)),
        forms_(workload, cluster, machine, options.hot_rows),
        form_choice_(workload, options, limits_, forms_),
        choice_(workload, cluster, machine, options, limits_, forms_) {}

  Result<PlannedRun> Plan() {
    Result<PlanByTable> draft = FirstDraft();
    if (draft.ok()) RETURN_IF_ERROR(choice_.Try(draft.value(), "local search"));
    if (!choice_.has_plan()) RETURN_IF_ERROR(TryRoomier(&draft));
    RETURN_IF_ERROR(TryOtherDrafts());
    RETURN_IF_ERROR(choice_.TryStrategies());
    RETURN_IF_ERROR(choice_.Refine());
    if (!choice_.has_plan()) {
      return draft.ok() ? UsageError("{}", choice_.refusal()) : WhyNone(draft.status());
    }
    RETURN_IF_ERROR(MakeEven());
    RETURN_IF_ERROR(choice_.ShareCaches());
    return Finish();
  }

 private:
  static NodeLimits LimitsOf(const Workload& workload, const ClusterShape& cluster,
                             const Machine& machine, const PlannerOptions& options) {
    const bool is_memory = !workload.storage.has_files;
    NodeLimits limits{.row_bytes = is_memory ? cluster.ps_memory_bytes : cluster.ps_disk_bytes,
                      .what = is_memory ? "memory" : "disk",
                      .worker_bytes = WorkerMemoryLimit(cluster, machine)};
    if (options.ps_row_bytes > 0 &&
        (limits.row_bytes == 0 || options.ps_row_bytes < limits.row_bytes)) {
      limits.row_bytes = options.ps_row_bytes;
      limits.what = "room for rows";
    }
    return limits;
  }

  // The forms that cost least, or else those that take least room on shards.
  Result<PlanByTable> FirstDraft() const {
    Result<PlanByTable> draft = Draft(form_choice_.Best(), options_.may_split);
    // Rows that nobody cuts by columns take the least room.
    if (!draft.ok()) draft = Draft(form_choice_.Rows(), options_.may_split);
    return draft;
  }

  // Tables go to the workers until the rest has room; `draft`: the last one.
  Status TryRoomier(Result<PlanByTable>* draft) {
    const double room = static_cast<double>(limits_.row_bytes) * cluster_.ps;
    for (const std::vector<TableForm>& forms : form_choice_.Roomier(room)) {
      *draft = Draft(forms, options_.may_split);
      if (draft->ok()) RETURN_IF_ERROR(choice_.Try(draft->value(), "tables on the workers"));
      if (choice_.has_plan()) break;
    }
    return OkStatus();
  }

  Status WhyNone(const Status& refusal) const {
    if (!form_choice_.WorkersAreFull()) return refusal;
    return UsageError("{}; workers have no room for more tables", refusal.message());
  }

  Result<PlanByTable> Draft(const std::vector<TableForm>& forms, bool may_cut) const {
    return DraftPlan(workload_, cluster_, limits_, forms, may_cut);
  }

  Status TryOtherDrafts() {
    std::vector<std::vector<TableForm>> all = {
        form_choice_.Rows(), form_choice_.Best(/*with_hot_rows=*/false), form_choice_.Best()};
    double even = 0;
    for (const TableForm& form : all.back()) even += form.shard_ms / shards_;
    // A table that cannot be divided may make one shard the slowest; how slow it may be is tried.
    for (const double times : {1.0, 2.0, 4.0}) {
      if (shards_ > 1) {
        all.push_back(form_choice_.Best(/*with_hot_rows=*/true, times * even));
      }
    }
    for (const bool may_cut : {true, false}) {
      if (may_cut && !options_.may_split) continue;
      for (const std::vector<TableForm>& forms : all) {
        if (choice_.is_tired()) return OkStatus();
        const Result<PlanByTable> draft = Draft(forms, may_cut);
        if (draft.ok()) RETURN_IF_ERROR(choice_.Try(draft.value(), "local search"));
      }
    }
    return OkStatus();
  }

  // The pieces of the best plan are spread anew; then the same with the large tables divided by
  // rows.
  Status MakeEven() {
    RETURN_IF_ERROR(SpreadAnew(/*by_rows=*/false));
    return SpreadAnew(/*by_rows=*/true);
  }

  // With the caches that the best plan was predicted to have. Those of the new one are others, so
  // it is spread once more with what lies between, and so on.
  Status SpreadAnew(bool by_rows) {
    constexpr int kRounds = 6;
    const bool reads = workload_.storage.has_files;
    std::vector<double> read_shares;
    for (const TableCost& table : choice_.cost().tables) read_shares.push_back(table.read_share);
    for (int round = 0; round < (reads ? kRounds : 1); ++round) {
      TableForms forms = forms_;
      for (const TableSpec& table : workload_.tables.physical) {
        if (reads) forms.SetReadShare(table.id, read_shares[Raw(table.id)]);
      }
      std::vector<TableForm> of_best = FormsOfBest(forms);
      if (by_rows && !DivideByRows(forms, &of_best)) break;
      const Result<PlanByTable> draft = Draft(of_best, options_.may_split);
      if (!draft.ok()) break;
      ASSIGN_OR_RETURN(const std::optional<StepCost> cost, choice_.TryEven(draft.value()));
      if (!cost) break;
      for (size_t t = 0; t < read_shares.size(); ++t) {
        read_shares[t] = (read_shares[t] + cost->tables[t].read_share) / 2;
      }
    }
    return OkStatus();
  }

  // Tables that shards pool, that are more than an even share and that only columns divide, which
  // takes more work of all shards: workers pull their rows instead. False: there are none.
  bool DivideByRows(const TableForms& forms, std::vector<TableForm>* all) const {
    double even = 0;
    for (const TableForm& form : *all) even += form.WholeMs() / shards_;
    bool is_any = false;
    for (const TableSpec& table : workload_.tables.physical) {
      TableForm& form = (*all)[Raw(table.id)];
      const bool may = options_.may_split && workload_.tables.pool_on[Raw(table.id)] != "shards";
      const bool is_of_rows = !form.pools_on_shards || (!form.cuts_columns && form.units > 1);
      if (!may || form.is_on_workers || is_of_rows || form.WholeMs() <= even) continue;
      form = forms.Rows(table.id);
      is_any = true;
    }
    return is_any;
  }

  std::vector<TableForm> FormsOfBest(const TableForms& forms) const {
    std::vector<TableForm> of_best;
    for (const TableSpec& table : workload_.tables.physical) {
      of_best.push_back(FormOfBest(forms, table));
    }
    return of_best;
  }

  TableForm FormOfBest(const TableForms& forms, const TableSpec& table) const {
    const rowhouse::Plan& plan = choice_.plan();
    if (plan.is_on_workers(table.id)) return forms.OnWorkers(table.id);
    return plan.pools_on_shards(table.id) ? forms.Bags(table.id)
                                          : forms.Rows(table.id, plan.worker_rows(table.id));
  }

  // What some shard has to do for a table that cannot be divided further, pooled as it is.
  double LeastMs(const TableSpec& table) const {
    const TableForm form = FormOfBest(forms_, table);
    if (form.is_on_workers) return 0.0;
    return options_.may_split ? form.LeastPieceMs() : form.shard_ms + form.piece_ms;
  }

  std::vector<TableDecision> Decisions() const {
    const rowhouse::Plan& plan = choice_.plan();
    const CacheShares caches =
        CacheSharesOf(workload_, plan, TrafficOfStep(workload_, plan), cluster_.shards_per_ps);
    std::vector<TableDecision> decisions;
    for (const TableSpec& table : workload_.tables.physical) {
      TableDecision& one = decisions.emplace_back();
      one = {.strategy = StrategyLike(table, plan),
             .pieces = static_cast<uint32_t>(plan.slices(table.id).size()),
             .pools_on_shards = plan.pools_on_shards(table.id),
             .hot_rows = static_cast<uint32_t>(plan.worker_rows(table.id).size()),
             .cache_bytes = caches.cached_bytes[Raw(table.id)],
             .cache_share = plan.cache_share(table.id)};
      one.workers_ms = forms_.OnWorkers(table.id).even_ms;
      if (forms_.MustBeOnWorkers(table.id)) continue;
      one.rows_ms = forms_.Rows(table.id).even_ms;
      if (forms_.MayPool(table.id)) one.bags_ms = forms_.Bags(table.id).even_ms;
    }
    return decisions;
  }

  PlannedRun Finish() const {
    double largest = 0, all = 0;
    for (const RankCost& node : choice_.cost().ps) {
      largest = std::max(largest, node.busy_ms);
      all += node.busy_ms;
    }
    const double mean = all / cluster_.ps;
    double bound = mean;
    for (const TableSpec& table : workload_.tables.physical) {
      bound = std::max(bound, LeastMs(table));
    }
    return {.plan = choice_.plan(),
            .cost = choice_.cost(),
            .tables = Decisions(),
            .method = choice_.name(),
            .plans_tried = choice_.tried(),
            .largest_load = largest,
            .mean_load = mean,
            .lower_bound_load = std::min(largest, bound)};
  }

  const Workload& workload_;
  const ClusterShape& cluster_;
  const PlannerOptions& options_;
  const uint32_t shards_;
  const NodeLimits limits_;
  const TableForms forms_;
  const FormChoice form_choice_;
  PlanChoice choice_;
};

}  // namespace

std::string StrategyLike(const TableSpec& table, const Plan& plan) {
  if (plan.is_on_workers(table.id)) return "replicated";
  const auto bands = plan.bands(table.id);
  const bool cuts_columns =
      std::ranges::any_of(bands, [](const Plan::Band& band) { return band.cuts.size() > 1; });
  if (bands.size() > 1 && cuts_columns) return "grid";
  if (cuts_columns) return "column_wise";
  if (!plan.worker_rows(table.id).empty()) return "skew_aware";
  if (bands.size() == 1) return "table_wise";
  return plan.order(table.id).is_scattered() ? "row_wise_hashed" : "row_wise";
}

Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options) {
  return Planner(workload, cluster, machine, options).Plan();
}

}  // namespace rowhouse
