#include "launch/model/saved_rows.h"

#include <algorithm>
#include <set>

#include "common/counted.h"
#include "launch/model/last_save.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/rows_with_deltas.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

namespace {

// The store whose rows are still there after the run.
constexpr const char* kStore = "rocksdb";

bool HoldsShard(const std::string& directory, const Manifest& manifest, ShardId shard) {
  const Result<DirectoryOwner> owner = ReadOwner(directory);
  return owner.ok() && owner.value().model == manifest.model_id && owner.value().shard == shard &&
         owner.value().plan_digest == manifest.plan.digest();
}

bool OwnsRows(const Manifest& manifest, ShardId shard) {
  return std::ranges::any_of(manifest.tables, [&](const TableSpec& table) {
    return std::ranges::any_of(manifest.plan.slices(table.id),
                               [shard](const Slice& slice) { return slice.shard == shard; });
  });
}

// Checks what reading tables and plan does not check.
Status CheckManifest(const Manifest& manifest) {
  std::set<ShardId> named;
  for (const SavedShard& saved : manifest.shards) named.insert(saved.shard);
  if (named.size() != manifest.plan.shards() || named.size() != manifest.shards.size() ||
      (!named.empty() && Raw(*named.rbegin()) >= manifest.plan.shards())) {
    return CorruptionError("shards: its plan has {}, which are not those it lists ({})",
                           Counted(manifest.plan.shards(), "shard"), manifest.shards.size());
  }
  return OkStatus();
}

}  // namespace

Result<SavedRows> SavedRows::Open(const std::string& model_dir, const std::string& row_dir) {
  if (!HasManifest(model_dir)) return UsageError("holds no saved model; train with --model_dir");
  SavedRows rows;
  rows.model_dir_ = model_dir;
  ASSIGN_OR_RETURN(rows.manifest_, ReadManifest(model_dir));
  RETURN_IF_ERROR(CheckManifest(rows.manifest_).Annotate(model_dir + "/manifest.json"));
  for (SavedShard& saved : rows.manifest_.shards) {
    const std::string here = ShardDirectory(RowDirectoryOf(model_dir, row_dir), saved.shard);
    // Whether the rows can be used is checked when they are opened: if those here cannot, others
    // elsewhere must not be taken instead.
    if (HoldsShard(here, rows.manifest_, saved.shard)) saved.directory = here;
  }
  std::erase_if(rows.manifest_.shards, [&rows](const SavedShard& saved) {
    return saved.directory.empty() && !OwnsRows(rows.manifest_, saved.shard);
  });
  return rows;
}

namespace {

// Other rows of as many steps would do as well.
Status CheckNamed(const SavedShard& saved) {
  if (saved.directory.empty() || !saved.stamp.empty() || !saved.checksum.empty()) return OkStatus();
  return UsageError(
      "the manifest does not say which rows {} has, as ckpt compact was cut off; run rowhouse ckpt "
      "compact again: it compares them with the rows digest, and names them",
      saved.directory);
}

}  // namespace

Status SavedRows::CheckUnchanged() const {
  for (const SavedShard& saved : manifest_.shards) {
    RETURN_IF_ERROR(CheckNamed(saved));
    const Result<DirectoryOwner> owner = ReadOwner(saved.directory);
    const Result<DirectoryState> state = ReadState(saved.directory);
    if (!owner.ok() || !state.ok()) continue;  // on another host, or its PS node reports the error
    if (owner.value().model != manifest_.model_id) {
      return UsageError(
          "the rows of the model in {} are gone: a run with --overwrite replaced those in {}, and "
          "ended before it saved its own; train anew with --overwrite",
          model_dir_, saved.directory);
    }
    if (!state.value().is_clean || state.value().step != manifest_.steps) {
      return UsageError(
          "nothing can go on from the model in {}: it was saved after {} steps, and a run that did "
          "not end in order has changed its rows in {} since. Put back a copy of --model_dir and "
          "--row_dir made before that run, or train anew with --overwrite",
          model_dir_, manifest_.steps, saved.directory);
    }
  }
  return OkStatus();
}

const SavedShard* SavedRows::FindShard(ShardId shard) const {
  const auto found = std::find_if(manifest_.shards.begin(), manifest_.shards.end(),
                                  [&](const SavedShard& saved) { return saved.shard == shard; });
  return found == manifest_.shards.end() ? nullptr : &*found;
}

