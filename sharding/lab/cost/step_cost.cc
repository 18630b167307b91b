#include "sharding/lab/cost/step_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sharding/lab/cost/exchange_time.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
namespace {

// ---- What a worker computes ---------------------------------------------------------------------

struct WorkerTime {
  StepPhases phases;                               // all but pull, push and allreduce
  double bottom_forward = 0, bottom_backward = 0;  // of phases.mlp
  std::vector<double> table_ms;  // of each physical table: merge, pool, pool_backward
  double allreduce_floats = 0;   // dense gradients, rows on the workers, and two flags
  double rows_update = 0;        // of rows on the workers; in phases.dense_update
};

// As if the worker had its cores for itself.
class WorkerPhases {
 public:
  WorkerPhases(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
               uint32_t threads, KernelTimes* times)
      : workload_(workload),
        plan_(plan),
        traffic_(traffic),
        times_(*times),
        factors_(InStep::Of(times->machine())) {
    speedup_ = threads <= 1 ? 1.0 : 1.0 + (threads - 1) * factors_.thread_efficiency;
    result_.table_ms.resize(workload.tables.physical.size());
  }

  WorkerTime Of() && {
    CountFloats();
    Data();
    for (const TableSpec& table : workload_.tables.physical) {
      Merge(table);
      RowsOfWorker(table);
    }
    for (size_t f = 0; f < workload_.tables.features.size(); ++f) Pool(f);
    Dense();
    return std::move(result_);
  }

 private:
  double samples() const {
    return static_cast<double>(workload_.step.samples) / workload_.step.workers;
  }
  double pieces() const { return std::max(1u, workload_.dense.accumulation); }

  void CountFloats() {
    double floats = static_cast<double>(workload_.dense.parameters) + 2;
    for (const TableSpec& table : workload_.tables.physical) {
      floats += RowsOnWorker(table, plan_) * (table.dim + 1.0);
    }
    result_.allreduce_floats = floats;
  }

  void Data() {
    if (workload_.data_source.empty()) return;
    double ids = 0;
    const size_t columns = workload_.tables.columns();
    for (size_t k = 0; k < columns; ++k) ids += workload_.step.bag_lengths[k];
    const std::string kernel = times_.Of("data_", workload_.data_source);
    result_.phases.data = factors_.phases.data * times_.Ms(kernel, {samples(), std::max(1.0, ids)});
  }

  void Merge(const TableSpec& table) {
    if (plan_.pools_on_shards(table.id)) return;
    const TableRowsOfStep& rows = traffic_.tables[Raw(table.id)];
    const auto all = static_cast<double>(table.rows);
    double ms = factors_.phases.merge * times_.Ms("merge", {rows.lookups, all});
    double merged = rows.distinct_rows;
    if (plan_.is_on_workers(table.id)) {
      merged = workload_.of_table[Raw(table.id)].DistinctRows(rows.lookups);
    }
    result_.phases.merge += ms;
    // Gradients are set to zero before, and looked through for NaN afterwards.
    const double zeroed = factors_.phases.row_gradients *
                          times_.Ms("row_gradients", {merged, static_cast<double>(table.dim)});
    result_.phases.row_gradients += zeroed;
    result_.table_ms[Raw(table.id)] += ms + zeroed;
  }

  // Rows that the worker keeps are copied from their records and their gradients into what is
  // summed, which are lookups of one row a bag; each row that a worker touched is updated.
  void RowsOfWorker(const TableSpec& table) {
    const double kept = RowsOnWorker(table, plan_);
    if (kept == 0) return;
    const double lookups = traffic_.tables[Raw(table.id)].lookups;
    const auto touched = [&](double of_lookups) {
      return std::min(kept, workload_.of_table[Raw(table.id)].DistinctRows(of_lookups));
    };
    const auto dim = static_cast<double>(table.dim);
    const double copied = times_.Ms("lookup_forward", {touched(lookups), 1, dim});
    result_.phases.merge += factors_.phases.merge * copied;
    result_.table_ms[Raw(table.id)] += factors_.phases.merge * copied;
    if (workload_.tables.is_frozen[Raw(table.id)]) return;
    result_.rows_update += copied + times_.Ms(times_.Of("update_", table.optimizer),
                                              {touched(lookups * workload_.step.workers), dim});
  }

