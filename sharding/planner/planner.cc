#include "sharding/planner/planner.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sharding/planner/plan_choice.h"
#include "sharding/planner/plan_draft.h"
#include "sharding/planner/table_decisions.h"
#include "sharding/planner/table_forms.h"

namespace rowhouse {
namespace {

constexpr uint64_t kFewPlans = 2'000;    // auto tries all of them
constexpr uint64_t kMostPlans = 50'000;  // exhaustive
constexpr double kAny = std::numeric_limits<double>::infinity();

class Planner {
 public:
  Planner(const Workload& workload, const ClusterShape& cluster, const Machine& machine,
          const PlannerOptions& options)
      : workload_(workload),
        cluster_(cluster),
        options_(options),
        shards_(cluster.ps * cluster.shards_per_ps),
        limits_(LimitsOf(workload, cluster, options)),
        forms_(workload, cluster, machine, options.hot_rows),
        choice_(workload, cluster, machine, options, limits_, forms_) {}

  Result<PlannedRun> Plan() {
    ASSIGN_OR_RETURN(const bool tries_all, TriesAll());
    const bool searches = options_.method != "greedy";
    Result<PlanDraft> draft = Draft(BestForms(), searches, options_.may_split);
    // Rows that nobody cuts by columns take the least room.
    if (!draft.ok()) draft = Draft(RowForms(), searches, options_.may_split);
    RETURN_IF_ERROR(draft.status());
    RETURN_IF_ERROR(choice_.Try(draft.value().parts, searches ? "local search" : "greedy"));
    if (tries_all) RETURN_IF_ERROR(choice_.TryAll());
    if (searches) {
      RETURN_IF_ERROR(TryOtherDrafts());
      RETURN_IF_ERROR(choice_.TryStrategies());
      RETURN_IF_ERROR(choice_.Refine());
    }
    if (!choice_.has_plan()) return UsageError("{}", choice_.refusal());
    if (searches) {
      draft = Draft(FormsOfBest(), searches, options_.may_split);
      if (draft.ok()) RETURN_IF_ERROR(choice_.TryEven(draft.value().parts));
    }
    return Finish();
  }

 private:
  static NodeLimits LimitsOf(const Workload& workload, const ClusterShape& cluster,
                             const PlannerOptions& options) {
    const bool is_memory = workload.storage.store == "memory";
    NodeLimits limits{.row_bytes = is_memory ? cluster.ps_memory_bytes : cluster.ps_disk_bytes,
                      .name = is_memory ? "--ps_memory_mb" : "--ps_disk_mb"};
    if (options.ps_row_bytes > 0 &&
        (limits.row_bytes == 0 || options.ps_row_bytes < limits.row_bytes)) {
      limits = {.row_bytes = options.ps_row_bytes, .name = "--ps_rows_mb"};
    }
    return limits;
  }

  Result<bool> TriesAll() const {
    constexpr std::array kMethods = {"auto", "greedy", "local_search", "exhaustive"};
    if (std::ranges::count(kMethods, options_.method) == 0) {
      return UsageError("method={}: expected auto, greedy, local_search or exhaustive",
                        options_.method);
    }
    if (options_.method == "auto") return choice_.Combinations(kFewPlans) <= kFewPlans;
    if (options_.method != "exhaustive") return false;
    if (choice_.Combinations(kMostPlans) <= kMostPlans) return true;
    return UsageError(
        "method=exhaustive: {} tables on {} shards have more than {} plans; use local_search",
        workload_.tables.physical.size(), shards_, kMostPlans);
  }

