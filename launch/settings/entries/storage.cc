// Settings of storage: how a PS node keeps its rows. A run hands those of verb ps to the servers
// that it starts.
#include "launch/settings/setting_list.h"
#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxMb = uint64_t{1} << 24;

void AddStore(SettingList& list) {
  list.Add(Held(MEMBER(storage.store), NameValue(RowStores())),
           {.help = "Where rows are kept besides the cache; rows in memory end with the run"});
  list.Add(Text(MEMBER(storage.row_dir), "a directory"),
           {.help = "Directory for rows, on each PS node's own disk. Default: rows/ in "
                    "--model_dir, or, without that, a temporary directory deleted at the end",
            .is_basic = true,
            .verbs = kTrain | kPs | kCkpt | kPlan | kPredict | kEval});
  AddDeclared(
      list, RowStores(), [](Settings& s) -> OptionValues& { return s.storage.own; }, "storage.own",
      Digest::kOut);
}

void AddCaches(SettingList& list) {
  list.Add(Mebibytes(MEMBER(storage.cache_mb), 1, kMaxMb),
           {.help = "Memory for rows on a PS node, at most, over all its shards and tables",
            .unit = "MiB",
            .is_basic = true});
  list.Add(Mebibytes(MEMBER(storage.memory_limit_mb), 0, kMaxMb),
           {.help = "Memory of a PS node, at most, with all that it holds and what workers "
                    "send; docs/internals.md says which floods go beyond. Its cache is as large "
                    "as --cache_mb says, or as the limit leaves beside requests, RocksDB and the "
                    "process; 128 or more; 0: no limit",
            .unit = "MiB",
            .is_basic = true});
  list.Add(Real(MEMBER(storage.cache_ratio), "a number greater than 0, at most 1",
                [](double v) { return v > 0.0 && v <= 1.0; }),
           {.help = "The largest fraction of each table's rows that is cached, even where "
                    "cache_mb has room for more",
            .unit = "fraction"});
  list.Add(Whole(MEMBER(storage.cache_ways), 1, 1024),
           {.help = "Associativity of the caches; 1: fully associative"});
  list.Add(Held(MEMBER(storage.cache_policy), NameValue(CachePolicies())),
           {.help = "Which rows a cache keeps. dataset keeps those that --cache_access_counts says "
                    "are looked up most, or, without that, those of the smallest numbers"});
  list.Add(Text(MEMBER(storage.cache_access_counts), "a file of rowhouse plan --count_ids"),
           {.help = "File of access counts on each PS node: caches begin with the rows that are "
                    "looked up most, and policy dataset keeps them. --access_counts is the file "
                    "that plans are made from, on the first worker's host"});
  list.Add(Real(MEMBER(storage.cache_warmup_ratio), "a number from 0 to 1",
                [](double v) { return v >= 0.0 && v <= 1.0; }),
           {.help = "With --cache_access_counts: the fraction of each cache that is filled at the "
                    "start",
            .unit = "fraction"});
  AddDeclared(
      list, CachePolicies(), [](Settings& s) -> OptionValues& { return s.storage.own; },
      "storage.own", Digest::kOut);
}

void AddWrites(SettingList& list) {
  list.Add(Whole(MEMBER(training.prefetch_steps), 0, 1024),
           {.help = "How many steps ahead, at most, workers tell shards which rows they will "
                    "pull, so that the shards read these from disk in time. The number adapts to "
                    "whether pulls wait for a disk; 0: never",
            .verbs = kTrain | kPlan});
  list.Add(Whole(MEMBER(storage.max_dirty_steps), 0),
           {.help = "A changed row is written to the row directory at most this many steps later. "
                    "0: with a push log 1000, without one when the row is evicted or saved"});
  list.Add(Choice(MEMBER(storage.durability), {"none", "wal", "fsync"}),
           {.help = "What keeps answered pushes that were not saved. none: nothing; wal: a log "
                    "beside the rows, which survives the end of the PS process; fsync: also that "
                    "of the machine. The log is not yet read back",
            .is_basic = true});
  list.Add(Choice(MEMBER(storage.store_compression), {"none", "zstd"}),
           {.help = "Compression of rows on disk that have not changed for long. zstd helps where "
                    "rows have been trained little or are kept in 16 bits, and makes every read "
                    "slower",
            .verbs = kTrain | kPs | kCkpt | kPlan | kPredict | kEval});
  list.Add(Switch(MEMBER(storage.direct_reads)),
           {.help = "Reads and writes rows without the system's page cache, so that a PS node "
                    "needs no memory beyond its own; for disks that answer many reads at once",
            .verbs = kTrain | kPs | kCkpt | kPlan | kPredict | kEval});
  list.Add(Whole(MEMBER(storage.open_files), 0, 1 << 20),
           {.help = "Files of rows that a PS node keeps open, at most, over all its shards. 0: "
                    "half of what the system lets a process have (ulimit -n)"});
}

REGISTER_MEMBER(RegisterSettings(Section::kStorage, {AddStore, AddCaches, AddWrites}));

}  // namespace
}  // namespace rowhouse
