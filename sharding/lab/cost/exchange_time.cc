#include "sharding/lab/cost/exchange_time.h"

#include <algorithm>
#include <cmath>

#include "sharding/lab/cost/bag_times.h"
#include "sharding/lab/cost/machine.h"

namespace rowhouse {
namespace {

// What every worker asks of all shards, as if it were one shard.
ShardTraffic SumOf(const StepTraffic& traffic) {
  ShardTraffic sum;
  for (const ShardTraffic& shard : traffic.shards) {
    sum.sent_rows += shard.sent_rows;
    sum.row_floats += shard.row_floats;
    sum.pushed_sent_rows += shard.pushed_sent_rows;
    sum.pushed_row_floats += shard.pushed_row_floats;
    sum.bags += shard.bags;
    sum.bag_lookups += shard.bag_lookups;
    sum.bag_lookup_floats += shard.bag_lookup_floats;
    sum.bag_rows += shard.bag_rows;
    sum.row_entries += shard.row_entries;
    sum.bag_entries += shard.bag_entries;
    sum.pull_reply_bytes += shard.pull_reply_bytes;
    sum.pull_request_bytes += shard.pull_request_bytes;
    sum.push_request_bytes += shard.push_request_bytes;
    sum.push_reply_bytes += shard.push_reply_bytes;
  }
  return sum;
}

class Exchanges {
 public:
  Exchanges(const Workload& workload, const ClusterShape& cluster, const StepTraffic& traffic,
            KernelTimes* times)
      : kernels_(*times),
        factors_(InStep::Of(times->machine())),
        bags_(times),
        cluster_(cluster),
        workload_(workload),
        traffic_(traffic),
        all_(SumOf(traffic)),
        optimizer_(Optimizer()) {
    result_.shards.resize(traffic.shards.size());
  }

  ExchangeTime Of(const Plan& plan, const CacheShares& caches, const TimeBeside& beside) && {
    Pull();
    Gather(plan, caches);
    Push();
    Calls();
    Update(beside.push_to_pull);
    Store(caches, beside.exchange);
    return std::move(result_);
  }

 private:
  double cores() const {
    return cluster_.cores_per_host > 0 ? cluster_.cores_per_host : kernels_.machine().cores;
  }
  double hosts() const { return std::max(1u, cluster_.hosts); }

  // Kernels are measured on one host, over Unix sockets: how much longer they take between hosts.
  double TcpFactor(const std::string& stem, double rows, double dim) {
    if (hosts() < 2 || !kernels_.machine().HasKernel(stem + "_tcp")) return 1;
    return std::max(1.0, kernels_.Ms(stem + "_tcp", {rows, dim}) / kernels_.Ms(stem, {rows, dim}));
  }

  // Rows in bf16 take as long as rows of as many bytes.
  Exchange RowsOf(const std::string& stem, double rows, double floats, Precision precision) {
    const double dim = floats / rows * static_cast<double>(BytesOfWeight(precision)) / 4;
    const auto ms = [&](const char* part) { return kernels_.Ms(stem + part, {rows, dim}); };
    const double slower = TcpFactor(stem, rows, dim);
    return {slower * ms(""), slower * ms("_worker"), slower * ms("_shard")};
  }

  // What the message of a list's sums, or of their gradients, takes longer between hosts.
  Exchange LongerOfBags(const std::string& stem, const ShardTraffic& shard) {
    const double dim = shard.bag_lookup_floats / shard.bag_lookups;
    const double slower = TcpFactor(stem, shard.bags, dim) - 1;
    if (slower <= 0) return {};
    const auto ms = [&](const char* part) { return kernels_.Ms(stem + part, {shard.bags, dim}); };
    return {slower * ms(""), slower * ms("_worker"), slower * ms("_shard")};
  }

  // The optimizer that most pushed floats go through.
  std::string Optimizer() const {
    std::map<std::string, double> floats;
    for (const TableSpec& table : workload_.tables.physical) {
      floats[table.optimizer] += traffic_.tables[Raw(table.id)].distinct_rows * table.dim + 1;
    }
    if (floats.empty()) return "";
    return std::ranges::max_element(floats, {}, [](const auto& entry) { return entry.second; })
        ->first;
  }

