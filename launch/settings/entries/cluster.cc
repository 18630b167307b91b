// Settings of the cluster: where PS nodes are, how long to wait, and which shards own which rows.
#include <set>

#include "launch/hosts/host_facts.h"
#include "launch/settings/setting_list.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMaxMs = 24 * 3600 * 1000;

SettingField PsEndpoints() {
  const std::string what = "addresses such as tcp://host:7001, joined by commas";
  const Value<std::string> address =
      TextValue(what, [](const std::string& text) { return IsTcpAddress(text, /*min_port=*/1); });
  Value<std::vector<std::string>> value = ListValue(what, address, ',', /*may_be_empty=*/true);
  value.read = [read = value.read](const std::string& text) -> Result<std::vector<std::string>> {
    ASSIGN_OR_RETURN(std::vector<std::string> endpoints, read(text));
    std::set<std::string> seen;
    for (const std::string& endpoint : endpoints) {
      if (seen.insert(endpoint).second) continue;
      return UsageError("{} is named twice; every PS node is one of the run", endpoint);
    }
    return endpoints;
  };
  return Held(MEMBER(cluster.ps_endpoints), value);
}

Value<std::string> InterfaceChoice() {
  return TextValue(
      "a name such as eth0, a network such as 10.0.0.0/24 or an IPv4 address such as 10.0.0.1",
      [](const std::string& text) { return text.empty() || IsInterfaceChoice(text); });
}

void AddNodes(SettingList& list) {
  list.Add(Whole(MEMBER(cluster.ps), -1, 65536),
           {.help = "MPI ranks that are PS nodes, spread evenly over the hosts; the others are "
                    "workers. -1: half of the ranks, rounded down. A run of one rank starts a PS "
                    "node beside its worker",
            .is_basic = true,
            .verbs = kTrain | kPlan | kCkpt});
  list.Add(Whole(MEMBER(cluster.ps_per_host), 0, 65536),
           {.help = "PS nodes on every host, instead of --ps; 0: as many as --ps says"});
  list.Add(Held(MEMBER(cluster.bind_interface), InterfaceChoice()),
           {.help = "Network interface that PS nodes listen on and are reached by; each host must "
                    "have it. Default: loopback where all ranks are on one host, or else the first "
                    "whose network all hosts share; and Unix sockets between processes of a host"});
  list.Add(Whole(MEMBER(cluster.shards), 1, 1024),
           {.help = "Shards of each PS node; each is a thread with a cache and a store of its own",
            .is_basic = true,
            .verbs = kTrain | kPlan | kCkpt});
  list.Add(PsEndpoints(),
           {.help = "PS nodes that run already (rowhouse ps); then every rank is a worker",
            .is_basic = true});
}