Result<std::unique_ptr<RowStore>> SavedRows::OpenShard(const SavedShard& saved,
                                                       RowStoreOptions options,
                                                       bool compares_digest) const {
  if (saved.directory.empty()) {
    return UsageError(
        "the rows of shard {} were in memory (store=memory) and ended with the run that trained "
        "them; train again with --store=rocksdb to keep them",
        Raw(saved.shard));
  }
  const Result<DirectoryOwner> owner = ReadOwner(saved.directory);
  if (!owner.ok()) {
    return UsageError(
        "the rows of shard {} were saved in \"{}\" on {}, and cannot be read here ({}); make them "
        "readable",
        Raw(saved.shard), saved.directory, saved.host, owner.status().message());
  }
  if (owner.value().model != manifest_.model_id || owner.value().shard != saved.shard) {
    return UsageError("{} holds shard {} of model {}, not shard {} of model {}", saved.directory,
                      Raw(owner.value().shard), owner.value().model, Raw(saved.shard),
                      manifest_.model_id);
  }
  RETURN_IF_ERROR(CheckOwner(saved.directory, owner.value(),
                             {.model = manifest_.model_id,
                              .shard = saved.shard,
                              .shards = manifest_.plan.shards(),
                              .plan_digest = manifest_.plan.digest(),
                              .config_digest = manifest_.config_digest}));
  ASSIGN_OR_RETURN(const DirectoryState state, ReadState(saved.directory));
  RETURN_IF_ERROR(CheckClean(saved.directory, state));
  if (state.step != manifest_.steps) {
    return UsageError("{} holds rows after {} steps, the manifest was saved after {}",
                      saved.directory, state.step, manifest_.steps);
  }
  if (!compares_digest) RETURN_IF_ERROR(CheckNamed(saved));
  if (!saved.stamp.empty() && saved.stamp != state.stamp) {
    return CorruptionError(
        "{} holds other rows than the manifest names (their stamp is {}, and was {}); put back "
        "those "
        "of this model",
        saved.directory, state.stamp.empty() ? "not known" : state.stamp, saved.stamp);
  }
  if (!options.read_only && !saved.checksum.empty()) {
    return UsageError("{} is a part of a checkpoint, which is never changed", saved.directory);
  }
  if (!saved.checksum.empty()) RETURN_IF_ERROR(CheckPart(saved.directory, saved.checksum));
  options.creates = false;
  Result<std::unique_ptr<RowStore>> rows = OpenRowsOf(saved.directory, state, kStore, options);
  if (rows.ok()) return rows;
  return rows.status().Annotate(fmt::format("shard {}", Raw(saved.shard)));
}

std::vector<SavedRows::RowsOnWorkers> SavedRows::TablesOnWorkers() const {
  std::vector<RowsOnWorkers> tables;
  for (const TableSpec& table : manifest_.tables) {
    const bool is_whole = manifest_.plan.is_on_workers(table.id);
    const std::vector<RowId>& rows = manifest_.plan.worker_rows(table.id);
    if (!is_whole && rows.empty()) continue;
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    tables.push_back({.table = table.id,
                      .rows = rows,
                      .count = is_whole ? table.rows : rows.size(),
                      .record_bytes = LayoutOf(table, *optimizer).bytes()});
  }
  return tables;
}

Result<uint64_t> SavedRows::BytesOnWorkers() const {
  uint64_t left = manifest_.dense.bytes;
  for (const RowsOnWorkers& rows : TablesOnWorkers()) {
    if (rows.count > left / rows.record_bytes) {
      return CorruptionError("{}/{} has {} bytes, the rows on the workers alone take more",
                             model_dir_, manifest_.dense.file, manifest_.dense.bytes);
    }
    left -= rows.count * rows.record_bytes;
  }
  return manifest_.dense.bytes - left;
}

Status SavedRows::ScanRowsOnWorkers(const Visitor& visit) const {
  if (!manifest_.plan.has_worker_rows()) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<float> dense, ReadDense(model_dir_, manifest_));
  ASSIGN_OR_RETURN(const uint64_t bytes, BytesOnWorkers());
  // They lie at the end.
  std::span<const std::byte> rest = std::as_bytes(std::span(dense)).last(bytes);
  for (const RowsOnWorkers& of_table : TablesOnWorkers()) {
    for (uint64_t place = 0; place < of_table.count; ++place) {
      RETURN_IF_ERROR(visit(of_table.table,
                            of_table.rows.empty() ? RowId{place} : of_table.rows[place],
                            rest.first(of_table.record_bytes)));
      rest = rest.subspan(of_table.record_bytes);
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