  // Wall time of a worker, from what one worker and one shard take for all of a worker's rows
  // (`whole`), what each shard works for each worker, and what all that costs in cores.
  //
  // Alone, worker and shard take turns, or overlap part by part; `together` is how much of their
  // work's sum the measured wall time is. With several shards only the slowest is waited for; with
  // several workers it serves all of them; and no host does more than its cores can.
  // Rows, and gradients of bags, are moved more than worked on: their threads keep a part of the
  // cores busy, at least as many as one worker and one shard do. Pooling bags is work.
  double Wall(const Exchange& whole, const std::vector<double>& shard_ms, bool is_work) const {
    if (whole.worker + whole.shard <= 0) return whole.wall;
    const double together = whole.wall / (whole.worker + whole.shard);
    const double workers = workload_.step.workers;
    double slowest = 0, all = 0;
    for (const double ms : shard_ms) {
      slowest = std::max(slowest, workers * ms);
      all += workers * ms;
    }
    const double path = together * (whole.worker + slowest);
    const double of_host = (workers * whole.worker + all) / hosts();
    const double busy_cores = cores() * (is_work ? 1.0 : factors_.exchange_cores);
    return std::max(path, of_host / std::max({1.0, busy_cores, 1 / together}));
  }

  // Milliseconds that links need for bytes which each worker exchanges, one way.
  double Link(double worker_bytes, double node_bytes) const {
    if (cluster_.network_gbits <= 0 || hosts() < 2) return 0;
    const double remote = (hosts() - 1) / hosts();
    const double workers = std::ceil(cluster_.workers / hosts());
    const double nodes = std::ceil(cluster_.ps / hosts());
    const double bytes = std::max(workers * worker_bytes, nodes * node_bytes) * remote;
    return bytes * 8 / (cluster_.network_gbits * 1e9) * 1e3;
  }

  double RoundTrip() const { return hosts() > 1 ? cluster_.round_trip_us * 1e-3 : 0; }

  Exchange PullOf(const ShardTraffic& shard) {
    Exchange sum;
    if (shard.sent_rows > 0) {
      sum += RowsOf("pull", shard.sent_rows, shard.row_floats, workload_.step.row_precision.pull);
    }
    if (shard.bag_lookups > 0) {
      sum += bags_.Pull(shard);
      sum += LongerOfBags("pull", shard);
    }
    return sum;
  }

  Exchange PushOf(const ShardTraffic& shard) {
    Exchange sum;
    if (shard.pushed_sent_rows > 0) {
      sum += RowsOf("push", shard.pushed_sent_rows, shard.pushed_row_floats,
                    workload_.step.row_precision.push);
    }
    if (shard.bag_lookups > 0) {
      sum += bags_.Push(shard);
      sum += LongerOfBags("push", shard);
    }
    return sum;
  }

  // Of a pull: bags are pooled. Their gradients are pushed as rows are.
  bool pools() const { return all_.bag_lookups > 0; }

  // Pooling takes as long as in the kernel.
  double PullFactor() const { return pools() ? 1.0 : factors_.phases.pull; }

  void Pull() {
    const Exchange whole = PullOf(all_);
    std::vector<double> shard_ms;
    for (size_t s = 0; s < traffic_.shards.size(); ++s) {
      shard_ms.push_back(PullOf(traffic_.shards[s]).shard);
      result_.shards[s].pull = shard_ms.back() * workload_.step.workers;
    }
    result_.worker_pull = PullFactor() * whole.worker;
    result_.pull = PullFactor() * Wall(whole, shard_ms, pools());
    AddLink(all_.pull_reply_bytes, &ShardTraffic::pull_reply_bytes, &result_.pull);
  }

  // Of rows that no step has seen, in a cache that is smaller than its slice: each is searched for
  // and gets its initial values, which the kernel "pull", whose rows have places of their own, does
  // not measure. The answer waits until all rows are gathered.
  void Gather(const Plan& plan, const CacheShares& caches) {
    constexpr const char *kKnown = "placed_pull", *kNew = "cached_pull_new";
    if (!kernels_.machine().HasKernel(kKnown) || !kernels_.machine().HasKernel(kNew)) return;
    std::vector<bool> have_places;  // of each table
    for (const TableSpec& table : workload_.tables.physical) {
      have_places.push_back(HavePlaces(plan, table, caches.cached_rows[Raw(table.id)]));
    }
    std::vector<double> rows(traffic_.shards.size()), floats(rows);
    for (const PulledRows& pulled : traffic_.pulled) {
      const size_t table = Raw(pulled.table);
      if (have_places[table]) continue;
      const double fresh = pulled.rows * workload_.step.workers * caches.tables[table].touched;
      rows[Raw(pulled.shard)] += fresh;
      floats[Raw(pulled.shard)] += fresh * pulled.columns;
    }
    double slowest = 0;
    for (size_t s = 0; s < rows.size(); ++s) {
      if (rows[s] <= 0) continue;
      const double dim = floats[s] / rows[s];
      const double ms =
          std::max(0.0, kernels_.Ms(kNew, {rows[s], dim}) - kernels_.Ms(kKnown, {rows[s], dim}));
      result_.shards[s].pull += ms;
      slowest = std::max(slowest, ms);
    }
    result_.pull += PullFactor() * slowest;
  }

