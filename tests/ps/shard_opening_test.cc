// What a shard does with the directory it finds: sentence by sentence. Rows stand for themselves:
// one float a row, its value the row's number.
#include "ps/shard/shard_opening.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "common/durable_file.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "sharding/plans/plan_maker.h"
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

// ---- Rows that were lost, or put back from another time -----------------------------------------

// Saved after 5 steps, and again, with other values, after 6.
class LostRows : public ShardOpening {
 protected:
  void SetUp() override {
    Save(Job(1), 0, "rows", 5);
    std::filesystem::copy(rows_, dir_ / "after_5");
    auto store = Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows");
    ASSERT_OK(store);
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    write.rows.push_back(RowId{3});
    write.records.resize(kLayout.bytes());
    WriteRows action{.ticket = 1, .writes = {}};
    action.writes.push_back(std::move(write));
    ASSERT_OK(std::get<RowsWritten>(store.value()->Execute(std::move(action))).status);
    ASSERT_OK(std::get<StoreSynced>(store.value()->Execute(SyncStore{2, 6})).status);
    store.value().reset();
    ASSERT_OK(Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows")) << "nothing is lost yet";
  }

  std::string Manifest(const std::string& directory) {
    std::string name = ReadFile(directory + "/CURRENT").value();
    return directory + "/" + name.substr(0, name.find('\n'));
  }

  // --load must be refused and leave every file of rows where it is.
  void ExpectRefused(const std::string& words) {
    const std::set<std::string> before = RowFiles();
    const Status refused = Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows").status();
    EXPECT_EQ(refused.exit_code(), 1) << refused.ToString();
    EXPECT_THAT(refused.message(), testing::HasSubstr(words));
    EXPECT_THAT(refused.message(), testing::HasSubstr("Put " + shard_ + " back as it was"));
    EXPECT_EQ(RowFiles(), before);
  }

  std::set<std::string> RowFiles() {
    std::set<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(rows_, ignored)) {
      if (entry.path().extension() == ".sst") files.insert(entry.path());
    }
    return files;
  }

  const std::string shard_ = ShardDirectory(dir_ / "rows", ShardId{0});
  const std::string rows_ = RowsDirectory(shard_);
};

TEST_F(LostRows, AnEmptyDirectory) {
  std::filesystem::remove_all(rows_);
  std::filesystem::create_directory(rows_);
  ExpectRefused("no rows in " + rows_);
}

TEST_F(LostRows, NoDirectory) {
  std::filesystem::remove_all(rows_);
  ExpectRefused("no rows in " + rows_);
  EXPECT_FALSE(std::filesystem::exists(rows_));
}

TEST_F(LostRows, NoCurrent) {
  std::filesystem::remove(rows_ + "/CURRENT");
  ExpectRefused("no rows in " + rows_);
}

TEST_F(LostRows, AnOlderManifestOfRocksDb) {
  const std::string older = Manifest(dir_ / "after_5");
  std::filesystem::remove(Manifest(rows_));
  std::filesystem::copy(older, rows_);
  std::filesystem::copy(dir_ / "after_5" + "/CURRENT", rows_,
                        std::filesystem::copy_options::overwrite_existing);
  ExpectRefused("these are not the rows that were saved there");
}

// Wherever it is cut: either all rows are there, or they are refused.
TEST_F(LostRows, AManifestOfRocksDbThatIsCut) {
  std::filesystem::copy(rows_, dir_ / "whole");
  const auto bytes = std::filesystem::file_size(Manifest(rows_));
  for (auto kept = bytes; kept > 0; kept -= std::min<uintmax_t>(kept, 23)) {
    std::filesystem::remove_all(rows_);
    std::filesystem::copy(dir_ / "whole", rows_);
    std::filesystem::resize_file(Manifest(rows_), kept);
    const std::set<std::string> before = RowFiles();
    auto opened = Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows");
    if (opened.ok()) {
      uint64_t rows = 0;
      Digest(*opened.value(), &rows);
      EXPECT_EQ(rows, kRows) << kept << " of " << bytes;
    } else {
      EXPECT_EQ(opened.status().exit_code(), 1) << opened.status().ToString();
      EXPECT_EQ(RowFiles(), before) << kept << " of " << bytes;
    }
  }
}