  void Pool(size_t f) {
    const FeatureTable& feature = workload_.tables.features[f];
    const double of_piece = samples() / pieces();
    for (const TableId part : feature.parts) {
      const TableSpec& table = workload_.tables.physical[Raw(part)];
      if (plan_.pools_on_shards(part)) continue;
      const auto dim = static_cast<double>(table.dim);
      const double length = workload_.step.bag_lengths[f];
      const double forward =
          factors_.phases.pool * pieces() * times_.Ms("lookup_forward", {of_piece, length, dim});
      const double backward = factors_.phases.pool_backward * pieces() *
                              times_.Ms("lookup_backward", {of_piece, length, dim});
      result_.phases.pool += forward;
      result_.phases.pool_backward += backward;
      result_.table_ms[Raw(part)] += forward + backward;
    }
    for (const IdGroup& group : feature.groups) {
      if (!group.projects) continue;
      const double width = group.width, out = feature.out_width();
      result_.phases.pool += Layer("fully_connected_", "forward", width, out);
      result_.phases.pool_backward += Layer("fully_connected_", "backward", width, out);
    }
  }

  double Layer(const std::string& kernel, const char* direction, double in, double out) {
    return pieces() * times_.Ms(kernel + direction, {samples() / pieces(), in, out}) *
           factors_.phases.mlp / speedup_;
  }

  void Dense() {
    const DenseShape& dense = workload_.dense;
    const std::string kernel = dense.is_bf16 ? "fully_connected_bf16_" : "fully_connected_";
    for (const std::vector<uint32_t>* widths : {&dense.bottom, &dense.top}) {
      for (size_t i = 1; i < widths->size(); ++i) {
        const double forward = Layer(kernel, "forward", (*widths)[i - 1], (*widths)[i]),
                     backward = Layer(kernel, "backward", (*widths)[i - 1], (*widths)[i]);
        result_.phases.mlp += forward + backward;
        if (widths != &dense.bottom) continue;
        // Of the first and the last of several pieces.
        result_.bottom_forward += forward / pieces();
        result_.bottom_backward += backward / pieces();
      }
    }
    result_.phases.mlp += samples() * factors_.loss_ns_per_sample * 1e-6;
    const double of_piece = samples() / pieces();
    const std::string interaction = times_.Of("interaction_", dense.interaction);
    result_.phases.interaction =
        factors_.phases.interaction * dense.interaction_work * pieces() *
        times_.Ms(interaction,
                  {of_piece, static_cast<double>(dense.vectors), static_cast<double>(dense.width)});
    const std::string update = times_.Of("dense_update_", dense.optimizer);
    result_.phases.dense_update =
        factors_.phases.dense_update *
        (times_.Ms(update, {result_.allreduce_floats}) + result_.rows_update);
  }

  const Workload& workload_;
  const Plan& plan_;
  const StepTraffic& traffic_;
  KernelTimes& times_;
  const InStep factors_;
  double speedup_ = 1;
  WorkerTime result_;
};

// ---- The step -----------------------------------------------------------------------------------

class Prediction {
 public:
  Prediction(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
             const Machine& machine)
      : workload_(workload),
        plan_(plan),
        cluster_(cluster),
        times_(machine),
        cores_(cluster.cores_per_host > 0 ? cluster.cores_per_host : machine.cores),
        traffic_(TrafficOfStep(workload, plan)),
        caches_(CacheSharesOf(workload, plan, traffic_, std::max(1u, cluster.shards_per_ps))),
        worker_(WorkerPhases(workload, plan, traffic_, cluster.threads, &times_).Of()) {
    AddPrefetches(ShareOfStepsThatRead(), &traffic_);
  }

  Result<StepCost> Of() && {
    SlowDownWorkers();
    cost_.phases = worker_.phases;
    cost_.phases.allreduce = AllreduceMs(worker_.allreduce_floats, cluster_, &times_);
    const StepPhases& phases = cost_.phases;
    const TimeBeside beside{.push_to_pull = worker_.bottom_backward + phases.allreduce +
                                            phases.dense_update + phases.data + phases.merge,
                            .exchange = phases.total()};
    exchange_ = ExchangeTimeOf(workload_, plan_, cluster_, traffic_, caches_, beside, &times_);
    ComputeBesideMessages();
    cost_.phases.pull = exchange_.pull;
    cost_.phases.push = exchange_.push;
    cost_.parked_ms = exchange_.update;
    cost_.crowded_ms = exchange_.crowded;
    RETURN_IF_ERROR(times_.status());
    WaitForWorkers();
    cost_.ms = cost_.phases.total();
    CountTables();
    CountNodes();
    CountWorkers();
    cost_.bound = WhatBinds();
    return std::move(cost_);
  }

 private:
  double workers() const { return workload_.step.workers; }
  double hosts() const { return std::max(1u, cluster_.hosts); }

