// Rows are to be routed into a directory where others lie.
#include <filesystem>
#include <functional>
#include <map>

#include "common/durable_file.h"
#include "ps/store/directory_state.h"
#include "tests/testing/shard_opening.h"

namespace rowhouse {
namespace {

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
  const std::string newer = R"({"format": 4, "state": "clean", "step": 7})";
  Save(Job(1), 0, "new", 7);
  ASSERT_OK(WriteFileDurably(state_, newer));
  ExpectRefused(StatusCode::kUsage, "has format 4");
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

// A process was killed while it cleared that away.
TEST_F(RoutingOntoRows, WhatIsHalfClearedAwayIsClearedAway) {
  Save(Job(1), 0, "new", 7);
  std::filesystem::remove(state_);
  for (const auto& file : std::filesystem::directory_iterator(RowsDirectory(shard_))) {
    if (file.path().filename().string().starts_with("MANIFEST")) std::filesystem::remove(file);
  }
  ExpectRouted();
}

TEST_F(RoutingOntoRows, WhatACutOffMoveToAnotherPlanLeavesIsClearedAway) {
  JobSpec other = Job(1);
  other.plan = Job(2).plan;
  Save(other, 0, "new", 7);
  std::filesystem::remove(state_);
  ASSERT_OK(MakeDirectoryDurably(shard_ + "/moved"));
  ASSERT_OK(WriteFileDurably(shard_ + "/moved/0-0-0.sst", "half"));
  ExpectRouted();
}

// Of a run that was killed before its first save there: the same command goes on.
TEST_F(RoutingOntoRows, RowsThatARunChangedAndDidNotSaveAreClearedAway) {
  Save(Job(1), 0, "new", 7);
  ASSERT_OK(WriteState(shard_, {.is_clean = false, .step = 5}));
  ExpectRouted();
  EXPECT_TRUE(ReadState(shard_).value().is_clean);
  EXPECT_EQ(ReadState(shard_).value().step, 5u);
}

TEST_F(RoutingOntoRows, RowsThatWereSavedAreNotClearedAway) {
  Save(Job(1), 0, "new", 7);
  ExpectRefused(StatusCode::kUsage, "holds rows already");
}

TEST_F(RoutingOntoRows, ACopyThatWasCutOffIsMadeAgain) {
  ASSERT_OK(MakeDirectoryDurably(shard_ + ".restored/rows"));
  ASSERT_OK(WriteFileDurably(shard_ + ".restored/rows/CURRENT", "MANI"));
  ExpectRouted();
  EXPECT_FALSE(std::filesystem::exists(shard_ + ".restored"));
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

}  // namespace
}  // namespace rowhouse
