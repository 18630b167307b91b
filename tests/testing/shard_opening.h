// ShardOpening: shards of a table that are saved in a directory and opened again. Rows stand for
// themselves: one float a row, its value the row's number.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ps/shard/shard_opening.h"
#include "ps/store/directory_state.h"
#include "tests/testing/small_job.h"
#include "tests/testing/testing.h"

namespace rowhouse {

class ShardOpening : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 10;
  static constexpr RecordLayout kLayout{.dim = 1, .state_floats = 0};

  static JobSpec Job(uint32_t shards) { return SmallJob(/*job_id=*/0, kRows, /*dim=*/1, shards); }

  Result<std::unique_ptr<ShardStore>> Open(const JobSpec& job, uint32_t shard,
                                           const std::string& name) {
    return OpenShardStore({.store = "rocksdb", .row_dir = dir_ / name, .host = "here"}, job,
                          ShardId{shard});
  }

  // Writes the rows of `shard` under `job`'s plan and saves them after `steps`.
  void Save(const JobSpec& job, uint32_t shard, const std::string& name, uint64_t steps) {
    auto store = Open(job, shard, name);
    ASSERT_OK(store);
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    for (const Slice& slice : job.plan.slices(TableId{0})) {
      if (Raw(slice.shard) != shard) continue;
      for (uint64_t row = slice.row_begin; row < slice.row_end; ++row) {
        write.rows.push_back(RowId{row});
        std::vector<std::byte> record(kLayout.bytes());
        kLayout.weights(record.data())[0] = static_cast<float>(row);
        write.records.insert(write.records.end(), record.begin(), record.end());
      }
    }
    WriteRows action{.ticket = 1, .writes = {}};
    action.writes.push_back(std::move(write));
    ASSERT_OK(std::get<RowsWritten>(store.value()->Execute(std::move(action))).status);
    ASSERT_OK(std::get<StoreSynced>(store.value()->Execute(SyncStore{2, steps})).status);
  }

  JobSpec Loading(JobSpec job, const JobSpec& saved, const std::string& name, uint64_t steps) {
    job.is_load = true;
    job.load.step = steps;
    job.load.plan_digest = saved.plan.digest();
    for (uint32_t s = 0; s < saved.plan.shards(); ++s) {
      const std::string directory = ShardDirectory(dir_ / name, ShardId{s});
      job.load.shards.push_back({ShardId{s}, "here", directory});
      const Result<DirectoryState> state = ReadState(directory);
      if (state.ok()) job.load.shards.back().stamp = state.value().stamp;
    }
    return job;
  }

  static std::string Digest(ShardStore& store, uint64_t* rows) {
    const auto scan = std::get<StoreScanned>(store.Execute(ScanStore{3}));
    *rows = scan.rows;
    return RowsDigest(scan.digest_high, scan.digest_low).hex();
  }

  TempDir dir_;
};

}  // namespace rowhouse