  // Workers look ahead from the first step that waited for a read on.
  double ShareOfStepsThatRead() const {
    if (workload_.storage.prefetch_steps == 0 || !workload_.storage.has_files) return 0;
    const auto steps = static_cast<double>(workload_.steps);
    double share = 0;
    for (size_t t = 0; t < caches_.tables.size(); ++t) {
      const RowShares& shares = caches_.tables[t];
      if (shares.stored * traffic_.tables[t].distinct_rows * workers() < 0.5) continue;
      // A run that goes on reads in its first step: rows are stored, and the cache is empty.
      const double before =
          workload_.storage.has_rows ? std::min(1.0, shares.steps_to_fill) : shares.steps_to_fill;
      share = std::max(share, steps > 0 ? 1 - before / steps : 1.0);
    }
    return share;
  }

  // More threads than cores take turns.
  void SlowDownWorkers() {
    const double of_host = std::ceil(workers() / hosts());
    const double threads = of_host * std::max(1u, cluster_.threads);
    const double shards = std::ceil(static_cast<double>(plan_.shards()) / hosts());
    cost_.busy_threads = std::max(threads, shards);
    cost_.is_oversubscribed = cost_.busy_threads > cores_;
    const double slower = std::max(1.0, threads / cores_);
    for (const NamedStepPhase& phase : kNamedStepPhases) {
      const bool is_waiting =
          phase.group == PhaseGroup::kExchange || phase.group == PhaseGroup::kAllreduce;
      if (!is_waiting) worker_.phases.*phase.value *= slower;
    }
    for (double& ms : worker_.table_ms) ms *= slower;
  }

  // The bottom MLP is computed while messages are on their way, if a core is left over for them:
  // what a worker waits for is less by that, but not what it does for them itself.
  void ComputeBesideMessages() {
    const double of_host = std::ceil(workers() / hosts());
    const double shards = std::ceil(static_cast<double>(plan_.shards()) / hosts());
    if (of_host * std::max(1u, cluster_.threads) + shards > cores_) return;
    const auto beside = [](double ms, double own, double* wall) {
      const double waited = std::min(ms, std::max(0.0, *wall - own));
      *wall -= waited;
      return waited;
    };
    cost_.beside_pull_ms = beside(worker_.bottom_forward, exchange_.worker_pull, &exchange_.pull);
    cost_.beside_push_ms = beside(worker_.bottom_backward, exchange_.worker_push, &exchange_.push);
  }

  // Workers that share cores with each other and with shards do not come to the allreduce at once:
  // the slowest of w is about sqrt(2 ln w) standard deviations late.
  void WaitForWorkers() {
    const double of_host = std::ceil(workers() / hosts());
    const double shards = std::ceil(static_cast<double>(plan_.shards()) / hosts());
    if (of_host < 2 || of_host * std::max(1u, cluster_.threads) + shards <= cores_) return;
    const double deviations = std::sqrt(2 * std::log(of_host));
    cost_.wait_ms = InStep::Of(times_.machine()).jitter * deviations * cost_.phases.total();
    cost_.phases.allreduce += cost_.wait_ms;
  }

  void CountTables() {
    double pulled = 0, cached = 0, bytes = 0;
    for (const TableRowsOfStep& table : traffic_.tables) bytes += table.bytes;
    for (const TableSpec& table : workload_.tables.physical) {
      const size_t t = Raw(table.id);
      const TableRowsOfStep& rows = traffic_.tables[t];
      TableCost cost;
      const double pieces = rows.distinct_rows * rows.cuts * workers();
      cost.rows_pulled = pieces;
      cost.rows_pushed = workload_.tables.is_frozen[t] ? 0 : pieces;
      cost.bytes = rows.bytes * workers();
      cost.hit_rate = caches_.tables[t].cached;
      cost.read_share = caches_.tables[t].stored;
      cost.ms = worker_.table_ms[t];
      if (bytes > 0) cost.ms += (exchange_.pull + exchange_.push) * rows.bytes / bytes;
      // Gradients of rows on the workers are summed and applied with those of the dense part.
      cost.ms += (cost_.phases.allreduce + cost_.phases.dense_update) * RowsOnWorker(table, plan_) *
                 (table.dim + 1.0) / worker_.allreduce_floats;
      pulled += pieces;
      cached += pieces * cost.hit_rate;
      cost_.tables.push_back(cost);
    }
    cost_.hit_rate = pulled > 0 ? cached / pulled : 1;
  }

