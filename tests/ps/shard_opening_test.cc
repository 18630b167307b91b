// What a shard does with the directory it finds: sentence by sentence.
#include "ps/shard/shard_opening.h"

#include <sys/stat.h>
#include <unistd.h>

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
  // Of a save that does not say which rows it means, nobody knows whether these are its.
  JobSpec unnamed = loading;
  for (SavedShard& saved : unnamed.load.shards) saved.stamp.clear();
  EXPECT_THAT(Open(unnamed, 0, "new").status().message(), testing::HasSubstr("holds rows already"));
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

// What a worker names is read only where the node's operator said.
TEST_F(ShardOpening, RowsSavedElsewhereAreReadWhereTheOperatorSaidAndNowhereElse) {
  Save(Job(1), 0, "old", 5);
  JobSpec loading = Loading(Job(2), Job(1), "old", 5);
  const auto open = [&](const std::vector<std::string>& others) {
    const ShardOpeningOptions options{.store = "rocksdb",
                                      .row_dir = dir_ / "new",
                                      .host = "here",
                                      .readable = ReadablePlaces(dir_ / "new", others)};
    return OpenShardStore(options, loading, ShardId{0}).status();
  };
  const std::string saved = loading.load.shards[0].directory;
  for (const std::string& elsewhere : {saved, "/none" + saved, dir_ / "new/../old"}) {
    loading.load.shards[0].directory = elsewhere;
    const Status refused = open({dir_ / "ol"});
    EXPECT_EQ(refused.code(), StatusCode::kUsage);
    EXPECT_THAT(refused.message(), testing::HasSubstr(elsewhere + " is elsewhere; start rowhouse"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
  loading.load.shards[0].directory = saved;
  EXPECT_OK(open({dir_ / "old"}));

  loading.load.checkpoint = "../../old";
  EXPECT_EQ(open({dir_ / "old"}).code(), StatusCode::kCorruption) << "part of a path";
}

// Else the run would train, and could not save.
TEST_F(ShardOpening, DirectoriesThatCannotBeWrittenAreFoundBeforeTheFirstStep) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become somebody who may not";
  Save(Job(1), 0, "rows", 5);
  const std::string shard = ShardDirectory(dir_ / "rows", ShardId{0});
  const std::string checkpoints = dir_ / "rows/checkpoints";
  std::filesystem::create_directory(checkpoints);
  for (const std::string& path : {shard, checkpoints}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      ASSERT_EQ(chown(entry.path().c_str(), 65534, 65534), 0);
    }
    ASSERT_EQ(chown(dir_.path().c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(path.c_str(), 0555), 0);
    ASSERT_EQ(seteuid(65534), 0);
    const Status refused = Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows").status();
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_EQ(refused.code(), StatusCode::kUsage) << refused.ToString();
    EXPECT_THAT(refused.message(), testing::HasSubstr("cannot write into " + path));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  EXPECT_OK(Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows"));
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

// The manifest names the host and the directory where they were saved.
TEST_F(ShardOpening, RowsOfACopiedOrMovedModelAreUsedOnAnotherHost) {
  Save(Job(1), 0, "saved", 3);
  const JobSpec loading = Loading(Job(1), Job(1), "saved", 3);
  std::filesystem::copy(dir_ / "saved", dir_ / "copy", std::filesystem::copy_options::recursive);
  std::filesystem::rename(dir_ / "saved", dir_ / "gone");
  const auto open = [&](const JobSpec& job) {
    return OpenShardStore({.store = "rocksdb", .row_dir = dir_ / "copy", .host = "another"}, job,
                          ShardId{0});
  };
  {
    auto store = open(loading);
    ASSERT_OK(store);
    uint64_t rows = 0;
    Digest(*store.value(), &rows);
    EXPECT_EQ(rows, kRows);
  }
  // Rows that the manifest does not name are not taken for those that it does.
  JobSpec other = loading;
  other.load.shards[0].stamp = "00";
  EXPECT_EQ(open(other).status().code(), StatusCode::kUsage);
}

TEST_F(ShardOpening, RowsInMemoryCannotBeLoaded) {
  JobSpec job = Loading(Job(1), Job(1), "rows", 5);
  const Status refused =
      OpenShardStore({.store = "memory", .host = "here"}, job, ShardId{0}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