TEST_F(LostRows, AllOfAnEarlierTime) {
  std::filesystem::remove_all(rows_);
  std::filesystem::copy(dir_ / "after_5", rows_);
  ExpectRefused("these are not the rows that were saved there");
}

TEST_F(LostRows, ThatAreRoutedAreRefusedToo) {
  std::filesystem::remove(rows_ + "/CURRENT");
  const Status refused = Open(Loading(Job(2), Job(1), "rows", 6), 0, "new").status();
  EXPECT_THAT(refused.message(), testing::HasSubstr("no rows in " + rows_));
}

TEST_F(LostRows, AStateOfAnOlderProgramHasNoStampAndIsTaken) {
  ASSERT_OK(WriteState(shard_, {.is_clean = true, .step = 6}));
  EXPECT_OK(Open(Loading(Job(1), Job(1), "rows", 6), 0, "rows"));
}

// ---- A disk that is taken away in the middle of a run -------------------------------------------

TEST_F(ShardOpening, WhatTheOperatorCouldHaveMendedBeforeIsTheWorldsFaultInARun) {
  auto store = Open(Job(1), 0, "rows");
  ASSERT_OK(store);
  // As of a file system that became read-only: nothing can be written beside the rows any more.
  const std::string shard = ShardDirectory(dir_ / "rows", ShardId{0});
  std::filesystem::create_directory(shard + "/STATE.json.tmp");
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

// ---- Rows that are replaced
// ----------------------------------------------------------------------

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

// ---- Where routed rows were to lie, there are others --------------------------------------------

// Every file under `directory`, with its bytes.
std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files[entry.path()] = ReadFile(entry.path()).value();
  }
  return files;
}

// Model A is saved in "old" as one shard; its rows are to be routed into "new".
class RoutingOntoRows : public ShardOpening {
 protected:
  void SetUp() override { Save(Job(1), 0, "old", 5); }
  JobSpec Routing() { return Loading(Job(1), Job(1), "old", 5); }
  static JobSpec ModelB() {
    JobSpec job = Job(1);
    job.model_id = "model-b";
    return job;
  }

  // Routes into "new", which must be refused with `code`, name `words` and change nothing.
  void ExpectRefused(StatusCode code, const std::string& words) {
    const auto before = FilesOf(dir_ / "new");
    ASSERT_FALSE(before.empty());
    const Status refused = Open(Routing(), 0, "new").status();
    EXPECT_EQ(refused.code(), code) << refused.ToString();
    EXPECT_THAT(refused.message(), testing::HasSubstr(words));
    EXPECT_EQ(FilesOf(dir_ / "new"), before);
  }

  void ExpectRouted() {
    auto store = Open(Routing(), 0, "new");
    ASSERT_OK(store);
    uint64_t rows = 0;
    Digest(*store.value(), &rows);
    EXPECT_EQ(rows, kRows);
  }

  const std::string shard_ = ShardDirectory(dir_ / "new", ShardId{0});
  const std::string state_ = shard_ + "/STATE.json";
};

TEST_F(RoutingOntoRows, ADamagedStateIsNoMissingOne) {
  for (const bool is_mine : {false, true}) {
    std::filesystem::remove_all(dir_ / "new");
    Save(is_mine ? Job(1) : ModelB(), 0, "new", 7);
    const std::string whole = ReadFile(state_).value();
    for (size_t at = 0; at + 1 < whole.size(); ++at) {  // The last one is a line feed.
      std::string flipped = whole;
      flipped[at] ^= 0x10;
      ASSERT_OK(WriteFileDurably(state_, flipped));
      if (is_mine) {
        ExpectRefused(StatusCode::kCorruption, state_);
      } else {
        ExpectRefused(StatusCode::kUsage, "(of model model-b)");
      }
    }
  }
}

TEST_F(RoutingOntoRows, AStateThatCannotBeReadIsNoMissingOne) {
  Save(Job(1), 0, "new", 7);
  std::filesystem::remove(state_);
  std::filesystem::create_directory(state_);
  ExpectRefused(StatusCode::kUsage, state_);
}

TEST_F(RoutingOntoRows, AStateOfANewerFormatIsLeftToANewerProgram) {
  const std::string newer = R"({"format": 2, "state": "clean", "step": 7})";
  Save(Job(1), 0, "new", 7);
  ASSERT_OK(WriteFileDurably(state_, newer));
  ExpectRefused(StatusCode::kUsage, "has format 2");
  std::filesystem::remove_all(dir_ / "new");
  Save(ModelB(), 0, "new", 7);
  ASSERT_OK(WriteFileDurably(state_, newer));
  ExpectRefused(StatusCode::kUsage, "(of model model-b)");
}