  void CountNodes() {
    const size_t shards_per_ps = std::max(1u, cluster_.shards_per_ps);
    cost_.ps.resize((plan_.shards() + shards_per_ps - 1) / shards_per_ps);
    std::vector<double> hits(cost_.ps.size());
    for (const PulledRows& pulled : traffic_.pulled) {
      hits[Raw(pulled.shard) / shards_per_ps] +=
          pulled.rows * workers() * caches_.tables[Raw(pulled.table)].cached;
    }
    for (size_t s = 0; s < traffic_.shards.size(); ++s) {
      const ShardTraffic& shard = traffic_.shards[s];
      RankCost& node = cost_.ps[s / shards_per_ps];
      node.rows_pulled += shard.rows_pulled * workers();
      node.rows_pushed += shard.rows_pushed * workers();
      node.accesses += shard.accesses * workers();
      node.bytes_in += (shard.pull_request_bytes + shard.push_request_bytes) * workers();
      node.bytes_out += (shard.pull_reply_bytes + shard.push_reply_bytes) * workers();
      node.pull_bytes += (shard.pull_request_bytes + shard.pull_reply_bytes) * workers();
      // In memory there are all rows that were touched, beside caches or in them.
      node.memory_bytes += !workload_.storage.has_files
                               ? std::max(caches_.memory_bytes[s], caches_.shard_bytes[s])
                               : caches_.memory_bytes[s];
      node.disk_bytes += !workload_.storage.has_files ? 0 : caches_.shard_bytes[s];
      const ShardWork& work = exchange_.shards[s];
      node.pull_ms += work.pull + work.store;
      node.push_ms += work.push;
      node.apply_ms += work.apply;
      node.store_ms += work.beside;
      node.ahead_ms += work.ahead;
      node.busy_ms += work.pull + work.store + work.push + work.apply + work.beside;
    }
    for (size_t n = 0; n < cost_.ps.size(); ++n) {
      RankCost& node = cost_.ps[n];
      if (node.rows_pulled > 0) node.hit_rate = std::min(1.0, hits[n] / node.rows_pulled);
      cost_.wire_bytes += node.bytes_in + node.bytes_out;
    }
  }

  void CountWorkers() {
    RankCost worker;
    for (const RankCost& node : cost_.ps) {
      worker.rows_pulled += node.rows_pulled / workers();
      worker.rows_pushed += node.rows_pushed / workers();
      worker.bytes_in += node.bytes_out / workers();
      worker.bytes_out += node.bytes_in / workers();
      worker.pull_bytes += node.pull_bytes / workers();
    }
    for (const TableRowsOfStep& table : traffic_.tables) worker.accesses += table.lookups;
    worker.memory_bytes = BytesOnWorker(workload_, plan_);
    worker.hit_rate = cost_.hit_rate;
    worker.pull_ms = exchange_.worker_pull;
    worker.push_ms = exchange_.worker_push;
    worker.busy_ms = cost_.phases.data + cost_.phases.compute() + cost_.phases.allreduce +
                     exchange_.worker_pull + exchange_.worker_push;
    cost_.workers = {worker};
  }

  Bound WhatBinds() const {
    const StepPhases& phases = cost_.phases;
    const double calls = std::min(exchange_.calls, phases.pull + phases.push);
    const double left = phases.pull + phases.push - exchange_.store - exchange_.wire - calls;
    const double pull_share =
        phases.pull + phases.push > 0 ? phases.pull / (phases.pull + phases.push) : 0;
    const std::array<std::pair<double, Bound>, 8> parts = {
        std::pair{phases.compute(), Bound::kCompute},
        {left * pull_share, Bound::kPull},
        {left * (1 - pull_share), Bound::kPush},
        {exchange_.store, Bound::kStore},
        {exchange_.wire, Bound::kWire},
        {phases.allreduce, Bound::kAllreduce},
        {phases.data, Bound::kData},
        {calls, Bound::kCalls}};
    return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
  }

  const Workload& workload_;
  const Plan& plan_;
  const ClusterShape& cluster_;
  KernelTimes times_;
  const double cores_;
  StepTraffic traffic_;
  const CacheShares caches_;
  WorkerTime worker_;
  ExchangeTime exchange_;
  StepCost cost_;
};

}  // namespace

std::string_view BoundName(Bound bound) {
  constexpr std::array<std::string_view, 8> kNames = {
      // in the order of Bound
      "compute", "pull", "push", "disk", "network", "allreduce", "data", "calls"};
  return kNames[static_cast<size_t>(bound)];
}

Result<StepCost> PredictStep(const Workload& workload, const Plan& plan,
                             const ClusterShape& cluster, const Machine& machine) {
  return Prediction(workload, plan, cluster, machine).Of();
}

}  // namespace rowhouse
