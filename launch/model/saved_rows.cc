#include "launch/model/saved_rows.h"

#include <algorithm>
#include <set>

#include "common/counted.h"
#include "launch/model/last_save.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"
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

Status SavedRows::CheckUnchanged() const {
  for (const SavedShard& saved : manifest_.shards) {
    const Result<DirectoryOwner> owner = ReadOwner(saved.directory);
    const Result<DirectoryState> state = ReadState(saved.directory);
    if (!owner.ok() || !state.ok()) continue;  // on another host, or its PS node reports the error
    if (owner.value().model != manifest_.model_id) {
      return UsageError(
          "the rows of the model in {} are gone: a run with --overwrite replaced those in {}, and "
          "did not get as far as to save its own; train anew with --overwrite",
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
                                                       RowStoreOptions options) const {
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
  ASSIGN_OR_RETURN(const DirectoryState state, ReadState(saved.directory));
  RETURN_IF_ERROR(CheckClean(saved.directory, state));
  if (state.step != manifest_.steps) {
    return UsageError("{} holds rows after {} steps, the manifest was saved after {}",
                      saved.directory, state.step, manifest_.steps);
  }
  if (!options.read_only && !saved.checksum.empty()) {
    return UsageError("{} is a part of a checkpoint, which is never changed", saved.directory);
  }
  options.path = RowsDirectory(saved.directory);
  options.creates = false;
  options.expected_stamp = state.stamp;
  Result<std::unique_ptr<RowStore>> rows = RowStores().Make(kStore, options);
  if (rows.ok()) return rows;
  return rows.status().Annotate(fmt::format("shard {}", Raw(saved.shard)));
}

Status SavedRows::ScanRowsOnWorkers(const Visitor& visit) const {
  if (!manifest_.plan.has_worker_rows()) return OkStatus();
  struct Part {
    TableId table;
    std::vector<RowId> rows;  // empty: all
    uint64_t count;
    size_t record_bytes;
  };
  ASSIGN_OR_RETURN(const std::vector<float> dense, ReadDense(model_dir_, manifest_));
  std::span<const std::byte> rest = std::as_bytes(std::span(dense));
  std::vector<Part> parts;
  uint64_t before = rest.size();  // bytes ahead of the rows; they lie at the end
  for (const TableSpec& table : manifest_.tables) {
    const bool is_whole = manifest_.plan.is_on_workers(table.id);
    const std::vector<RowId>& rows = manifest_.plan.worker_rows(table.id);
    if (!is_whole && rows.empty()) continue;
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    parts.push_back({.table = table.id,
                     .rows = rows,
                     .count = is_whole ? table.rows : rows.size(),
                     .record_bytes = LayoutOf(table, *optimizer).bytes()});
    const Part& part = parts.back();
    if (part.count > before / part.record_bytes) {
      return CorruptionError("{}/{} has {} bytes, the rows on the workers alone take more",
                             model_dir_, manifest_.dense_file, rest.size());
    }
    before -= part.count * part.record_bytes;
  }
  rest = rest.subspan(before);
  for (const Part& part : parts) {
    for (uint64_t place = 0; place < part.count; ++place) {
      RETURN_IF_ERROR(visit(part.table, part.rows.empty() ? RowId{place} : part.rows[place],
                            rest.first(part.record_bytes)));
      rest = rest.subspan(part.record_bytes);
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