TEST_F(RoutingOntoRows, AnotherOwnersRowsStayWithoutAStateToo) {
  const auto change = [](const std::function<void(JobSpec&)>& with) {
    JobSpec job = Job(1);
    with(job);
    return job;
  };
  for (const JobSpec& other : {ModelB(), change([](JobSpec& job) { job.config_digest = "d"; }),
                               change([](JobSpec& job) { job.plan = Job(2).plan; })}) {
    std::filesystem::remove_all(dir_ / "new");
    Save(other, 0, "new", 7);
    std::filesystem::remove(state_);
    ExpectRefused(StatusCode::kUsage, "holds rows already");
  }
}

TEST_F(RoutingOntoRows, AnOwnerThatCannotBeReadIsNobodysLeave) {
  Save(Job(1), 0, "new", 7);
  std::filesystem::remove(state_);
  ASSERT_OK(WriteFileDurably(shard_ + "/OWNER.json", "{"));
  ExpectRefused(StatusCode::kUsage, "OWNER.json");
}

TEST_F(RoutingOntoRows, WhatACutOffRoutingLeavesIsClearedAway) {
  Save(Job(1), 0, "new", 7);
  std::filesystem::remove(state_);
  ASSERT_OK(WriteFileDurably(shard_ + "/leftover", "of the routing"));
  ExpectRouted();
  EXPECT_FALSE(std::filesystem::exists(shard_ + "/leftover"));
  EXPECT_TRUE(ReadState(shard_).value().is_clean);
  EXPECT_EQ(ReadState(shard_).value().step, 5u);
}

TEST_F(RoutingOntoRows, ItsHalfWrittenBytesAreClearedAwayToo) {
  Save(Job(1), 0, "new", 7);
  std::filesystem::remove(state_);
  ASSERT_OK(WriteFileDurably(RowsDirectory(shard_) + "/CURRENT", "MANI"));
  ExpectRouted();
}

TEST_F(RoutingOntoRows, RowsInUseAreNoLeftovers) {
  auto running = Open(Job(1), 0, "new");  // An owner, and no state before the first row.
  ASSERT_OK(running);
  ExpectRefused(StatusCode::kUsage, "in use");
  running.value().reset();
  ExpectRouted();
}

TEST_F(RoutingOntoRows, ARoutingThatFailsLeavesNothing) {
  ASSERT_OK(WriteFileDurably(RowsDirectory(ShardDirectory(dir_ / "old", ShardId{0})) + "/CURRENT",
                             "MANI"));
  EXPECT_FALSE(Open(Routing(), 0, "new").ok());
  EXPECT_FALSE(std::filesystem::exists(shard_));
}

