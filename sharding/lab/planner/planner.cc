#include "sharding/lab/planner/planner.h"

#include <algorithm>

#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/planner/form_choice.h"
#include "sharding/lab/planner/plan_choice.h"
#include "sharding/lab/planner/plan_draft.h"
#include "sharding/lab/planner/table_forms.h"
#include "sharding/lab/traffic/cache_shares.h"

namespace rowhouse {
namespace {

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
