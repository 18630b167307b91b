#include "sharding/lab/planner/table_forms.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sharding/lab/cost/bag_times.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"

namespace rowhouse {
namespace {

constexpr double kMsOfNs = 1e-6;
constexpr double kValue = sizeof(float), kRowId = sizeof(uint64_t), kCount = sizeof(uint32_t);

// Of the share of a bag's rows that a row may have if row ranges are to be alike.
constexpr double kMaxShareOfRow = 0.01;

// What a number of a row takes on the wire, and about what it costs there.
double ShareOfF32(Precision precision) {
  return static_cast<double>(BytesOfWeight(precision)) / sizeof(float);
}

}  // namespace

TableForms::TableForms(const Workload& workload, const ClusterShape& cluster,
                       const Machine& machine, uint32_t hot_rows)
    : workload_(workload), cluster_(cluster), machine_(machine) {
  CountUses();
  CheckBags();
  hot_rows_.resize(uses_.size());
  if (workload.accesses != nullptr && hot_rows > 0) FindHotRows(hot_rows);
}

void TableForms::CountUses() {
  const EmbeddingTables& tables = workload_.tables;
  const double samples = static_cast<double>(workload_.step.samples) / workload_.step.workers;
  const double shards = cluster_.ps * cluster_.shards_per_ps;
  double cached_tables = 0;
  for (const bool is_on_workers : tables.on_workers) cached_tables += is_on_workers ? 0.0 : 1.0;
  double rows = 0;
  for (const TableSpec& table : tables.physical) {
    TableUse use{.lookups = samples * workload_.lookups[Raw(table.id)]};
    use.distinct = workload_.of_table[Raw(table.id)].DistinctRows(use.lookups);
    for (const FeatureTable& feature : tables.features) {
      use.features += static_cast<double>(std::ranges::count(feature.parts, table.id));
    }
    use.bags = samples * use.features;
    use.bag_length = use.bags > 0 ? use.lookups / use.bags : 0;
    use.updated = workload_.of_table[Raw(table.id)].DistinctRows(use.lookups * cluster_.workers);
    use.is_trained = !tables.is_frozen[Raw(table.id)];
    use.record_bytes = RecordBytes(table);
    if (workload_.storage.has_files && !tables.on_workers[Raw(table.id)]) {
      const double slots = static_cast<double>(workload_.storage.cache_bytes) * cluster_.ps /
                           std::max(1.0, cached_tables) / static_cast<double>(use.record_bytes);
      const double hits = workload_.of_table[Raw(table.id)].HitRate(
          slots, use.lookups * cluster_.workers, workload_.storage.keeps);
      use.missed = use.updated * (1 - std::clamp(hits, 0.0, 1.0));
    }
    rows += use.distinct;
    uses_.push_back(use);
  }
  rows_of_message_ = std::max(64.0, rows / shards);
}

void TableForms::CheckBags() {
  const EmbeddingTables& tables = workload_.tables;
  std::vector<Slice> whole;
  for (const TableSpec& table : tables.physical) whole.push_back(WholeTable(table, ShardId{0}));
  const Plan plan = Plan::Make(tables.physical, 1, std::move(whole)).value();
  may_pool_.assign(tables.physical.size(), true);
  splits_bags_.assign(tables.physical.size(), true);
  std::vector<int> lookups(tables.physical.size());
  for (const FeatureTable& feature : tables.features) {
    for (const TableId part : feature.parts) {
      if (!WhyNotPooledOnShards(tables, feature, part, plan).empty()) may_pool_[Raw(part)] = false;
      if (feature.table.pooling != "max" && feature.table.pooling_sum != "exact") {
        splits_bags_[Raw(part)] = false;
      }
      // Workers merge such gradients piece by piece of their samples, shards list by list.
      if (++lookups[Raw(part)] > 1 && workload_.dense.accumulation > 1) {
        may_pool_[Raw(part)] = false;
      }
    }
    if (feature.weights) may_pool_[Raw(*feature.weights)] = false;
  }
  can_split_bags_ = splits_bags_;
  for (size_t t = 0; t < tables.physical.size(); ++t) {
    if (tables.pool_on[t] == "workers") may_pool_[t] = false;
    const auto groups = workload_.of_table[t].groups();
    if (!groups.empty() && groups.front().probability > kMaxShareOfRow) splits_bags_[t] = false;
  }
}

// ---- Costs --------------------------------------------------------------------------------------

double TableForms::Ms(const std::string& kernel, std::initializer_list<double> sizes) const {
  return machine_.HasKernel(kernel) ? machine_.Ns(kernel, sizes) * kMsOfNs : 0.0;
}

double TableForms::SlopeMs(const std::string& kernel, double size, double second) const {
  return (Ms(kernel, {2 * size, second}) - Ms(kernel, {size, second})) / size;
}

double TableForms::LinkMs(double bytes) const {
  if (cluster_.network_gbits <= 0 || cluster_.hosts <= 1) return 0.0;
  return bytes * 8 / (cluster_.network_gbits * 1e9) * 1e3;
}

double TableForms::RowPullMs(const TableSpec& table, const std::string& side) const {
  return SlopeMs("pull_" + side, rows_of_message_,
                 table.dim * ShareOfF32(workload_.step.row_precision.pull));
}

double TableForms::RowPushMs(const TableSpec& table, const std::string& side) const {
  if (!use(table.id).is_trained) return 0.0;
  return SlopeMs("push_" + side, rows_of_message_,
                 table.dim * ShareOfF32(workload_.step.row_precision.push));
}

// A row is updated once a step, however many workers push it.
double TableForms::UpdateMs(const TableSpec& table, double updated) const {
  if (!use(table.id).is_trained || updated <= 0) return 0.0;
  const std::string kernel = KernelTimes(machine_).Of("update_", table.optimizer);
  return updated * SlopeMs(kernel, rows_of_message_, table.dim);
}

TableForm TableForms::WithEvenMs(TableForm form) const {
  const double shards = cluster_.ps * cluster_.shards_per_ps;
  const double cores = cluster_.cores_per_host > 0 ? cluster_.cores_per_host : machine_.cores;
  const double hosts = std::max(1u, cluster_.hosts);
  const double of_shards = form.shard_ms + form.piece_ms;
  const double of_host = (cluster_.workers * form.worker_ms + of_shards) / (hosts * cores);
  const double of_links = form.link_ms * std::max(1.0, 1.0 * cluster_.workers / cluster_.ps);
  form.even_ms = std::max({form.worker_ms + of_shards / shards, of_host, of_links});
  return form;
}

// Without what a message costs whatever it holds, as one message has the bags of many tables.
double TableForms::BagsMs(TableId table, bool of_shards, double length, double dim) const {
  const TableUse& used = use(table);
  KernelTimes times(machine_);
  BagTimes bag_times(&times);
  const auto ms = [&](double count) {  // messages' own cost counts once
    ShardTraffic traffic{.bag_entries = count * used.features, .bags = count * used.bags};
    traffic.bag_lookups = traffic.bags * length;
    traffic.bag_lookup_floats = traffic.bag_lookups * dim;
    traffic.bag_rows = count * used.distinct * length / used.bag_length;
    const auto of_side = [&](const Exchange& part) { return of_shards ? part.shard : part.worker; };
    double sum = of_side(bag_times.Pull(traffic));
    if (used.is_trained) sum += of_side(bag_times.Push(traffic));
    if (used.is_trained && of_shards) sum += bag_times.ApplyMs(traffic, Spec(table).optimizer);
    return sum;
  };
  return used.bags * length > 0 ? ms(2) - ms(1) : 0.0;
}

double TableForms::LocalPoolingMs(TableId table) const {
  const TableUse& used = use(table);
  const double dim = Spec(table).dim;
  double ms = Ms("merge", {used.lookups, static_cast<double>(Spec(table).rows)}) +
              Ms("lookup_forward", {used.bags, used.bag_length, dim});
  if (used.is_trained) ms += Ms("lookup_backward", {used.bags, used.bag_length, dim});
  return ms;
}

double TableForms::StoreMs(TableId table, double record_bytes) const {
  const TableUse& used = use(table);
  if (used.missed <= 0) return 0.0;
  const double rows = std::max(16.0, used.missed);
  return used.missed *
         (SlopeMs("multiget", rows, record_bytes) + SlopeMs("put", rows, record_bytes));
}

void TableForms::SetReadShare(TableId table, double share) {
  TableUse& used = uses_[Raw(table)];
  used.missed = used.distinct * cluster_.workers * share;
}

bool TableForms::MayCutColumns(TableId table) const {
  const TableSpec& spec = Spec(table);
  if (spec.dim <= kColumnsPerCut || spec.max_norm > 0.0) return false;
  const auto optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options);
  return optimizer.ok() && StateShapeOf(*optimizer.value()).row_floats == 0;
}