  // The form that costs least if shards share its work evenly; of those of which no piece need take
  // a shard more than `most_ms`, if there are any.
  TableForm BestForm(const TableSpec& table, bool with_hot_rows, double most_ms) const {
    if (forms_.MustBeOnWorkers(table.id)) return forms_.OnWorkers(table.id);
    const std::string& pool_on = workload_.tables.pool_on[Raw(table.id)];
    const bool may_pool = options_.may_pool_on_shards && forms_.WhyNotBags(table.id).empty();
    if (may_pool && pool_on == "shards") return forms_.Bags(table.id);
    std::vector<TableForm> forms = {forms_.Rows(table.id)};
    if (with_hot_rows && !forms_.HotRows(table.id).empty()) {
      forms.push_back(forms_.Rows(table.id, forms_.HotRows(table.id)));
    }
    if (may_pool) forms.push_back(forms_.Bags(table.id));
    if (options_.may_replicate) forms.push_back(forms_.OnWorkers(table.id));
    return *std::ranges::min_element(forms, {}, [&](const TableForm& form) {
      return std::pair(std::max(form.LeastPieceMs(), most_ms), form.even_ms);
    });
  }

  std::vector<TableForm> BestForms(bool with_hot_rows = true, double most_ms = kAny) const {
    std::vector<TableForm> forms;
    for (const TableSpec& table : workload_.tables.physical) {
      forms.push_back(BestForm(table, with_hot_rows, most_ms));
    }
    return forms;
  }

  // Workers pull the rows of all tables that may be on shards.
  std::vector<TableForm> RowForms() const {
    std::vector<TableForm> forms = BestForms(/*with_hot_rows=*/false);
    for (const TableSpec& table : workload_.tables.physical) {
      const bool must_be_elsewhere =
          forms_.MustBeOnWorkers(table.id) || workload_.tables.pool_on[Raw(table.id)] == "shards";
      if (!must_be_elsewhere) forms[Raw(table.id)] = forms_.Rows(table.id);
    }
    return forms;
  }

  Result<PlanDraft> Draft(std::vector<TableForm> forms, bool searches, bool may_cut) const {
    DraftOptions options{.searches = searches, .search = {.max_moves = options_.max_moves}};
    options.search.may_cut = may_cut;
    return DraftPlan(workload_, cluster_, limits_, forms, options);
  }

  Status TryOtherDrafts() {
    std::vector<std::vector<TableForm>> all = {RowForms(), BestForms(/*with_hot_rows=*/false),
                                               BestForms()};
    double even = 0;
    for (const TableForm& form : all.back()) even += form.shard_ms / shards_;
    // A table that cannot be divided may make one shard the slowest; how slow it may be is tried.
    for (const double times : {1.0, 2.0, 4.0}) {
      if (shards_ > 1) all.push_back(BestForms(/*with_hot_rows=*/true, times * even));
    }
    for (const bool may_cut : {true, false}) {
      if (may_cut && !options_.may_split) continue;
      for (const std::vector<TableForm>& forms : all) {
        if (choice_.is_tired()) return OkStatus();
        const Result<PlanDraft> draft = Draft(forms, /*searches=*/true, may_cut);
        if (draft.ok()) RETURN_IF_ERROR(choice_.Try(draft.value().parts, "local search"));
      }
    }
    return OkStatus();
  }

  std::vector<TableForm> FormsOfBest() const {
    std::vector<TableForm> forms;
    for (const TableSpec& table : workload_.tables.physical) forms.push_back(FormOfBest(table));
    return forms;
  }

  TableForm FormOfBest(const TableSpec& table) const {
    const rowhouse::Plan& plan = choice_.plan();
    if (plan.is_on_workers(table.id)) return forms_.OnWorkers(table.id);
    return plan.pools_on_shards(table.id) ? forms_.Bags(table.id)
                                          : forms_.Rows(table.id, plan.worker_rows(table.id));
  }

  // What some shard has to do for a table that cannot be divided further, pooled as it is.
  double LeastMs(const TableSpec& table) const {
    const TableForm form = FormOfBest(table);
    if (form.is_on_workers) return 0.0;
    return options_.may_split ? form.LeastPieceMs() : form.shard_ms + form.piece_ms;
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
            .tables = DecisionsOf(workload_, cluster_, forms_, limits_, choice_.plan()),
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
  PlanChoice choice_;
};

}  // namespace

Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options) {
  return Planner(workload, cluster, machine, options).Plan();
}

}  // namespace rowhouse
