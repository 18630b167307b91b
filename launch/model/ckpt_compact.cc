#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/counted.h"
#include "common/kill_point.h"
#include "launch/figures/figure_text.h"
#include "launch/model/ckpt.h"
#include "ps/store/directory_state.h"
#include "ps/store/store_environment.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {
namespace {

std::string DescribeFiles(const std::vector<RowStoreLevel>& levels) {
  return fmt::format("{} in {}", BytesText(BytesOf(levels)), Counted(FilesOf(levels), "file"));
}

// Says in the shard's directory and in the manifest which rows it has; "": not known.
Status NoteStamp(const std::string& model_dir, const SavedShard& shard, const std::string& stamp) {
  ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(model_dir));
  std::ranges::find(manifest.shards, shard.shard, &SavedShard::shard)->stamp = stamp;
  const DirectoryState state = {.is_clean = true, .step = manifest.steps, .stamp = stamp};
  // The manifest must not name rows that the directory does not have.
  if (!stamp.empty()) RETURN_IF_ERROR(WriteState(shard.directory, state));
  RETURN_IF_ERROR(WriteManifest(model_dir, manifest));
  return stamp.empty() ? WriteState(shard.directory, state) : OkStatus();
}

// While a shard is compacted, and after a kill, the rows digest alone says which rows are the
// model's: it is in the manifest before the first stamp is taken away, and rows without a stamp are
// compared with it before they get one.
Status KeepRowsKnown(const std::string& model_dir, const SavedRows& model,
                     const NodeOptions& storage) {
  const bool are_named = std::ranges::none_of(
      model.manifest().shards, [](const SavedShard& saved) { return saved.stamp.empty(); });
  ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(model_dir));
  if (are_named && !manifest.rows_digest.empty()) return OkStatus();
  if (!are_named && manifest.rows_digest.empty()) {
    return CorruptionError("the manifest names neither rows nor their digest; put back a copy");
  }
  Figures found;
  found.json = {{"saves", nlohmann::ordered_json::array()}};
  RETURN_IF_ERROR(VerifySave(model_dir, storage, &found)
                      .Annotate("the rows that a compaction was cut off at are not as saved"));
  if (!manifest.rows_digest.empty()) return OkStatus();
  manifest.rows_digest = found.json["saves"][0]["rows_digest"];
  return WriteManifest(model_dir, manifest);
}

}  // namespace

Status CompactShards(const std::string& model_dir, const SavedRows& model,
                     const NodeOptions& storage, const std::string& given, bool prints,
                     nlohmann::ordered_json* json) {
  const auto environment_of = [&storage](const std::string& compression) {
    return std::make_shared<StoreEnvironment>(
        StoreEnvironmentOptions{.compression = compression, .direct_reads = storage.direct_reads});
  };
  // Errors come before anything is changed.
  std::vector<std::string> compressions;
  for (const SavedShard& saved : model.manifest().shards) {
    ASSIGN_OR_RETURN(const auto files,
                     model.OpenShard(saved, {.read_only = true}, /*compares_digest=*/true));
    compressions.push_back(given);
    if (!given.empty()) continue;
    ASSIGN_OR_RETURN(compressions.back(), files->compression());
  }
  RETURN_IF_ERROR(KeepRowsKnown(model_dir, model, storage));
  for (size_t s = 0; s < compressions.size(); ++s) {
    const SavedShard& saved = model.manifest().shards[s];
    const std::string& compression = compressions[s];
    ASSIGN_OR_RETURN(const auto rows,
                     model.OpenShard(saved, {.environment = environment_of(compression)},
                                     /*compares_digest=*/true));
    RETURN_IF_ERROR(NoteStamp(model_dir, saved, ""));
    KillPoint("compact.begun");
    const std::vector<RowStoreLevel> before = rows->levels();
    const std::string stamp = rows->stamp();
    RETURN_IF_ERROR(rows->Compact().Annotate(fmt::format("shard {}", Raw(saved.shard))));
    RETURN_IF_ERROR(rows->Settle());
    KillPoint("compact.settled");
    const Status kept =
        RestampWrittenRows(saved.directory + kWrittenRowsFile, stamp, rows->stamp());
    // A run that went on from the model would scan all of its rows, and be right.
    VLOG_IF(1, !kept.ok()) << kept.message();
    RETURN_IF_ERROR(NoteStamp(model_dir, saved, rows->stamp()));
    KillPoint("compact.shard_done");
    const std::vector<RowStoreLevel> after = rows->levels();
    json->push_back({{"shard", Raw(saved.shard)},
                     {"file_bytes_before", BytesOf(before)},
                     {"file_bytes", BytesOf(after)},
                     {"files", FilesOf(after)},
                     {"compression", compression}});
    if (!prints) continue;
    fmt::print("shard {}: {} -> {}, compression {}\n", Raw(saved.shard), DescribeFiles(before),
               DescribeFiles(after), compression);
    std::fflush(stdout);
  }
  return OkStatus();
}

}  // namespace rowhouse
