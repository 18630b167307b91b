// ckpt compact: rewrites each shard's files so that each row is there once.
//
// Threads: one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/status.h"
#include "launch/model/saved_rows.h"
#include "ps/node/node_options.h"

namespace rowhouse {

// `model`: the one in `model_dir`, whose manifest then names the rows anew. `given`: the
// compression asked for; "": what the files of each shard have. Compacting a large shard takes
// minutes, so that each is reported when it is done: in `json`, and with `prints` as a line on
// stdout. kUsage, and nothing is changed, for rows that cannot be opened here. Rows that a
// compaction was cut off at are first compared with the rows digest: kCorruption if they are
// others.
Status CompactShards(const std::string& model_dir, const SavedRows& model,
                     const NodeOptions& storage, const std::string& given, bool prints,
                     nlohmann::ordered_json* json);

}  // namespace rowhouse