  static bool HavePlaces(const Plan& plan, const TableSpec& table, double cached_rows) {
    double rows = 0;
    for (const Slice& slice : plan.slices(table.id)) rows += static_cast<double>(slice.rows());
    const double on_workers =
        static_cast<double>(plan.worker_rows(table.id).size()) / static_cast<double>(table.rows);
    return cached_rows >= rows * (1 - on_workers) - 0.5;
  }

  void Push() {
    const Exchange whole = PushOf(all_);
    std::vector<double> shard_ms;
    for (size_t s = 0; s < traffic_.shards.size(); ++s) {
      shard_ms.push_back(PushOf(traffic_.shards[s]).shard);
      result_.shards[s].push = shard_ms.back() * workload_.step.workers;
      result_.shards[s].apply = ApplyOf(traffic_.shards[s]);
    }
    result_.worker_push = factors_.phases.push * whole.worker;
    result_.push = factors_.phases.push * Wall(whole, shard_ms, /*is_work=*/false);
    AddLink(all_.push_request_bytes, &ShardTraffic::push_request_bytes, &result_.push);
  }

  // The update of a row costs the same for any number of workers.
  double ApplyOf(const ShardTraffic& shard) {
    double ms = 0;
    if (shard.updated_rows > 0) {
      const std::string update = kernels_.Of("update_", optimizer_);
      ms += kernels_.Ms(update, {shard.updated_rows, shard.updated_floats / shard.updated_rows});
    }
    if (shard.bag_lookups > 0) {
      ms += workload_.step.workers * bags_.ApplyMs(shard, optimizer_);
    }
    return ms;
  }

  // Shards apply a step while workers sum dense gradients, update, read and merge; a pull waits for
  // what is left. On a host that has no core left over shards come first, as threads do that have
  // slept: with a shard on every core, the answers to pushes wait until all rows are updated.
  void Update(double push_to_pull) {
    double until_applied = 0;
    for (const ShardWork& shard : result_.shards) {
      until_applied = std::max(until_applied, shard.apply);
    }
    const double host_cores = cores();
    // What the workers' threads do meanwhile, of what they could do with all cores.
    const auto shards = static_cast<double>(traffic_.shards.size());
    double goes_on = 1;
    if (std::ceil((shards + workload_.step.workers) / hosts()) > host_cores) {
      const double workers = std::ceil(workload_.step.workers / hosts());
      const double busy = std::min(std::ceil(shards / hosts()), host_cores);
      goes_on = std::min(workers, host_cores - busy) / std::min(workers, host_cores);
    }
    const double done_meanwhile = goes_on * until_applied;
    if (done_meanwhile < push_to_pull) {
      result_.crowded = until_applied - done_meanwhile;
      result_.push += result_.crowded;
    } else {
      result_.update = until_applied - push_to_pull;
      result_.pull += result_.update;
    }
  }

  void AddLink(double worker_bytes, double ShardTraffic::*bytes, double* wall) {
    double of_node = 0;
    const size_t shards_per_ps = std::max(1u, cluster_.shards_per_ps);
    for (size_t s = 0; s < traffic_.shards.size(); s += shards_per_ps) {
      double node = 0;
      for (size_t i = s; i < std::min(s + shards_per_ps, traffic_.shards.size()); ++i) {
        node += traffic_.shards[i].*bytes * workload_.step.workers;
      }
      of_node = std::max(of_node, node);
    }
    const double link = Link(worker_bytes, of_node);
    if (link > *wall) {
      result_.wire += link - *wall;
      *wall = link;
    }
    *wall += RoundTrip();
    result_.wire += RoundTrip();
  }

