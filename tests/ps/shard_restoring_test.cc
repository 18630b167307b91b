// A shard goes back to a checkpoint.
#include <filesystem>

#include "common/durable_file.h"
#include "ps/store/checkpoint_part.h"
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

// Whatever a peer asks for, the last whole checkpoint stays, and no part of one is replaced.
TEST_F(ShardRestoring, TheWholeCheckpointIsNeitherDeletedNorReplaced) {
  auto store = Open(Restoring(), 0, "rows");
  ASSERT_OK(store);
  const auto ask = [&](CheckpointPhase phase, uint64_t steps, const std::string& name,
                       const std::vector<std::string>& deleted = {}) {
    auto done = std::get<StoreCheckpointed>(store.value()->Execute(CheckpointStore{
        .ticket = 4, .phase = phase, .name = name, .steps = steps, .deleted = deleted}));
    EXPECT_OK(done.status);
    return done;
  };
  const std::vector<std::string> all = {"step-5", "step-6", "step-7"};
  EXPECT_EQ(ask(CheckpointPhase::kDelete, 5, "", all).parts, std::vector<std::string>{"step-5"});
  Change(*store.value());
  EXPECT_EQ(ask(CheckpointPhase::kMake, 5, "step-5").checksum, checksum_);
  EXPECT_EQ(SumUpPart(Part()).value().checksum, checksum_);
  // One that is given up goes; the one before it stays.
  EXPECT_EQ(ask(CheckpointPhase::kMake, 6, "step-6").parts.size(), 2u);
  EXPECT_EQ(ask(CheckpointPhase::kDelete, 6, "", all).parts, std::vector<std::string>{"step-5"});
  // One that is whole takes its place.
  ask(CheckpointPhase::kMake, 7, "step-7");
  EXPECT_EQ(ask(CheckpointPhase::kDelete, 7, "step-7", all).parts,
            std::vector<std::string>{"step-7"});
}

TEST_F(ShardRestoring, BeforeACheckpointIsKnownToBeWholeAllEarlierOnesStay) {
  Save(Job(1), 0, "others", 5);
  auto store = Open(Loading(Job(1), Job(1), "others", 5), 0, "others");
  ASSERT_OK(store);
  for (const char* name : {"step-3", "step-5", "step-8"}) {
    const auto made = std::get<StoreCheckpointed>(store.value()->Execute(
        CheckpointStore{.ticket = 4, .phase = CheckpointPhase::kMake, .name = name, .steps = 5}));
    ASSERT_OK(made.status);
  }
  const auto left = std::get<StoreCheckpointed>(
      store.value()->Execute(CheckpointStore{.ticket = 4,
                                             .phase = CheckpointPhase::kDelete,
                                             .name = "",
                                             .steps = 5,
                                             .deleted = {"step-3", "step-5", "step-8"}}));
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

}  // namespace
}  // namespace rowhouse