TEST_F(ShardOpening, RowsInMemoryCannotBeLoaded) {
  JobSpec job = Loading(Job(1), Job(1), "rows", 5);
  const Status refused =
      OpenShardStore({.store = "memory", .host = "here"}, job, ShardId{0}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
}

// ---- Checkpoints --------------------------------------------------------------------------------

class ShardRestoring : public ShardOpening {
 protected:
  // Rows 0 to 9 after 5 steps, with a checkpoint; then a run changed row 1 and was killed.
  void SetUp() override {
    Save(Job(1), 0, "rows", 5);
    auto store = Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows");
    ASSERT_OK(store);
    const auto made = std::get<StoreCheckpointed>(store.value()->Execute(CheckpointStore{
        .ticket = 4, .phase = CheckpointPhase::kMake, .name = "step-5", .steps = 5}));
    ASSERT_OK(made.status);
    EXPECT_EQ(made.directory, Part());
    checksum_ = made.checksum;
    uint64_t rows = 0;
    digest_ = Digest(*store.value(), &rows);
    Change(*store.value());
  }

  static void Change(ShardStore& store) {
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    write.rows.push_back(RowId{1});
    write.records.assign(kLayout.bytes(), std::byte{});
    WriteRows action{.ticket = 1, .writes = {}};
    action.writes.push_back(std::move(write));
    ASSERT_OK(std::get<RowsWritten>(store.Execute(std::move(action))).status);
  }

  std::string Directory() { return ShardDirectory(dir_ / "rows", ShardId{0}); }
  std::string Part() { return CheckpointPart(Directory(), "step-5"); }
  JobSpec Restoring() {
    JobSpec job = Job(1);
    job.is_load = true;
    job.load = {.step = 5, .plan_digest = job.plan.digest(), .shards = {}, .checkpoint = "step-5"};
    job.load.shards.push_back(
        {.shard = ShardId{0}, .host = "here", .directory = Part(), .checksum = checksum_});
    return job;
  }
  std::string DigestOfRestored() {
    auto store = Open(Restoring(), 0, "rows");
    EXPECT_OK(store);
    if (!store.ok()) return "";
    uint64_t rows = 0;
    return Digest(*store.value(), &rows);
  }

  std::string checksum_, digest_;
};

TEST_F(ShardRestoring, RowsOfTheKilledRunGoWhenTheNextOneChangesItsFirst) {
  const std::string superseded = Directory() + ".superseded";
  {
    auto store = Open(Restoring(), 0, "rows");
    ASSERT_OK(store);
    uint64_t rows = 0;
    EXPECT_EQ(Digest(*store.value(), &rows), digest_);
    EXPECT_TRUE(std::filesystem::exists(superseded));
    Change(*store.value());
    EXPECT_FALSE(std::filesystem::exists(superseded));
  }
  EXPECT_EQ(SumUpPart(Part()).value().checksum, checksum_);
  EXPECT_EQ(DigestOfRestored(), digest_);
}

TEST_F(ShardRestoring, ARunThatChangesNothingLeavesRowsThatNeedNoCopy) {
  EXPECT_EQ(DigestOfRestored(), digest_);
  std::filesystem::create_directory(Directory() + "/seen");
  EXPECT_EQ(DigestOfRestored(), digest_);
  EXPECT_TRUE(std::filesystem::exists(Directory() + "/seen"));
}

// Each state that a kill during the restoring leaves.
TEST_F(ShardRestoring, IsTakenUpAgainWhereverItWasCutOff) {
  ASSERT_OK(CopyPart(Part(), CopyOf(Directory())));
  std::filesystem::remove(CopyOf(Directory()) + "/STATE.json");
  EXPECT_EQ(DigestOfRestored(), digest_) << "while the copy was made";
  std::filesystem::remove_all(Directory());
  EXPECT_EQ(DigestOfRestored(), digest_) << "between the two renames";
  ASSERT_OK(WriteState(Directory(), {.is_clean = false, .step = 5}));
  EXPECT_EQ(DigestOfRestored(), digest_) << "changed, and the rows before not deleted yet";
}

// A run with --overwrite that was killed before it changed a row: the old rows were put back.
TEST_F(ShardRestoring, RowsOfTheModelThatThisOneReplacedGoToo) {
  DirectoryOwner owner = ReadOwner(Directory()).value();
  owner.model = "model-b";
  ASSERT_OK(WriteOwner(Directory(), owner));
  EXPECT_EQ(DigestOfRestored(), digest_);
}

TEST_F(ShardRestoring, ADamagedPartIsRefusedAndNothingIsChanged) {
  ASSERT_OK(WriteFileDurably(Part() + "/written_rows", "x"));
  const Status refused = Open(Restoring(), 0, "rows").status();
  EXPECT_EQ(refused.code(), StatusCode::kCorruption);
  EXPECT_THAT(refused.message(), testing::HasSubstr("is not the part of step-5 that was made"));
  EXPECT_FALSE(ReadState(Directory()).value().is_clean);
  EXPECT_FALSE(std::filesystem::exists(Directory() + ".superseded"));
}

TEST_F(ShardRestoring, UnderAnotherRowDirectoryTheRowsOfThePartAreRouted) {
  JobSpec job = Restoring();
  job.plan = MakeRowWisePlan(job.tables, 2);
  RowsDigest sum;
  for (uint32_t s = 0; s < 2; ++s) {
    auto store = Open(job, s, "other");
    ASSERT_OK(store);
    const auto scan = std::get<StoreScanned>(store.value()->Execute(ScanStore{3}));
    sum.Merge(RowsDigest(scan.digest_high, scan.digest_low));
  }
  EXPECT_EQ(sum.hex(), digest_);
}

}  // namespace
}  // namespace rowhouse