  // What further tables and shards add to the calls of one table on one shard.
  void Calls() {
    const double entries = all_.row_entries + all_.bag_entries;
    const auto shards = static_cast<double>(traffic_.shards.size());
    if (entries <= 0 || !kernels_.machine().HasKernel("pull_tables")) return;
    const double tables = std::max(1.0, entries / shards);
    for (const std::string stem : {"pull", "push"}) {
      const double slower = TcpFactor(stem, 1, 4);  // as the kernel's messages
      const auto ms = [&](double of_tables, double of_shards) {
        return slower * kernels_.Ms(stem + "_tables", {of_tables, of_shards});
      };
      double& wall = stem == "pull" ? result_.pull : result_.push;
      wall += std::max(0.0, ms(tables, shards) - ms(1, 1));
      result_.calls += ms(tables, shards);
    }
  }

  void Store(const CacheShares& caches, double beside) {
    if (!workload_.storage.has_files) return;
    double slowest = 0;
    std::vector<double> read(traffic_.shards.size()), bytes(read), written(read);
    for (const PulledRows& pulled : traffic_.pulled) {
      const size_t table = Raw(pulled.table), shard = Raw(pulled.shard);
      const double workers = workload_.step.workers;
      const RowShares& shares = caches.tables[table];
      // What rounding leaves of `stored` is no read: then nothing is evicted, and nothing written.
      if (traffic_.tables[table].distinct_rows * workers * shares.stored < 0.5) continue;
      const double here = pulled.rows * workers;
      read[shard] += here * shares.stored;
      // A row that comes in for good sends another one out, which was pushed.
      written[shard] += here * (shares.stored + shares.touched);
      bytes[shard] += here * shares.stored * caches.record_bytes[table];
    }
    const bool reads_ahead = workload_.storage.prefetch_steps > 0;
    for (size_t s = 0; s < read.size(); ++s) {
      if (read[s] <= 0) continue;
      const double record = bytes[s] / read[s];
      const double ms = factors_.store * (kernels_.Ms("multiget", {read[s], record}) +
                                          kernels_.Ms("put", {written[s], record}));
      slowest = std::max(slowest, ms);
      result_.shards[s].store = reads_ahead ? factors_.store_in_pulls * ms : ms;
      result_.shards[s].beside = (factors_.store_beside - (reads_ahead ? 0 : 1)) * ms;
      result_.shards[s].ahead = reads_ahead ? ms : 0;
    }
    if (slowest <= 0) return;
    result_.store = slowest;
    if (reads_ahead) {
      // Rows of coming steps are read while this one computes, if it is long enough.
      result_.store = std::max(factors_.store_in_pulls * slowest, slowest - beside - result_.push);
    }
    result_.pull += result_.store;
  }

  KernelTimes& kernels_;
  const InStep factors_;
  BagTimes bags_;
  const ClusterShape& cluster_;
  const Workload& workload_;
  const StepTraffic& traffic_;
  const ShardTraffic all_;
  const std::string optimizer_;
  ExchangeTime result_;
};

}  // namespace

ExchangeTime ExchangeTimeOf(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
                            const StepTraffic& traffic, const CacheShares& caches,
                            const TimeBeside& beside, KernelTimes* times) {
  return Exchanges(workload, cluster, traffic, times).Of(plan, caches, beside);
}

double AllreduceMs(double floats, const ClusterShape& cluster, KernelTimes* times) {
  if (cluster.workers <= 1) return 0;
  const double workers = cluster.workers;
  const double hosts = std::max(1u, cluster.hosts);
  // Within a host the kernel moves and adds; between hosts a worker still adds as much, and its
  // share of the link is waited for besides.
  const double here = hosts > 1 ? std::max(2.0, std::ceil(workers / hosts)) : workers;
  double ms = times->Ms("allreduce", {here, floats});
  if (hosts > 1) {
    const double bytes = 2 * floats * sizeof(float) * (workers - 1) / workers;
    if (cluster.network_gbits > 0) {
      const double sharing = std::ceil(workers / hosts);
      ms += bytes * sharing * 8 / (cluster.network_gbits * 1e9) * 1e3;
    }
    ms += std::ceil(std::log2(workers)) * cluster.round_trip_us * 1e-3;
  }
  return ms;
}

}  // namespace rowhouse
