// A shard goes back to a checkpoint.
#include <filesystem>

#include "common/durable_file.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/delta_file.h"
#include "ps/store/directory_state.h"
#include "ps/store/replaced_rows.h"
#include "tests/testing/shard_opening.h"

namespace rowhouse {
namespace {

class ShardRestoring : public ShardOpening {
 protected:
  // Rows 0 to 9 after 5 steps, with a checkpoint; then a run changed row 1 and was killed.
  void SetUp() override {
    Save(Job(1), 0, "rows", 5);
    auto store = Open(Loading(Job(1), Job(1), "rows", 5), 0, "rows");
    ASSERT_OK(store);
    const PartMade made = Make(*store.value(), "step-5", 5);
    EXPECT_EQ(made.directory, Part());
    checksum_ = made.checksum;
    uint64_t rows = 0;
    digest_ = Digest(*store.value(), &rows);
    Change(*store.value());
  }

  static PartMade Make(ShardStore& store, const std::string& name, uint64_t steps,
                       const std::vector<uint64_t>& deltas = {}) {
    EXPECT_OK(std::get<StoreCut>(store.ExecuteSave(CutStore{.ticket = 4, .name = name})).status);
    auto made = std::get<PartMade>(store.ExecuteSave(
        MakePart{.ticket = 5, .name = name, .steps = steps, .deltas = deltas, .written_rows = {}}));
    EXPECT_OK(made.status);
    return made;
  }
  // A record whose row has this weight since the step that this LSN names.
  static StoreWrite RowOf(uint64_t row, float weight, uint64_t lsn) {
    StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(kLayout.bytes())}};
    write.rows.push_back(RowId{row});
    write.records.resize(kLayout.bytes());
    kLayout.weights(write.records.data())[0] = weight;
    kLayout.set_trailer(write.records.data(), {.lsn = lsn});
    return write;
  }
  static void AddToDelta(ShardStore& store, uint64_t steps, std::vector<StoreWrite> writes) {
    const auto written = std::get<DeltaWritten>(
        store.ExecuteSave(WriteDelta{.ticket = 3, .steps = steps, .writes = std::move(writes)}));
    EXPECT_OK(written.status);
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

// Whatever a peer asks for, the last whole checkpoint stays, and no part of one is replaced.
TEST_F(ShardRestoring, TheWholeCheckpointIsNeitherDeletedNorReplaced) {
  auto store = Open(Restoring(), 0, "rows");
  ASSERT_OK(store);
  const auto erase = [&](uint64_t steps, const std::string& whole) {
    const auto left = std::get<PartsDeleted>(store.value()->ExecuteSave(
        DeletePartsOf{.names = {"step-5", "step-6", "step-7"}, .whole = whole, .steps = steps}));
    EXPECT_OK(left.status);
    return left.parts;
  };
  EXPECT_EQ(erase(5, ""), std::vector<std::string>{"step-5"});
  Change(*store.value());
  EXPECT_EQ(Make(*store.value(), "step-5", 5).checksum, checksum_);
  EXPECT_EQ(SumUpPart(Part()).value().checksum, checksum_);
  // One that is given up goes; the one before it stays.
  EXPECT_EQ(Make(*store.value(), "step-6", 6).parts.size(), 2u);
  EXPECT_EQ(erase(6, ""), std::vector<std::string>{"step-5"});
  // One that is whole takes its place.
  Make(*store.value(), "step-7", 7);
  EXPECT_EQ(erase(7, "step-7"), std::vector<std::string>{"step-7"});
}

TEST_F(ShardRestoring, BeforeACheckpointIsKnownToBeWholeAllEarlierOnesStay) {
  Save(Job(1), 0, "others", 5);
  auto store = Open(Loading(Job(1), Job(1), "others", 5), 0, "others");
  ASSERT_OK(store);
  for (const char* name : {"step-3", "step-5", "step-8"}) Make(*store.value(), name, 5);
  const auto left = std::get<PartsDeleted>(store.value()->ExecuteSave(
      DeletePartsOf{.names = {"step-3", "step-5", "step-8"}, .whole = "", .steps = 5}));
  ASSERT_OK(left.status);
  EXPECT_EQ(left.parts, std::vector<std::string>{"step-3"});
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
  EXPECT_THAT(refused.message(),
              testing::HasSubstr("step-5/shard-0000 is not the part that was made"));
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

// ---- Parts with delta files ---------------------------------------------------------------------

// A run goes on from step 5 with these changes, and saves after 6 and 7 steps: row 2 is in both
// delta files, row 3 was written to the store after the first of them, row 4 is in the first alone.
class ShardRestoringDeltas : public ShardRestoring {
 protected:
  void SetUp() override {
    ShardRestoring::SetUp();
    auto store = Open(Restoring(), 0, "rows");
    ASSERT_OK(store);
    AddToDelta(*store.value(), 6, {RowOf(2, 20, 6), RowOf(3, 30, 6)});
    AddToDelta(*store.value(), 6, {RowOf(4, 40, 6)});
    Make(*store.value(), "step-6", 6, {6});
    WriteRows write{.ticket = 1, .writes = {}};
    write.writes.push_back(RowOf(3, 33, 7));
    ASSERT_OK(std::get<RowsWritten>(store.value()->Execute(std::move(write))).status);
    AddToDelta(*store.value(), 7, {RowOf(2, 22, 7)});
    checksum_ = Make(*store.value(), "step-7", 7, {6, 7}).checksum;
    // What a later run must not read.
    AddToDelta(*store.value(), 8, {RowOf(2, 0, 8)});
    Change(*store.value());
  }
  std::string Part7() { return CheckpointPart(Directory(), "step-7"); }
  JobSpec Restoring7() {
    JobSpec job = Restoring();
    job.load.step = 7;
    job.load.checkpoint = "step-7";
    job.load.shards[0].directory = Part7();
    job.load.shards[0].checksum = checksum_;
    return job;
  }
  static std::vector<float> WeightsOf(ShardStore& store) {
    ReadRows read{.ticket = 1, .reads = {}};
    StoreRead& rows = read.reads.emplace_back();
    rows.slice.record_bytes = static_cast<uint32_t>(kLayout.bytes());
    for (uint64_t row = 0; row < kRows; ++row) rows.rows.push_back(RowId{row});
    rows.records.resize(kRows * kLayout.bytes());
    const auto event = std::get<RowsRead>(store.Execute(std::move(read)));
    EXPECT_OK(event.status);
    std::vector<float> weights;
    for (uint64_t row = 0; row < kRows; ++row) {
      weights.push_back(kLayout.weights(event.reads[0].records.data() + row * kLayout.bytes())[0]);
    }
    return weights;
  }
  const std::vector<float> expected_ = {0, 1, 22, 33, 40, 5, 6, 7, 8, 9};
};

TEST_F(ShardRestoringDeltas, OfEachRowTheNewestRecordIsRestored) {
  {
    auto store = Open(Restoring7(), 0, "rows");
    ASSERT_OK(store);
    EXPECT_EQ(WeightsOf(*store.value()), expected_);
    EXPECT_FALSE(std::filesystem::exists(DeltaDirectory(Directory())));
  }
  std::filesystem::create_directory(Directory() + "/seen");
  auto again = Open(Restoring7(), 0, "rows");
  ASSERT_OK(again);
  EXPECT_TRUE(std::filesystem::exists(Directory() + "/seen")) << "a run that changed nothing";
  EXPECT_EQ(WeightsOf(*again.value()), expected_);
  Change(*again.value());
  again = Status(StatusCode::kUnavailable, "closed");
  auto restored = Open(Restoring7(), 0, "rows");
  ASSERT_OK(restored);
  EXPECT_EQ(WeightsOf(*restored.value()), expected_);
}

TEST_F(ShardRestoringDeltas, UnderAnotherPlanTheNewestRecordsAreRouted) {
  JobSpec job = Restoring7();
  job.plan = MakeRowWisePlan(job.tables, 2);
  std::string whole;
  {
    auto store = Open(Restoring7(), 0, "rows");
    ASSERT_OK(store);
    uint64_t rows = 0;
    whole = Digest(*store.value(), &rows);
  }
  RowsDigest sum;
  for (uint32_t s = 0; s < 2; ++s) {
    auto store = Open(job, s, "other");
    ASSERT_OK(store);
    const auto scan = std::get<StoreScanned>(store.value()->Execute(ScanStore{3}));
    sum.Merge(RowsDigest(scan.digest_high, scan.digest_low));
  }
  EXPECT_EQ(sum.hex(), whole);
}

TEST_F(ShardRestoringDeltas, UnderAnotherRowDirectoryTheNewestRecordsAreThere) {
  auto store = Open(Restoring7(), 0, "other");
  ASSERT_OK(store);
  EXPECT_EQ(WeightsOf(*store.value()), expected_);
  EXPECT_EQ(SumUpPart(Part7()).value().checksum, checksum_);
}

TEST_F(ShardRestoringDeltas, ADamagedDeltaFileIsNamedAndNothingIsChanged) {
  const std::string path = DeltaPath(Part7(), 6);
  const std::string bytes = ReadFile(path).value();
  for (const size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] ^= 1;
    ASSERT_OK(WriteFileDurably(path, damaged));
    const Status refused = Open(Restoring7(), 0, "rows").status();
    EXPECT_EQ(refused.code(), StatusCode::kCorruption) << refused.message();
    EXPECT_THAT(refused.message(), testing::HasSubstr(path));
    EXPECT_FALSE(ReadState(Directory()).value().is_clean);
  }
  ASSERT_OK(WriteFileDurably(path, bytes.substr(0, bytes.size() - 1)));
  EXPECT_EQ(Open(Restoring7(), 0, "rows").status().code(), StatusCode::kCorruption);
  std::filesystem::remove(path);
  EXPECT_EQ(Open(Restoring7(), 0, "rows").status().code(), StatusCode::kCorruption);
  ASSERT_OK(WriteFileDurably(path, bytes));
  auto store = Open(Restoring7(), 0, "rows");
  ASSERT_OK(store);
  EXPECT_EQ(WeightsOf(*store.value()), expected_);
}

TEST_F(ShardRestoringDeltas, DeltaFilesThatNoPartNeedsAreDeleted) {
  auto store = Open(Restoring7(), 0, "rows");
  ASSERT_OK(store);
  AddToDelta(*store.value(), 8, {RowOf(2, 20, 8)});
  Make(*store.value(), "step-8", 8, {8});
  AddToDelta(*store.value(), 9, {RowOf(2, 20, 9)});
  Make(*store.value(), "step-9", 9, {9});
  EXPECT_FALSE(std::filesystem::exists(DeltaPath(Directory(), 8)));
  EXPECT_TRUE(std::filesystem::exists(DeltaPath(Directory(), 9)));
  EXPECT_TRUE(std::filesystem::exists(DeltaPath(CheckpointPart(Directory(), "step-8"), 8)));
}

TEST_F(ShardRestoringDeltas, AFileThatCannotBeDeletedIsInNoSavesWay) {
  auto store = Open(Restoring7(), 0, "rows");
  ASSERT_OK(store);
  AddToDelta(*store.value(), 8, {RowOf(2, 20, 8)});
  Make(*store.value(), "step-8", 8, {8});
  std::filesystem::create_directories(DeltaDirectory(Directory()) + "/in the way/of a deletion");
  AddToDelta(*store.value(), 9, {RowOf(4, 40, 9)});
  Make(*store.value(), "step-9", 9, {9});
  AddToDelta(*store.value(), 10, {RowOf(5, 50, 10)});
  Make(*store.value(), "step-10", 10, {9, 10});
  EXPECT_FALSE(std::filesystem::exists(DeltaPath(Directory(), 8)));
}

}  // namespace
}  // namespace rowhouse
