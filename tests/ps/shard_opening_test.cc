// What a shard does with the directory it finds: sentence by sentence. Rows stand for themselves:
// one float a row, its value the row's number.
#include "ps/shard_opening.h"

#include <filesystem>

#include "ps/directory_state.h"
#include "sharding/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRows = 10;
constexpr RecordLayout kLayout{.dim = 1, .state_floats = 0};

JobSpec Job(uint32_t shards) {
  TableSpec table;
  table.name = "t";
  table.rows = kRows;
  table.dim = 1;
  JobSpec job;
  job.model_id = "model-a";
  job.config_digest = "c";
  job.tables = {table};
  job.plan = MakeRowWisePlan(job.tables, shards);
  return job;
}

class ShardOpening : public testing::Test {
 protected:
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
      job.load.shards.push_back({ShardId{s}, "here", ShardDirectory(dir_ / name, ShardId{s})});
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

TEST_F(ShardOpening, AnotherModelsRowsAreRefusedAndDeletedOnlyOnDemand) {
  Save(Job(1), 0, "rows", 5);
  JobSpec other = Job(1);
  other.model_id = "model-b";
  const Status refused = Open(other, 0, "rows").status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), testing::HasSubstr("holds rows of model model-a"));
  other.overwrite = true;
  auto store = Open(other, 0, "rows");
  ASSERT_OK(store);
  uint64_t rows = 1;
  Digest(*store.value(), &rows);
  EXPECT_EQ(rows, 0u);
}

TEST_F(ShardOpening, ADirectoryThatIsNotOursIsNeverDeleted) {
  std::filesystem::create_directories(dir_ / "rows/shard-0000/photos");
  JobSpec job = Job(1);
  job.overwrite = true;
  EXPECT_EQ(Open(job, 0, "rows").status().code(), StatusCode::kUsage);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "rows/shard-0000/photos"));
}

TEST_F(ShardOpening, RowsInUseAreNotDeletedEither) {
  auto running = Open(Job(1), 0, "rows");
  ASSERT_OK(running);
  JobSpec job = Job(1);
  job.overwrite = true;
  const Status refused = Open(job, 0, "rows").status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), testing::HasSubstr("in use"));
}

TEST_F(ShardOpening, SavedRowsOpenOnlyAtTheStepOfTheManifest) {
  Save(Job(1), 0, "rows", 5);
  EXPECT_OK(Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows"));
  const Status refused = Open(Loading(Job(1), Job(1), "rows", 4), 0, "rows").status();
  EXPECT_THAT(refused.message(), testing::HasSubstr("after 5 steps"));
}

TEST_F(ShardOpening, RowsOfARunThatDidNotEndAreRefused) {
  Save(Job(1), 0, "rows", 5);
  ASSERT_OK(WriteState(ShardDirectory(dir_ / "rows", ShardId{0}), {.is_clean = false, .step = 5}));
  EXPECT_EQ(Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows").status().code(),
            StatusCode::kUsage);
}

TEST_F(ShardOpening, UnderAnotherPlanEveryRowIsRoutedToItsShard) {
  for (uint32_t s = 0; s < 2; ++s) Save(Job(2), s, "old", 5);
  Save(Job(1), 0, "all", 5);
  auto whole = Open(Loading(Job(1), Job(1), "all", 5), 0, "all");
  ASSERT_OK(whole);
  uint64_t rows = 0;
  const std::string expected = Digest(*whole.value(), &rows);
  EXPECT_EQ(rows, kRows);

  const JobSpec loading = Loading(Job(3), Job(2), "old", 5);
  for (int attempt = 0; attempt < 2; ++attempt) {  // Again, as after a refusal elsewhere.
    RowsDigest sum;
    uint64_t total = 0;
    for (uint32_t s = 0; s < 3; ++s) {
      auto store = Open(loading, s, "new");
      ASSERT_OK(store);
      const auto scan = std::get<StoreScanned>(store.value()->Execute(ScanStore{3}));
      sum.Merge(RowsDigest(scan.digest_high, scan.digest_low));
      total += scan.rows;
    }
    EXPECT_EQ(total, kRows);
    EXPECT_EQ(sum.hex(), expected);
  }
}

TEST_F(ShardOpening, RoutingNeedsEverySourceAndAnotherDirectory) {
  for (uint32_t s = 0; s < 2; ++s) Save(Job(2), s, "old", 5);
  const JobSpec loading = Loading(Job(3), Job(2), "old", 5);
  EXPECT_THAT(Open(loading, 0, "old").status().message(),
              testing::HasSubstr("or another --row_dir"));
  std::filesystem::remove_all(ShardDirectory(dir_ / "old", ShardId{1}));
  const Status refused = Open(loading, 0, "new").status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), testing::HasSubstr("shard 1 were saved in"));
  EXPECT_FALSE(std::filesystem::exists(ShardDirectory(dir_ / "new", ShardId{0})));
}

TEST_F(ShardOpening, RowsInMemoryCannotBeLoaded) {
  JobSpec job = Loading(Job(1), Job(1), "rows", 5);
  const Status refused =
      OpenShardStore({.store = "memory", .host = "here"}, job, ShardId{0}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
