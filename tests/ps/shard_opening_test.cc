// What a shard does with the directory it finds: sentence by sentence.
#include "ps/shard/shard_opening.h"

#include <filesystem>

#include "ps/store/directory_state.h"
#include "tests/testing/shard_opening.h"

namespace rowhouse {
namespace {

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

// A disk that is taken away in the middle of a run.
TEST_F(ShardOpening, WhatTheOperatorCouldHaveMendedBeforeIsTheWorldsFaultInARun) {
  auto store = Open(Job(1), 0, "rows");
  ASSERT_OK(store);
  // As of a file system that became read-only: nothing can be written beside the rows any more.
  const std::string shard = ShardDirectory(dir_ / "rows", ShardId{0});
  std::filesystem::remove(shard + "/STATE.json");
  std::filesystem::create_directory(shard + "/STATE.json");
  const Status direct = WriteState(shard, {});
  ASSERT_EQ(direct.exit_code(), 2) << "else this tests nothing: " << direct.ToString();
  StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
  write.rows.push_back(RowId{0});
  write.records.resize(kLayout.bytes());
  WriteRows action{.ticket = 1, .writes = {}};
  action.writes.push_back(std::move(write));
  const Status written = std::get<RowsWritten>(store.value()->Execute(std::move(action))).status;
  EXPECT_EQ(written.exit_code(), 1) << written.ToString();
  EXPECT_EQ(written.message(), direct.message());
}

TEST_F(ShardOpening, RowsInMemoryCannotBeLoaded) {
  JobSpec job = Loading(Job(1), Job(1), "rows", 5);
  const Status refused =
      OpenShardStore({.store = "memory", .host = "here"}, job, ShardId{0}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
