#include "launch/settings/settings_checks.h"

#include <fmt/ranges.h>

#include "ps/cache/cache_policy.h"
#include "ps/shard/memory_budget.h"
#include "ps/store/row_store.h"

namespace rowhouse {
namespace {

Status CheckData(const Settings& s, bool reads_data) {
  const std::string source = s.data_source();
  const bool reads_file = DeclarationOfDataset(source).reads_file;
  if (reads_data && reads_file && s.data.file.empty()) {
    return UsageError("data_generation={} needs a file: give --data=FILE", s.data_generation);
  }
  if (!reads_file && !s.data.file.empty()) {
    return UsageError(
        "data={} is given, but data_generation={} reads no file; take one away, or say "
        "data_generation=dataset",
        s.data.file, s.data_generation);
  }
  if (const std::string weighing = DeclarationOfDataset(source).weighing_setting(s.data);
      !weighing.empty()) {
    for (const LogicalTable& table : s.tables) {
      if (table.pooling == "sum") continue;
      return UsageError(
          "{} gives every id of a bag a weight, which needs pooling=sum; that of table \"{}\" is "
          "{}",
          weighing, table.name, table.pooling);
    }
  }
  return DeclarationOfDataset(source).check(s.data);
}

Status CheckModelDirectory(const Settings& s) {
  if (s.output.load && s.output.model_dir.empty()) {
    return UsageError("--load needs --model_dir: the directory of the model to go on from");
  }
  if (s.output.load && s.output.overwrite) {
    return UsageError("--load goes on from the model that --overwrite deletes: give only one");
  }
  if (!s.storage.has_files() && s.output.load) {
    return UsageError(
        "--load with store=memory: rows in memory ended with the run that trained them; train "
        "again with store=rocksdb");
  }
  if (s.output.save_every == 0) return OkStatus();
  if (!s.storage.has_files()) {
    return UsageError(
        "save_every={} with store=memory: rows in memory cannot be saved; give store=rocksdb, or "
        "leave save_every out",
        s.output.save_every);
  }
  if (s.output.model_dir.empty()) {
    return UsageError("save_every={} needs --model_dir: the directory that the model is saved in",
                      s.output.save_every);
  }
  return OkStatus();
}

Status CheckStorage(const Settings& s) {
  if (s.storage.memory_limit_mb != 0) {
    RETURN_IF_ERROR(DivideMemory(s.storage.memory_limit_mb << 20, s.cluster.shards).status());
  }
  if (s.storage.durability != "none" && !s.storage.has_files()) {
    return UsageError(
        "durability={} with store=memory: a log of pushes is kept beside rows on disk; give "
        "store=rocksdb, or leave durability out",
        s.storage.durability);
  }
  if (s.storage.durability != "none" && s.row_directory().empty() &&
      s.cluster.ps_endpoints.empty()) {
    return UsageError(
        "durability={}: rows of a run without --model_dir or --row_dir are deleted at its end, and "
        "their log with them; give one of the two",
        s.storage.durability);
  }
  return OkStatus();
}

Status CheckRecording(const Settings& s) {
  if (!s.output.record_ids.empty() || s.output.record_ids_share == 1.0) return OkStatus();
  return UsageError("record_ids_share={} has no effect without record_ids; say --record_ids=FILE",
                    s.output.record_ids_share);
}

Status CheckPsNodes(const Settings& s) {
  if (!s.cluster.ps_endpoints.empty() && s.cluster.ps > 0) {
    return UsageError(
        "ps={} asks for PS nodes among the ranks, ps_endpoints={} for those that run already: "
        "give only one",
        s.cluster.ps, fmt::join(s.cluster.ps_endpoints, ","));
  }
  if (s.cluster.ps_per_host > 0 && (s.cluster.ps >= 0 || !s.cluster.ps_endpoints.empty())) {
    return UsageError(
        "ps_per_host={} says how many PS nodes there are, and so does {}: give only one",
        s.cluster.ps_per_host, s.cluster.ps >= 0 ? "ps" : "ps_endpoints");
  }
  return OkStatus();
}

}  // namespace

Status CheckStorageOptions(const NodeOptions& storage) {
  for (const auto& [name, value] : storage.own) {
    if (RowStores().Declares(storage.store, name) ||
        CachePolicies().Declares(storage.cache_policy, name)) {
      continue;
    }
    return UsageError("{}={}: neither store {} nor cache policy {} has a use for it", name, value,
                      storage.store, storage.cache_policy);
  }
  return OkStatus();
}

Status CheckTogether(const Settings& settings, bool reads_data) {
  RETURN_IF_ERROR(CheckData(settings, reads_data));
  RETURN_IF_ERROR(CheckModelDirectory(settings));
  RETURN_IF_ERROR(CheckStorage(settings));
  RETURN_IF_ERROR(CheckRecording(settings));
  return CheckPsNodes(settings);
}

}  // namespace rowhouse
