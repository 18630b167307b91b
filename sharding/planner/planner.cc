#include "sharding/planner/planner.h"

#include <algorithm>
#include <array>

#include "common/counted.h"
#include "sharding/planner/form_choice.h"
#include "sharding/planner/next_best.h"
#include "sharding/planner/plan_choice.h"
#include "sharding/planner/plan_draft.h"
#include "sharding/planner/table_decisions.h"
#include "sharding/planner/table_forms.h"

namespace rowhouse {
namespace {

constexpr uint64_t kFewPlans = 2'000;    // auto tries all of them
constexpr uint64_t kMostPlans = 50'000;  // exhaustive

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
    ASSIGN_OR_RETURN(const bool tries_all, TriesAll());
    const bool searches = options_.method != "greedy";
    Result<PlanDraft> draft = FirstDraft(searches);
    if (draft.ok()) {
      RETURN_IF_ERROR(choice_.Try(draft.value().parts, searches ? "local search" : "greedy"));
    }
    if (!choice_.has_plan()) RETURN_IF_ERROR(TryRoomier(searches, &draft));
    if (tries_all) RETURN_IF_ERROR(choice_.TryAll());
    if (searches) {
      RETURN_IF_ERROR(TryOtherDrafts());
      RETURN_IF_ERROR(choice_.TryStrategies());
      RETURN_IF_ERROR(choice_.Refine());
    }
    if (!choice_.has_plan()) {
      return draft.ok() ? UsageError("{}", choice_.refusal()) : WhyNone(draft.status());
    }
    if (searches) RETURN_IF_ERROR(MakeEven());
    RETURN_IF_ERROR(choice_.ShareCaches());
    return Finish();
  }

 private:
  static NodeLimits LimitsOf(const Workload& workload, const ClusterShape& cluster,
                             const Machine& machine, const PlannerOptions& options) {
    const bool is_memory = workload.storage.store == "memory";
    NodeLimits limits{.row_bytes = is_memory ? cluster.ps_memory_bytes : cluster.ps_disk_bytes,
                      .name = is_memory ? "--ps_memory_mb" : "--ps_disk_mb",
                      .worker_bytes = WorkerMemoryLimit(cluster, machine)};
    if (options.ps_row_bytes > 0 &&
        (limits.row_bytes == 0 || options.ps_row_bytes < limits.row_bytes)) {
      limits.row_bytes = options.ps_row_bytes;
      limits.name = "--ps_rows_mb";
    }
    limits.name += fmt::format("={}", limits.row_bytes >> 20);
    return limits;
  }

  // The forms that cost least, or else those that take least room on shards.
  Result<PlanDraft> FirstDraft(bool searches) const {
    Result<PlanDraft> draft = Draft(form_choice_.Best(), searches, options_.may_split);
    // Rows that nobody cuts by columns take the least room.
    if (!draft.ok()) draft = Draft(form_choice_.Rows(), searches, options_.may_split);
    return draft;
  }

  // Tables go to the workers until the rest has room; `draft`: the last one.
  Status TryRoomier(bool searches, Result<PlanDraft>* draft) {
    const double room = static_cast<double>(limits_.row_bytes) * cluster_.ps;
    for (const std::vector<TableForm>& forms : form_choice_.Roomier(room)) {
      *draft = Draft(forms, searches, options_.may_split);
      if (draft->ok()) RETURN_IF_ERROR(choice_.Try(draft->value().parts, "tables on the workers"));
      if (choice_.has_plan()) break;
    }
    return OkStatus();
  }

  Status WhyNone(const Status& refusal) const {
    if (!form_choice_.WorkersAreFull()) return refusal;
    return UsageError("{}; workers have no room for more tables: {}", refusal.message(),
                      WorkerLimitText(cluster_, limits_.worker_bytes));
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
        "{} tables on {} shards have more than {} plans, too many to try each; say "
        "--plan=auto:local_search",
        workload_.tables.physical.size(), shards_, kMostPlans);
  }

  Result<PlanDraft> Draft(std::vector<TableForm> forms, bool searches, bool may_cut) const {
    DraftOptions options{.searches = searches, .search = {.max_moves = options_.max_moves}};
    options.search.may_cut = may_cut;
    return DraftPlan(workload_, cluster_, limits_, forms, options);
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
        const Result<PlanDraft> draft = Draft(forms, /*searches=*/true, may_cut);
        if (draft.ok()) RETURN_IF_ERROR(choice_.Try(draft.value().parts, "local search"));
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
    const bool reads = workload_.storage.store != "memory";
    std::vector<double> read_shares;
    for (const TableCost& table : choice_.cost().tables) read_shares.push_back(table.read_share);
    for (int round = 0; round < (reads ? kRounds : 1); ++round) {
      TableForms forms = forms_;
      for (const TableSpec& table : workload_.tables.physical) {
        if (reads) forms.SetReadShare(table.id, read_shares[Raw(table.id)]);
      }
      std::vector<TableForm> of_best = FormsOfBest(forms);
      if (by_rows && !DivideByRows(forms, &of_best)) break;
      const Result<PlanDraft> draft = Draft(of_best, /*searches=*/true, options_.may_split);
      if (!draft.ok()) break;
      ASSIGN_OR_RETURN(const std::optional<StepCost> cost, choice_.TryEven(draft.value().parts));
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

  // Why a table is where it is, if its own figures do not say.
  std::string OtherReason(const TableSpec& table) const {
    // A prediction takes time that grows with tables and shards.
    constexpr size_t kFewTables = 32, kFewPieces = 512;
    const size_t tables = workload_.tables.physical.size();
    if (tables <= kFewTables && tables * shards_ <= kFewPieces) {
      const std::optional<NextBest> next = NextBestOf(choice_, table);
      if (next) return NextBestText(*next, choice_.MsToCompare());
    }
    return fmt::format("so in the fastest of {} that were tried, found by {}",
                       Counted(choice_.tried(), "plan"), choice_.name());
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
            .tables = DecisionsOf(workload_, cluster_, forms_, limits_, choice_.plan(),
                                  [this](const TableSpec& table) { return OtherReason(table); }),
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

Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options) {
  return Planner(workload, cluster, machine, options).Plan();
}

}  // namespace rowhouse