TableForm TableForms::Rows(TableId table, std::vector<RowId> hot_rows) const {
  const TableSpec& spec = Spec(table);
  const TableUse& used = use(table);
  const double workers = cluster_.workers;
  double distinct = used.distinct, updated = used.updated, on_workers = 0;
  if (!hot_rows.empty()) {
    double share = 0;
    const IdDistribution cold =
        workload_.of_table[Raw(table)].Without(static_cast<double>(hot_rows.size()), &share);
    distinct = cold.DistinctRows(used.lookups * (1 - share));
    updated = cold.DistinctRows(used.lookups * workers * (1 - share));
    on_workers = static_cast<double>(hot_rows.size()) * (spec.dim + 1.0);
  }
  TableForm form{.units = spec.rows, .hot_rows = std::move(hot_rows)};
  form.worker_ms = distinct * (RowPullMs(spec, "worker") + RowPushMs(spec, "worker")) +
                   Ms("row_gradients", {distinct, static_cast<double>(spec.dim)}) +
                   LocalPoolingMs(table);
  if (on_workers > 0) {
    form.worker_ms += Ms("allreduce", {workers, on_workers}) - Ms("allreduce", {workers, 1.0});
  }
  form.shard_ms = workers * distinct * (RowPullMs(spec, "shard") + RowPushMs(spec, "shard")) +
                  UpdateMs(spec, updated) + StoreMs(table, static_cast<double>(used.record_bytes));
  const double share = ShareOfF32(workload_.step.row_precision.pull);
  form.link_ms = LinkMs(distinct * (kRowId + kCount + kValue * spec.dim * share));
  // Of a table that a message has: a few rows' worth of work, about.
  form.piece_ms = 4 * workers * RowPullMs(spec, "shard");
  return WithEvenMs(std::move(form));
}

