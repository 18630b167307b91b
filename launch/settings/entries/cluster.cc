// Settings of the cluster: where PS nodes are, how long to wait, and which shards own which rows.
#include <set>

#include "launch/hosts/host_facts.h"
#include "launch/settings/declared_settings.h"
#include "launch/settings/setting_list.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMaxMs = 24 * 3600 * 1000;

SettingField PsEndpoints() {
  const std::string what = "addresses such as tcp://host:7001, joined by commas";
  SettingField field{
      .kind = SettingKind::kTextList, .expected = what, .member = "cluster.ps_endpoints"};
  field.set = [what](const std::string& text, Settings& settings) {
    std::vector<std::string> endpoints = SplitAtCommas(text);
    std::set<std::string> seen;
    for (const std::string& endpoint : endpoints) {
      if (!IsTcpAddress(endpoint, /*min_port=*/1)) return Expected(what);
      if (!seen.insert(endpoint).second) {
        return UsageError("{} is named twice; every PS node is one of the run", endpoint);
      }
    }
    settings.cluster.ps_endpoints = std::move(endpoints);
    return OkStatus();
  };
  field.get = [](const Settings& settings) {
    return fmt::format("{}", fmt::join(settings.cluster.ps_endpoints, ","));
  };
  return field;
}

SettingField BindInterface() {
  const std::string what =
      "a name such as eth0, a network such as 10.0.0.0/24 or an IPv4 address such as 10.0.0.1";
  SettingField field = Text(MEMBER(cluster.bind_interface), what);
  field.set = [what](const std::string& text, Settings& settings) {
    if (!text.empty() && !IsInterfaceChoice(text)) return Expected(what);
    settings.cluster.bind_interface = text;
    return OkStatus();
  };
  return field;
}

void AddNodes(SettingList& list) {
  list.Add(Whole(MEMBER(cluster.ps), -1, 65536),
           {.name = "ps",
            .help = "MPI ranks that are PS nodes, spread evenly over the hosts; the others are "
                    "workers. -1: half of the ranks, rounded down. A run of one rank starts a PS "
                    "node beside its worker",
            .is_basic = true});
  list.Add(Whole(MEMBER(cluster.ps_per_host), 0, 65536),
           {.name = "ps_per_host",
            .help = "PS nodes on every host, instead of --ps; 0: as many as --ps says"});
  list.Add(BindInterface(),
           {.name = "bind_interface",
            .help = "Network interface that PS nodes listen on and are reached by; each host must "
                    "have it. Default: loopback where all ranks are on one host, or else the first "
                    "whose network all hosts share"});
  list.Add(Whole(MEMBER(cluster.shards), 1, 1024),
           {.name = "shards",
            .help = "Shards of each PS node; each is a thread with a cache and a store of its own",
            .is_basic = true});
  list.Add(PsEndpoints(),
           {.name = "ps_endpoints",
            .help = "PS nodes that run already (rowhouse ps); then every rank is a worker",
            .is_basic = true});
}

