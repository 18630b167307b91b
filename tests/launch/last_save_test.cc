// Which save a run goes on from, of those that are there and of what crashes leave of them.
#include "launch/model/last_save.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/durable_file.h"
#include "launch/model/model_lock.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/delta_file.h"
#include "ps/store/directory_state.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// One table on one shard; directories of rows without rows.
class LastSaveTest : public testing::Test {
 protected:
  LastSaveTest() {
    TableSpec table;
    table.name = "t";
    table.rows = 10;
    table.dim = 4;
    manifest_.model_id = "model";
    manifest_.tables = {table};
    manifest_.plan =
        Plan::Make(manifest_.tables, 1, {{TableId{0}, 0, 10, 0, 4, ShardId{0}}}).value();
  }

  void WriteShard(const std::string& directory, const DirectoryState& state) {
    ASSERT_OK(MakeDirectoryDurably(directory));
    ASSERT_OK(WriteOwner(directory, {.model = manifest_.model_id,
                                     .shard = ShardId{0},
                                     .shards = 1,
                                     .plan_digest = manifest_.plan.digest()}));
    ASSERT_OK(WriteState(directory, state));
  }

  // The model at the end of a run.
  void SaveEnd(uint64_t steps) {
    const std::string stamp = fmt::format("{:032x}", steps);
    WriteShard(shard_, {.is_clean = true, .step = steps, .stamp = stamp});
    Write(model_, steps,
          {.shard = ShardId{0}, .host = "here", .directory = shard_, .stamp = stamp});
  }
  void SaveCheckpoint(uint64_t steps, const std::vector<SavedDelta>& deltas = {}) {
    const std::string part = Part(steps);
    WriteShard(part, {.is_clean = true,
                      .step = steps,
                      .stamp = fmt::format("{:032x}", steps),
                      .deltas = deltas});
    Write(CheckpointDirectory(model_, steps), steps,
          {.shard = ShardId{0},
           .host = "here",
           .directory = part,
           .checksum = SumUpPart(part).value().checksum});
  }
  // A run has changed rows since.
  void Open() { WriteShard(shard_, {.is_clean = false, .step = 0}); }

  std::string Part(uint64_t steps) { return CheckpointPart(shard_, CheckpointName(steps)); }

  // The name of the checkpoint, "m" if the rows are the shards' own, or the error.
  std::string Last(const std::string& host = "here") {
    const Result<LastSave> save = FindLastSave(model_, "", host);
    if (!save.ok()) return save.status().message();
    if (save.value().checkpoint.empty()) {
      EXPECT_EQ(save.value().directory, model_);
      return "m";
    }
    return save.value().checkpoint;
  }

  TempDir dir_;
  const std::string model_ = dir_ / "m";
  const std::string shard_ = ShardDirectory(model_ + "/rows", ShardId{0});
  Manifest manifest_;

 private:
  void Write(const std::string& directory, uint64_t steps, const SavedShard& saved) {
    Manifest manifest = manifest_;
    manifest.steps = steps;
    manifest.shards = {saved};
    const std::vector<float> dense = {1.0f, 2.0f};
    ASSERT_OK(SaveModel(directory, manifest, {.dense = dense, .config_yaml = "x: 1\n"}));
  }
};

TEST_F(LastSaveTest, IsTheNewestWholeOne) {
  SaveCheckpoint(10);
  SaveCheckpoint(9);
  Open();
  EXPECT_EQ(Last(), "step-10");
  SaveEnd(12);
  EXPECT_EQ(Last(), "m");
  Open();
  EXPECT_EQ(Last(), "step-10");
  SaveCheckpoint(12);
  EXPECT_EQ(Last(), "step-12");
  const LastSave save = FindLastSave(model_, "", "here").value();
  EXPECT_EQ(save.directory, model_) << "whose files are those of the end of the run";
  EXPECT_EQ(save.manifest.shards.at(0).directory, Part(12));
  EXPECT_EQ(CheckpointsOf(model_), (std::vector<uint64_t>{9, 10, 12}));
}

TEST_F(LastSaveTest, LeavesOutCheckpointsThatAreNotWhole) {
  SaveCheckpoint(10);
  SaveCheckpoint(20);
  SaveCheckpoint(30);
  SaveCheckpoint(40);
  Open();
  fs::rename(CheckpointDirectory(model_, 40), CheckpointDirectory(model_, 40) + ".tmp");
  ASSERT_OK(WriteFileDurably(Part(30) + "/rows.sst", "x"));
  EXPECT_EQ(Last("elsewhere"), "step-20") << "a damaged part that can be seen";
  fs::remove_all(Part(20));
  EXPECT_EQ(Last(), "step-10");
  EXPECT_EQ(Last("elsewhere"), "step-20") << "a part on a host that cannot be seen";
  ASSERT_OK(WriteFileDurably(CheckpointDirectory(model_, 10) + "/dense-10.bin", "cut"));
  EXPECT_THAT(Last(), testing::HasSubstr("holds no saved model"));
}

