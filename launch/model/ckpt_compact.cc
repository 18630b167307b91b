#include "launch/model/ckpt_compact.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/counted.h"
#include "launch/model/ckpt_figures.h"
#include "ps/store/store_environment.h"

namespace rowhouse {
namespace {

std::string DescribeFiles(const std::vector<RowStoreLevel>& levels) {
  return fmt::format("{} in {}", Megabytes(BytesOf(levels)), Counted(FilesOf(levels), "file"));
}

}  // namespace

Status CompactShards(const SavedRows& model, const NodeOptions& storage, const std::string& given,
                     bool prints, nlohmann::ordered_json* json) {
  const auto environment_of = [&storage](const std::string& compression) {
    return std::make_shared<StoreEnvironment>(
        StoreEnvironmentOptions{.compression = compression, .direct_reads = storage.direct_reads});
  };
  // Errors come before anything is changed.
  std::vector<std::string> compressions;
  for (const SavedShard& saved : model.manifest().shards) {
    ASSIGN_OR_RETURN(const auto files, model.OpenShard(saved));
    compressions.push_back(given);
    if (!given.empty()) continue;
    ASSIGN_OR_RETURN(compressions.back(), files->compression());
  }
  for (size_t s = 0; s < compressions.size(); ++s) {
    const SavedShard& saved = model.manifest().shards[s];
    const std::string& compression = compressions[s];
    ASSIGN_OR_RETURN(const auto rows,
                     model.OpenShard(saved, {.environment = environment_of(compression)}));
    const std::vector<RowStoreLevel> before = rows->levels();
    RETURN_IF_ERROR(rows->Compact().Annotate(fmt::format("shard {}", Raw(saved.shard))));
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