TableForm TableForms::Bags(TableId table) const {
  const TableSpec& spec = Spec(table);
  const TableUse& used = use(table);
  const double workers = cluster_.workers;
  TableForm form{.pools_on_shards = true};
  if (splits_bags_[Raw(table)]) {
    form.units = spec.rows;
  } else if (MayCutColumns(table)) {
    form.cuts_columns = true;
    form.units = (spec.dim + kColumnsPerCut - 1) / kColumnsPerCut;
  }
  // Every piece sums every bag: ranges of columns all ids, ranges of rows their own.
  const double all = BagsMs(table, /*of_shards=*/true, used.bag_length, spec.dim);
  // What a piece takes without lookups, as a line through bags of one and of two lengths has it.
  const auto without_lookups = [&] {
    return 2 * all - BagsMs(table, /*of_shards=*/true, 2 * used.bag_length, spec.dim);
  };
  const double of_piece = form.cuts_columns
                              ? BagsMs(table, /*of_shards=*/true, used.bag_length, 1.0)
                              : std::max(0.0, without_lookups());
  form.worker_ms = BagsMs(table, /*of_shards=*/false, used.bag_length, spec.dim);
  form.piece_ms = workers * std::min(all, of_piece);
  form.shard_ms = workers * all - form.piece_ms;
  // A row is read from the store once for each range of columns, however narrow.
  const double read_ms = StoreMs(table, static_cast<double>(used.record_bytes));
  const double of_row = form.cuts_columns ? std::min(read_ms, StoreMs(table, sizeof(float))) : 0;
  form.piece_ms += of_row;
  form.shard_ms += read_ms - of_row;
  form.link_ms = LinkMs(used.lookups * kCount + used.bags * (kCount + kValue * spec.dim));
  return WithEvenMs(std::move(form));
}

TableForm TableForms::OnWorkers(TableId table) const {
  const TableSpec& spec = Spec(table);
  const double workers = cluster_.workers;
  const double floats = static_cast<double>(spec.rows) * (spec.dim + 1.0);
  TableForm form{.is_on_workers = true};
  form.worker_ms = LocalPoolingMs(table);
  if (use(table).is_trained) {
    form.worker_ms += Ms("allreduce", {workers, floats}) - Ms("allreduce", {workers, 1.0}) +
                      Ms("row_gradients", {static_cast<double>(spec.rows), spec.dim + 1.0});
  }
  return WithEvenMs(std::move(form));
}

// ---- Hot rows -----------------------------------------------------------------------------------

void TableForms::FindHotRows(uint32_t most) {
  struct Hot {
    double gain_ms;
    size_t table;
    RowId row;
  };
  std::vector<Hot> all;
  const double workers = cluster_.workers, shards = cluster_.ps * cluster_.shards_per_ps;
  for (const TableSpec& table : workload_.tables.physical) {
    const TableAccesses* counted = workload_.accesses->Find(table.name);
    if (counted == nullptr || counted->rows != table.rows || counted->total() == 0) continue;
    if (MustBeOnWorkers(table.id)) continue;
    const double total = static_cast<double>(counted->total());
    const double of_row =
        RowPullMs(table, "worker") + RowPushMs(table, "worker") +
        workers / shards * (RowPullMs(table, "shard") + RowPushMs(table, "shard"));
    const double floats = 1024.0 * (table.dim + 1.0);
    const double on_workers =
        (Ms("allreduce", {workers, 2 * floats}) - Ms("allreduce", {workers, floats})) / 1024.0 +
        Ms("row_gradients", {1024.0, table.dim + 1.0}) / 1024.0;
    for (const TableAccesses::Row& row : counted->hottest) {
      const double p = static_cast<double>(row.count) / total;
      const double looked_up = p >= 1 ? 1 : -std::expm1(use(table.id).lookups * std::log1p(-p));
      const double gain = looked_up * of_row - on_workers;
      if (gain > 0) all.push_back({gain, Raw(table.id), RowId{row.row}});
    }
  }
  std::ranges::sort(all, [](const Hot& a, const Hot& b) {
    return std::tuple(-a.gain_ms, a.table, Raw(a.row)) <
           std::tuple(-b.gain_ms, b.table, Raw(b.row));
  });
  if (all.size() > most) all.resize(most);
  for (const Hot& hot : all) hot_rows_[hot.table].push_back(hot.row);
  for (std::vector<RowId>& rows : hot_rows_) std::ranges::sort(rows);
}

}  // namespace rowhouse