void AddKeys(SettingList& list) {
  list.Add(Text(MEMBER(cluster.key_file), "a file"),
           {.help = "File of the key by which PS nodes know their workers, readable by its owner "
                    "alone; it is made if it is not there. Default: with PS nodes started by hand "
                    "~/.config/rowhouse/key (under mpirun, the first rank's); or else a new key "
                    "for each run, sent by MPI",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Switch(MEMBER(cluster.open)),
           {.help = "PS nodes ask nobody for a key: who reaches their ports can change rows",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Switch(MEMBER(cluster.encrypt)),
           {.help = "Encrypts what workers and shards send each other (CurveZMQ), which takes "
                    "about three times as long. With PS nodes started by hand both sides need it",
            .verbs = kTrain | kPs | kPlan});
}

void AddDeadlines(SettingList& list) {
  list.Add(Whole(MEMBER(cluster.rpc_deadline_ms), 1, kMaxMs),
           {.help = "Longest wait for a shard's answer. With rowhouse ps: a job that was silent "
                    "for this long is ended when another one comes",
            .unit = "ms",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Whole(MEMBER(cluster.save_deadline_ms), 1, kMaxMs),
           {.help = "Longest wait for a shard to write all its rows or to digest them, and for "
                    "free space on a full disk",
            .unit = "ms"});
  list.Add(
      Whole(MEMBER(cluster.rendezvous_deadline_ms), 1, kMaxMs),
      {.help = "Longest wait for all ranks and PS nodes to meet; a PS node that opens its rows may "
               "take longer, as long as it makes progress",
       .unit = "ms"});
  list.Add(Whole(MEMBER(cluster.stop_deadline_ms), 1, kMaxMs),
           {.help = "Longest wait for a PS node to write its rows and end",
            .unit = "ms",
            .verbs = kTrain | kPs | kPlan});
}

void AddStrategy(SettingList& list) {
  const Value<std::vector<uint32_t>> capacities = ListValue(
      "whole numbers from 1 to 4294967295, one a PS node, joined by commas (such as 2,1,1)",
      WholeValue<uint32_t>(1), ',', /*may_be_empty=*/true);
  list.Add(Held(MEMBER(sharding.strategy), NameValue(ShardingStrategies())),
           {.help = "Which shards own which rows of a table",
            .is_basic = true,
            .verbs = kTrain | kPlan | kCkpt});
  list.Add(Held(MEMBER(sharding.capacities), capacities),
           {.help = "What each PS node can hold, relative to the others, in the order of the map "
                    "that a run prints (2,1,1: the first twice as much); the shards of a node are "
                    "alike. Default: all nodes are alike. For row_wise, row_wise_hashed, "
                    "skew_aware, fair, table_wise_lpt and table_wise_greedy"});
  list.Add(Whole(MEMBER(sharding.options.row_cuts), 0, 65536),
           {.help = "With grid: ranges of rows that a table is divided into; 0: enough for a "
                    "slice on every shard"});
  list.Add(Whole(MEMBER(sharding.options.column_cuts), 0, 256),
           {.help = "With grid and column_wise: ranges of columns that a row is divided into; 0: 2 "
                    "with grid, one a shard with column_wise"});
  list.Add(Whole(MEMBER(sharding.options.seed), 0, UINT32_MAX),
           {.name = "strategy_seed",
            .help = "With table_wise_shuffle and row_wise_hashed: seed of the order"});
  list.Add(Whole(MEMBER(sharding.options.hot_rows), 0, 1 << 20),
           {.help = "With skew_aware: how many rows the workers keep, at most; they keep those "
                    "looked up most"});
  AddDeclared(
      list, ShardingStrategies(),
      [](Settings& s) -> OptionValues& { return s.sharding.options.own; }, "sharding.options.own",
      Digest::kOut);
}

void AddPlan(SettingList& list) {
  list.Add(Choice(MEMBER(sharding.pool_on), {"workers", "shards"}),
           {.help = "Who adds up the rows of a bag: workers, who get the rows, or shards, which "
                    "send sums"});
  list.Add(Text(MEMBER(sharding.access_counts), "a file"),
           {.help = "File of rowhouse plan --count_ids, on the first worker's host, for strategy "
                    "skew_aware and for predictions of a run's traffic. --cache_access_counts "
                    "names the file that PS nodes read"});
  list.Add(
      Text(MEMBER(sharding.plan), "a file"),
      {.help =
           "File of the plan that the run uses, made by rowhouse plan --out, on the "
           "first worker's host; or auto: the planner chooses strategy and pooling of "
           "each table by predicted step time. On hosts that rowhouse bench calibrate measured, "
           "training takes its plan where that gains 10 % over the configured strategy; "
           "on others it is only printed",
       .verbs = kTrain | kPlan | kCkpt});
  list.Add(Mebibytes(MEMBER(sharding.ps_rows_mb), 0, uint64_t{1} << 40),
           {.help = "Most rows and optimizer state that a plan may give a PS node; 0: no limit",
            .unit = "MiB"});
  list.Add(Text(MEMBER(sharding.calibration), "a file"),
           {.help = "File of rowhouse bench calibrate: the machine that times are predicted for; "
                    "if not given, this host's file in the user's cache folder; typical: a "
                    "server that nobody measured",
            .verbs = kTrain | kPlan | kBench});
}

REGISTER_MEMBER(RegisterSettings(Section::kCluster,
                                 {AddNodes, AddKeys, AddDeadlines, AddStrategy, AddPlan}));

}  // namespace
}  // namespace rowhouse