TEST_F(LastSaveTest, ADamagedDeltaFileGivesWayToTheOlderCheckpoint) {
  SaveCheckpoint(10);
  ASSERT_OK(MakeDirectoryDurably(DeltaDirectory(Part(20))));
  const std::string path = DeltaPath(Part(20), 20);
  auto delta = DeltaWriter::Open(path);
  ASSERT_OK(delta);
  StoreWrite write{.slice = {.record_bytes = 16}, .rows = {}, .records = {}};
  write.rows.push_back(RowId{3});
  write.records.resize(16);
  ASSERT_OK(delta.value()->Add(write));
  const FileDigest digest = delta.value()->Finish().value();
  SaveCheckpoint(20, {{.steps = 20, .file = digest}});
  Open();
  EXPECT_EQ(Last(), "step-20");
  std::string bytes = ReadFile(path).value();
  bytes[bytes.size() / 2] ^= 1;  // Its size is that of the part's checksum.
  ASSERT_OK(WriteFileDurably(path, bytes));
  EXPECT_EQ(Last(), "step-10");
}

TEST_F(LastSaveTest, SaysWhichCheckpointIsPassedOverAsItsManifestOrAFileIsGone) {
  for (const uint64_t steps : {10, 20, 30}) SaveCheckpoint(steps);
  Open();
  fs::remove(CheckpointDirectory(model_, 30) + "/manifest.json");
  fs::remove(CheckpointDirectory(model_, 20) + "/config.yaml");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Last(), "step-10");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said,
              testing::HasSubstr("step-30 is not whole, and left out: its manifest.json is gone"));
  EXPECT_THAT(said, testing::HasSubstr("step-20/config.yaml"));
}

TEST_F(LastSaveTest, ADamagedSaveAtTheEndIsRefusedThoughACheckpointIsWhole) {
  SaveCheckpoint(12);
  SaveEnd(12);
  EXPECT_EQ(Last(), "step-12");
  for (const std::string name : {"dense-12.bin", "config.yaml"}) {
    const std::string path = model_ + "/" + name, bytes = ReadFile(path).value();
    ASSERT_OK(WriteFileDurably(path, bytes + "1"));
    EXPECT_THAT(Last(), testing::AllOf(
                            testing::HasSubstr(name + " is not the file that was"),
                            testing::HasSubstr("--model_dir=" + CheckpointDirectory(model_, 12))));
    fs::remove(path);
    EXPECT_THAT(Last(), testing::HasSubstr(name));
    ASSERT_OK(WriteFileDurably(path, bytes));
  }
  fs::remove(model_ + "/manifest.json");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Last(), "step-12");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("but its manifest.json is gone"));
}

TEST_F(LastSaveTest, OfAnotherModelIsThatOfTheRunThatReplacesIt) {
  SaveEnd(12);
  manifest_.model_id = "another";
  WriteShard(shard_, {.is_clean = false, .step = 0});
  SaveCheckpoint(3);
  EXPECT_EQ(Last(), "step-3");
}

TEST_F(LastSaveTest, IsFoundInAModelThatWasMoved) {
  SaveCheckpoint(10);
  fs::rename(model_, dir_ / "moved");
  const Result<LastSave> save = FindLastSave(dir_ / "moved", "", "elsewhere");
  ASSERT_OK(save);
  EXPECT_EQ(save.value().manifest.shards.at(0).directory,
            dir_ / "moved/rows/checkpoints/step-10/shard-0000");
  EXPECT_EQ(RowDirectoryOf(dir_ / "moved/checkpoints/step-10/", ""),
            dir_ / "moved/rows/checkpoints/step-10");
  EXPECT_EQ(RowDirectoryOf("m/checkpoints/step-10", "r"), "r/checkpoints/step-10");
  EXPECT_EQ(ModelOfCheckpoint("a/m/checkpoints/step-10"), "a/m");
  EXPECT_EQ(ModelOfCheckpoint("a/m"), "");
  EXPECT_EQ(RowDirectoryOf("m", ""), "m/rows");
  EXPECT_EQ(RowDirectoryOf("step-10", ""), "step-10/rows");
}

TEST_F(LastSaveTest, OldOnesAreDeletedWithWhatWasCutOff) {
  for (const uint64_t steps : {1, 2, 3}) SaveCheckpoint(steps);
  fs::create_directories(CheckpointDirectory(model_, "step-4.tmp"));
  fs::create_directories(CheckpointDirectory(model_, "photos"));
  ASSERT_OK(DeleteCheckpointsExcept({3}, model_));
  EXPECT_EQ(CheckpointsOf(model_), std::vector<uint64_t>{3});
  EXPECT_FALSE(fs::exists(CheckpointDirectory(model_, "step-1")));
  EXPECT_FALSE(fs::exists(CheckpointDirectory(model_, "step-4.tmp")));
  EXPECT_TRUE(fs::exists(CheckpointDirectory(model_, "photos")));
  EXPECT_OK(DeleteCheckpointsExcept({}, dir_ / "no_model"));
}

