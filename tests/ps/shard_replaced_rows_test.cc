// Rows of a model that another one replaces: they go when the first row of that one is written.
#include <filesystem>

#include "common/durable_file.h"
#include "ps/shard/routed_rows.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "tests/testing/locked_file.h"
#include "tests/testing/shard_opening.h"

namespace rowhouse {
namespace {

class ReplacedRows : public ShardOpening {
 protected:
  ReplacedRows() {
    replacing_.model_id = "model-b";
    replacing_.overwrite = true;
  }
  void SetUp() override { Save(Job(1), 0, "rows", 5); }

  std::string OwnerOf() { return ReadOwner(shard_).value().model; }
  bool CanBeLoaded() { return Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows").ok(); }
  void WriteARow(ShardStore& store) {
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    write.rows.push_back(RowId{0});
    write.records.resize(kLayout.bytes());
    WriteRows action{.ticket = 1, .writes = {}};
    action.writes.push_back(std::move(write));
    ASSERT_OK(std::get<RowsWritten>(store.Execute(std::move(action))).status);
  }

  JobSpec replacing_ = Job(1);
  const std::string shard_ = ShardDirectory(dir_ / "rows", ShardId{0});
};

TEST_F(ReplacedRows, OfARunThatNeverChangesARowArePutBack) {
  auto store = Open(replacing_, 0, "rows");
  ASSERT_OK(store);
  EXPECT_EQ(OwnerOf(), "model-b");
  store.value().reset();
  EXPECT_EQ(OwnerOf(), "model-a");
  EXPECT_TRUE(CanBeLoaded());
}

TEST_F(ReplacedRows, GoWithTheFirstRowThatIsWritten) {
  auto store = Open(replacing_, 0, "rows");
  ASSERT_OK(store);
  EXPECT_TRUE(std::filesystem::exists(shard_ + ".replaced"));
  WriteARow(*store.value());
  EXPECT_FALSE(std::filesystem::exists(shard_ + ".replaced"));
  store.value().reset();
  EXPECT_EQ(OwnerOf(), "model-b");
}

TEST_F(ReplacedRows, GoWithTheirCheckpointsAndNoOthers) {
  const auto make_part = [&](const std::string& name, const std::string& model) {
    const std::string part = CheckpointPart(shard_, name);
    ASSERT_OK(MakeDirectoryDurably(part));
    ASSERT_OK(WriteOwner(part, {.model = model, .shard = ShardId{0}, .shards = 1}));
  };
  make_part("step-3", "model-a");
  make_part("step-4", "model-c");
  auto store = Open(replacing_, 0, "rows");
  ASSERT_OK(store);
  make_part("step-0", "model-b");
  EXPECT_TRUE(std::filesystem::exists(CheckpointPart(shard_, "step-3")));
  WriteARow(*store.value());
  EXPECT_FALSE(std::filesystem::exists(CheckpointPart(shard_, "step-3")));
  EXPECT_TRUE(std::filesystem::exists(CheckpointPart(shard_, "step-4")));
  EXPECT_TRUE(std::filesystem::exists(CheckpointPart(shard_, "step-0")));
}

TEST_F(ReplacedRows, GoWithASaveOfNoRows) {
  auto store = Open(replacing_, 0, "rows");
  ASSERT_OK(store);
  ASSERT_OK(std::get<StoreSynced>(store.value()->Execute(SyncStore{2, 1})).status);
  store.value().reset();
  EXPECT_EQ(OwnerOf(), "model-b");
}

TEST_F(ReplacedRows, OfARunThatWasKilledBeforeItsFirstRowArePutBack) {
  std::filesystem::copy(shard_, shard_ + ".replaced", std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(shard_);
  EXPECT_TRUE(CanBeLoaded()) << "killed between the two renames";
  std::filesystem::copy(shard_, shard_ + ".replaced", std::filesystem::copy_options::recursive);
  std::filesystem::remove(shard_ + "/STATE.json");
  EXPECT_TRUE(CanBeLoaded()) << "killed after it claimed the directory";
}

TEST_F(ReplacedRows, OfARunThatWasKilledAfterItsFirstRowGo) {
  std::filesystem::copy(shard_, shard_ + ".replaced", std::filesystem::copy_options::recursive);
  EXPECT_TRUE(CanBeLoaded());
  EXPECT_FALSE(std::filesystem::exists(shard_ + ".replaced"));
}

// So are they read, and stay, where a run goes on in another row directory, or under another plan.
TEST_F(ReplacedRows, OfARunThatWasKilledBeforeItsFirstRowCanBeMoved) {
  const JobSpec same = Loading(Job(1), Job(1), "rows", 5),
                other = Loading(Job(2), Job(1), "rows", 5);
  std::string digest, moved;
  uint64_t rows = 0;
  digest = Digest(*Open(same, 0, "rows").value(), &rows);
  const auto digest_of_move = [&](const std::string& name) {
    auto store = Open(same, 0, name);
    EXPECT_OK(store);
    return store.ok() ? Digest(*store.value(), &rows) : "";
  };
  std::filesystem::rename(shard_, shard_ + ".replaced");
  EXPECT_EQ(digest_of_move("second"), digest) << "killed between the two renames";
  ASSERT_OK(MakeDirectoryDurably(shard_));
  ASSERT_OK(WriteOwner(shard_, {.model = "model-b", .shard = ShardId{0}, .shards = 1}));
  EXPECT_EQ(digest_of_move("third"), digest) << "killed after it claimed the directory";
  uint64_t halves = 0;
  for (const uint32_t shard : {0, 1}) {
    auto store = Open(other, shard, "fourth");
    ASSERT_OK(store);
    Digest(*store.value(), &rows);
    halves += rows;
  }
  EXPECT_EQ(halves, kRows);
  EXPECT_EQ(OwnerOf(), "model-b");
  EXPECT_TRUE(std::filesystem::exists(shard_ + ".replaced"));
}

TEST_F(ReplacedRows, OfARunThatChangedRowsOrGoesOnAreNotMoved) {
  const JobSpec loading = Loading(Job(1), Job(1), "rows", 5);
  std::filesystem::rename(shard_, shard_ + ".replaced");
  replacing_.overwrite = false;
  Open(replacing_, 0, "fresh").value().reset();
  std::filesystem::rename(ShardDirectory(dir_ / "fresh", ShardId{0}), shard_);
  {
    LockedByAnotherProcess running(shard_ + "/rows/LOCK");
    const ShardOpeningOptions options{
        .store = "rocksdb", .row_dir = dir_ / "other", .host = "here"};
    EXPECT_THAT(RouteRows(options, loading, {ShardId{0}}).message(),
                testing::HasSubstr("in use by another process"));
  }
  ASSERT_OK(WriteState(shard_, {.is_clean = false, .step = 0}));
  EXPECT_EQ(Open(loading, 0, "other").status().message(),
            fmt::format("--load: {} holds shard 0 of model model-b, not shard 0 of model model-a",
                        shard_));
  EXPECT_TRUE(std::filesystem::exists(shard_ + ".replaced"));
}

TEST_F(ReplacedRows, OfARunThatGoesOnStay) {
  auto running = Open(replacing_, 0, "rows");
  ASSERT_OK(running);
  JobSpec third = replacing_;
  third.model_id = "model-c";
  EXPECT_THAT(Open(third, 0, "rows").status().message(), testing::HasSubstr("in use"));
  EXPECT_TRUE(std::filesystem::exists(shard_ + ".replaced"));
}

TEST_F(ReplacedRows, AfterAKillTheMessageSaysWhatHelps) {
  ASSERT_OK(WriteState(shard_, {.is_clean = false, .step = 5}));
  const std::string said = Open(Job(1), 0, "rows").status().message();
  EXPECT_THAT(said,
              testing::HasSubstr("Nothing can go on from them: delete them with --overwrite"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("--load")));
}

TEST_F(ReplacedRows, AfterAKillBeforeTheFirstRowNothingIsInTheWay) {
  Open(Job(1), 0, "fresh").value().reset();
  EXPECT_OK(Open(Job(1), 0, "fresh"));
}

}  // namespace
}  // namespace rowhouse