void AddKeys(SettingList& list) {
  list.Add(Text(MEMBER(cluster.key_file), "a file"),
           {.name = "key_file",
            .help = "File of the key by which PS nodes know their workers, readable by its owner "
                    "alone; it is made if it is not there. Default: with PS nodes started by hand "
                    "~/.config/rowhouse/key (under mpirun, the first rank's); or else a new key "
                    "for each run, sent by MPI",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Switch(MEMBER(cluster.open)),
           {.name = "open",
            .help = "PS nodes ask nobody for a key: who reaches their ports can change rows",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Switch(MEMBER(cluster.encrypt)),
           {.name = "encrypt",
            .help = "Encrypts what workers and shards send each other (CurveZMQ), which takes "
                    "about three times as long. With PS nodes started by hand both sides need it",
            .verbs = kTrain | kPs | kPlan});
}

void AddDeadlines(SettingList& list) {
  list.Add(Whole(MEMBER(cluster.rpc_deadline_ms), 1, kMaxMs),
           {.name = "rpc_deadline_ms",
            .help = "Longest wait for a shard's answer. With rowhouse ps: a job that was silent "
                    "for this long is ended when another one comes",
            .unit = "ms",
            .verbs = kTrain | kPs | kPlan});
  list.Add(Whole(MEMBER(cluster.save_deadline_ms), 1, kMaxMs),
           {.name = "save_deadline_ms",
            .help = "Longest wait for a shard to write all its rows or to digest them, and for "
                    "free space on a full disk",
            .unit = "ms"});
  list.Add(Whole(MEMBER(cluster.rendezvous_deadline_ms), 1, kMaxMs),
           {.name = "rendezvous_deadline_ms",
            .help = "Longest wait for all ranks and PS nodes to meet",
            .unit = "ms"});
  list.Add(Whole(MEMBER(cluster.stop_deadline_ms), 1, kMaxMs),
           {.name = "stop_deadline_ms",
            .help = "Longest wait for a PS node to write its rows and end",
            .unit = "ms",
            .verbs = kTrain | kPs | kPlan});
}

void AddStrategy(SettingList& list) {
  const Value<std::vector<uint32_t>> capacities = ListValue(
      "whole numbers from 1 to 4294967295, one a PS node, joined by commas (such as 2,1,1)",
      WholeValue<uint32_t>(1), ',', /*may_be_empty=*/true);
  list.Add(
      Name(MEMBER(sharding.strategy), ShardingStrategies()),
      {.name = "strategy", .help = "Which shards own which rows of a table", .is_basic = true});
  list.Add(Held(MEMBER(sharding.capacities), capacities),
           {.name = "capacities",
            .help = "What each PS node can hold, relative to the others, in the order of the map "
                    "that a run prints (2,1,1: the first twice as much); the shards of a node are "
                    "alike. Default: all nodes are alike. For row_wise, row_wise_hashed, "
                    "skew_aware, fair, table_wise_lpt and table_wise_greedy"});
  list.Add(Whole(MEMBER(sharding.options.row_cuts), 0, 65536),
           {.name = "row_cuts",
            .help = "With grid: ranges of rows that a table is divided into; 0: enough for a "
                    "slice on every shard"});
  list.Add(Whole(MEMBER(sharding.options.column_cuts), 0, 256),
           {.name = "column_cuts",
            .help = "With grid and column_wise: ranges of columns that a row is divided into; 0: 2 "
                    "with grid, one a shard with column_wise"});
  list.Add(Whole(MEMBER(sharding.options.seed), 0, UINT32_MAX),
           {.name = "strategy_seed",
            .help = "With table_wise_shuffle and row_wise_hashed: seed of the order"});
  list.Add(Whole(MEMBER(sharding.options.hot_rows), 0, 1 << 20),
           {.name = "hot_rows",
            .help = "With skew_aware: how many rows the workers keep, at most; they keep those "
                    "looked up most"});
  AddDeclared(
      list, ShardingStrategies(),
      [](Settings& s) -> OptionValues& { return s.sharding.options.own; }, "sharding.options.own");
}

void AddPlan(SettingList& list) {
  list.Add(Choice(MEMBER(sharding.pool_on), {"workers", "shards"}),
           {.name = "pool_on",
            .help = "Who adds up the rows of a bag: workers, who get the rows, or shards, which "
                    "send sums"});
  list.Add(Text(MEMBER(sharding.access_counts), "a file"),
           {.name = "access_counts",
            .help = "File of rowhouse plan --count_ids, on the first worker's host, for strategy "
                    "skew_aware and for predictions of a run's traffic. --cache_access_counts "
                    "names the file that PS nodes read"});
  list.Add(
      Text(MEMBER(sharding.plan), "a file"),
      {.name = "plan",
       .help =
           "File of the plan that the run uses, made by rowhouse plan --out, on the "
           "first worker's host; or auto: the planner chooses strategy and pooling of "
           "each table by predicted step time. On hosts that rowhouse bench calibrate measured, "
           "training takes its plan where that gains 10 % over the configured strategy; "
           "on others it is only printed"});
  list.Add(Mebibytes(MEMBER(sharding.ps_rows_mb), 0, uint64_t{1} << 40),
           {.name = "ps_rows_mb",
            .help = "Most rows and optimizer state that a plan may give a PS node; 0: no limit",
            .unit = "MiB"});
  list.Add(Text(MEMBER(sharding.calibration), "a file"),
           {.name = "calibration",
            .help = "File of rowhouse bench calibrate: the machine that times are predicted for; "
                    "if not given, this host's file in the user's cache folder; typical: a "
                    "server that nobody measured",
            .verbs = kTrain | kPlan | kBench});
}

REGISTER_MEMBER(RegisterSettings(Section::kCluster,
                                 {AddNodes, AddKeys, AddDeadlines, AddStrategy, AddPlan}));

}  // namespace
}  // namespace rowhouse