TEST_F(LastSaveTest, OneThatIsReadIsDeletedLater) {
  for (const uint64_t steps : {1, 2, 3}) SaveCheckpoint(steps);
  auto read = FindLastSave(model_, "", "here");
  ASSERT_OK(read);
  SaveCheckpoint(4);
  EXPECT_EQ(DeleteCheckpointsExcept({4}, model_).value(), (std::vector<uint64_t>{4, 3}));
  EXPECT_EQ(CheckpointsOf(model_), (std::vector<uint64_t>{3, 4}));
  read.value().hold.reset();
  EXPECT_EQ(DeleteCheckpointsExcept({4}, model_).value(), std::vector<uint64_t>{4});
  EXPECT_EQ(CheckpointsOf(model_), std::vector<uint64_t>{4});
}

TEST_F(LastSaveTest, OneThatIsBeingDeletedIsNotRead) {
  for (const uint64_t steps : {1, 2}) SaveCheckpoint(steps);
  const auto deleted = LockToDelete(CheckpointDirectory(model_, 2));
  ASSERT_OK(deleted);
  EXPECT_EQ(Last(), "step-1");
}

TEST_F(LastSaveTest, ALinkAmongThemIsNotFollowed) {
  SaveCheckpoint(1);
  fs::create_directories(dir_ / "mine");
  std::ofstream(dir_ / "mine/manifest.json") << "precious";
  for (const char* name : {"step-2", "step-3.tmp"}) {
    fs::create_directory_symlink(dir_ / "mine", CheckpointDirectory(model_, name));
  }
  ASSERT_OK(DeleteCheckpointsExcept({1}, model_));
  EXPECT_TRUE(fs::exists(dir_ / "mine/manifest.json"));
}

TEST_F(LastSaveTest, ARunHasTheModelAloneAndReadersShareIt) {
  SaveEnd(10);
  EXPECT_EQ(LockModelForReading(model_).value(), nullptr) << "no run with locks was here";
  {
    const auto run = LockModelForRun(model_);
    ASSERT_OK(run);
    for (const Status& status :
         {LockModelForRun(model_, 100ms).status(), LockModelForReading(model_).status()}) {
      EXPECT_EQ(status.code(), StatusCode::kUsage);
      EXPECT_THAT(status.message(),
                  testing::HasSubstr("a run is at work on the model in " + model_ + " (process " +
                                     std::to_string(getpid()) + " on host "));
    }
  }
  auto one = LockModelForReading(model_);
  {
    const auto other = LockModelForReading(model_);
    ASSERT_OK(one);
    ASSERT_OK(other);
    EXPECT_NE(one.value(), nullptr);
    EXPECT_THAT(LockModelForRun(model_, 100ms).status().message(),
                testing::HasSubstr("is being read (by predict, eval, ckpt or plan --measured), "
                                   "and was for 0.1 s"));
  }
  std::thread reader([&one] {
    std::this_thread::sleep_for(200ms);
    one.value().reset();
  });
  EXPECT_OK(LockModelForRun(model_).status()) << "a run waits for who reads for a moment";
  reader.join();
  EXPECT_EQ(LockModelForRun(dir_ / "none").value(), nullptr);
}

TEST_F(LastSaveTest, ALockThatCannotBeTakenIsNoLock) {
  SaveEnd(10);
  fs::create_symlink("elsewhere", model_ + "/run.lock");
  const Status refused = LockModelForRun(model_).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_THAT(refused.message(), testing::HasSubstr("run.lock a file that can be written"));
  testing::internal::CaptureStderr();
  EXPECT_OK(LockModelForReading(model_).status()) << "the disk may be one that is only read";
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("nothing keeps a run from changing the model"));
  SaveCheckpoint(10);
  const std::string manifest = CheckpointDirectory(model_, 10) + "/manifest.json";
  fs::rename(manifest, manifest + ".kept");
  fs::create_symlink("manifest.json.kept", manifest);
  EXPECT_EQ(DeleteCheckpointsExcept({}, model_).value(), std::vector<uint64_t>{10});
  EXPECT_TRUE(fs::exists(manifest));
}

TEST_F(LastSaveTest, ADirectoryOfOtherFilesIsNoPlaceForAModel) {
  for (const std::string name : {"config.yaml", "report.json", "manifest.json", "dense-1.bin"}) {
    const std::string project = dir_ / "of_" + name;
    ASSERT_OK(MakeDirectoryDurably(project));
    ASSERT_OK(WriteFileDurably(project + "/" + name, "{\"name\": \"mine\"}"));
    const Status refused = LockModelForRun(project).status();
    EXPECT_EQ(refused.code(), StatusCode::kUsage);
    EXPECT_THAT(refused.message(),
                testing::HasSubstr("holds files (as " + name + "), but no model of Rowhouse"));
    EXPECT_FALSE(fs::exists(project + "/run.lock"));
  }
  SaveEnd(10);
  EXPECT_OK(LockModelForRun(model_).status());
  fs::remove(model_ + "/manifest.json");
  EXPECT_OK(LockModelForRun(model_).status()) << "a run was at work in it";
  ASSERT_OK(MakeDirectoryDurably(dir_ / "new/rows"));
  ASSERT_OK(MakeDirectoryDurably(dir_ / "new/of_a_node"));
  EXPECT_OK(LockModelForRun(dir_ / "new").status());
}

}  // namespace
}  // namespace rowhouse
