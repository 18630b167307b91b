// Files of a shard's part of a checkpoint: what is in them, and that nothing changes them.
#include "ps/store/checkpoint_part.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/durable_file.h"
#include "ps/store/directory_state.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr StoreSlice kSlice{.table = TableId{0}, .first_column = 0, .record_bytes = 8};

const DirectoryOwner kOwner{.model = "m", .shard = ShardId{3}, .shards = 8};

class CheckpointPartTest : public testing::Test {
 protected:
  CheckpointPartTest() {
    CHECK(MakeDirectoryDurably(shard_).ok());
    CHECK(WriteOwner(shard_, kOwner).ok());
    store_ = Open(shard_ + "/rows").value();
  }

  static Result<std::unique_ptr<RowStore>> Open(const std::string& path, bool read_only = false) {
    return RowStores().Make("rocksdb", {.path = path, .read_only = read_only});
  }

  static void Put(RowStore& store, const std::string& letters) {
    std::vector<RowId> rows;
    std::vector<std::byte> records;
    for (size_t i = 0; i < letters.size(); ++i) {
      rows.push_back(RowId{i});
      records.insert(records.end(), kSlice.record_bytes, std::byte(letters[i]));
    }
    ASSERT_OK(store.Put(kSlice, rows, records));
  }

  static std::string Letters(const std::string& path) {
    auto store = Open(path, /*read_only=*/true);
    if (!store.ok()) return store.status().message();
    std::string letters;
    const Status scanned = store.value()->Scan([&](TableId, RowId, uint16_t, auto record) {
      letters += static_cast<char>(record[0]);
      return OkStatus();
    });
    return scanned.ok() ? letters : scanned.message();
  }

  static Result<PartFacts> MakeOf(RowStore& store, const std::string& shard, uint64_t steps) {
    const std::string name = CheckpointName(steps);
    Result<std::string> stamp = CutPart(store, shard, name);
    if (!stamp.ok()) AbandonPart(shard, name);
    RETURN_IF_ERROR(stamp.status());
    return FinishPart(shard, name, {.steps = steps, .stamp = std::move(stamp).value()});
  }

  std::string Part(uint64_t steps) { return CheckpointPart(shard_, CheckpointName(steps)); }
  Result<PartFacts> Make(uint64_t steps) { return MakeOf(*store_, shard_, steps); }

  TempDir dir_;
  const std::string shard_ = dir_ / "rows/shard-0003";
  std::unique_ptr<RowStore> store_;
};

TEST_F(CheckpointPartTest, NamesAreStepsAndNothingElse) {
  EXPECT_EQ(CheckpointName(1200), "step-1200");
  EXPECT_EQ(StepsOfCheckpoint("step-1200"), 1200u);
  EXPECT_EQ(StepsOfCheckpoint("step-0"), 0u);
  for (const char* other : {"step-", "step-01", "step-1.tmp", "step-1/../..", "step--1", "1", "",
                            "step-18446744073709551616"}) {
    EXPECT_EQ(StepsOfCheckpoint(other), std::nullopt) << other;
  }
  EXPECT_EQ(Part(7), dir_ / "rows/checkpoints/step-7/shard-0003");
}

TEST_F(CheckpointPartTest, HasTheRowsOfItsStepAndKeepsThem) {
  Put(*store_, "aaa");
  const auto made = Make(5);
  ASSERT_OK(made);
  Put(*store_, "bb");
  ASSERT_OK(store_->Sync());
  ASSERT_OK(store_->Compact());
  EXPECT_EQ(Letters(Part(5) + "/rows"), "aaa");
  const DirectoryState state = ReadState(Part(5)).value();
  EXPECT_TRUE(state.is_clean);
  EXPECT_EQ(state.step, 5u);
  EXPECT_EQ(ReadOwner(Part(5)).value().shard, ShardId{3});
  const auto again = SumUpPart(Part(5));
  ASSERT_OK(again);
  EXPECT_EQ(again.value().checksum, made.value().checksum);
  EXPECT_EQ(again.value().bytes, made.value().bytes);
}

TEST_F(CheckpointPartTest, ItsChecksumFindsMissingCutAndChangedFiles) {
  Put(*store_, "aaa");
  ASSERT_OK(Make(5));
  const std::string whole = SumUpPart(Part(5)).value().checksum;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(Part(5))) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  ASSERT_GE(files.size(), 5u);
  for (const fs::path& file : files) {
    const std::string bytes = ReadFile(file).value();
    fs::remove(file);
    EXPECT_NE(SumUpPart(Part(5)).value().checksum, whole) << file;
    std::ofstream(file, std::ios::binary) << bytes << "x";
    EXPECT_NE(SumUpPart(Part(5)).value().checksum, whole) << file;
    if (!bytes.empty() && file.extension() != ".sst") {
      std::string changed = bytes;
      changed[changed.size() / 2] ^= 1;
      std::ofstream(file, std::ios::binary) << changed;
      EXPECT_NE(SumUpPart(Part(5)).value().checksum, whole) << file;
    }
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_EQ(SumUpPart(Part(5)).value().checksum, whole) << file;
  }
  EXPECT_EQ(SumUpPart(Part(6)).status().code(), StatusCode::kNotFound);
}

TEST_F(CheckpointPartTest, ACopyThatIsTrainedOnLeavesThePartAsItIs) {
  Put(*store_, "aaa");
  ASSERT_OK(Make(5));
  const std::string whole = SumUpPart(Part(5)).value().checksum;
  store_.reset();
  ASSERT_OK(CopyPart(Part(5), dir_ / "copy"));
  EXPECT_EQ(SumUpPart(dir_ / "copy").value().checksum, whole);
  {
    auto copy = Open(dir_ / "copy/rows");
    ASSERT_OK(copy);
    Put(*copy.value(), "bb");
    ASSERT_OK(copy.value()->Compact());
  }
  EXPECT_EQ(Letters(dir_ / "copy/rows"), "bba");
  EXPECT_EQ(Letters(Part(5) + "/rows"), "aaa");
  EXPECT_EQ(SumUpPart(Part(5)).value().checksum, whole);
}

TEST_F(CheckpointPartTest, PartsAreDeletedByAListOfThoseOfThisModelAndShard) {
  for (const uint64_t steps : {1, 2, 3}) ASSERT_OK(Make(steps));
  const std::string of_other = dir_ / "rows/checkpoints/step-1/shard-0004";
  fs::create_directories(of_other);
  fs::create_directories(Part(3) + ".tmp");
  fs::create_directories(dir_ / "rows/checkpoints/photos");
  fs::create_directories(Part(4));
  ASSERT_OK(WriteOwner(Part(4), {.model = "another", .shard = ShardId{3}, .shards = 8}));
  fs::create_directories(Part(5));
  EXPECT_EQ(PartsOf(kOwner, shard_).value(),
            (std::vector<std::string>{"step-1", "step-2", "step-3"}));
  ASSERT_OK(DeleteParts({}, kOwner, shard_));
  EXPECT_TRUE(fs::exists(Part(1))) << "an empty list deletes nothing";
  ASSERT_OK(
      DeleteParts({"step-1", "step-2", "step-4", "step-5", "step-9", "photos", "../shard-0003"},
                  kOwner, shard_));
  EXPECT_FALSE(fs::exists(Part(1)));
  EXPECT_TRUE(fs::exists(of_other));
  EXPECT_FALSE(fs::exists(dir_ / "rows/checkpoints/step-2"));
  EXPECT_TRUE(fs::exists(Part(3)));
  EXPECT_FALSE(fs::exists(Part(3) + ".tmp"));
  EXPECT_TRUE(fs::exists(dir_ / "rows/checkpoints/photos"));
  EXPECT_TRUE(fs::exists(Part(4))) << "of another model";
  EXPECT_TRUE(fs::exists(Part(5))) << "of nobody";
  EXPECT_TRUE(fs::exists(shard_));
}

TEST_F(CheckpointPartTest, IsMadeWhileAnotherShardTakesTheEmptyDirectoryOfTheStepAway) {
  Put(*store_, "a");
  const std::string name = CheckpointName(7), other = dir_ / "rows/shard-0004";
  std::jthread deleting([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) AbandonPart(other, name);
  });
  for (int i = 0; i < 4; ++i) {
    const Result<std::string> cut = CutPart(*store_, shard_, name);
    ASSERT_OK(cut);
    AbandonPart(shard_, name);
  }
}

TEST_F(CheckpointPartTest, APartThatFindsNoRoomLeavesNothing) {
  fs::create_directories(dir_ / "small");
  SmallDisk disk(dir_ / "small/disk", "1m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs: " << strerror(errno);
  const std::string shard = dir_ / "small/disk/rows/shard-0003";
  ASSERT_OK(MakeDirectoryDurably(shard));
  ASSERT_OK(WriteOwner(shard, {.model = "m", .shard = ShardId{3}, .shards = 8}));
  auto store = Open(shard + "/rows");
  ASSERT_OK(store);
  Put(*store.value(), "aaa");
  ASSERT_OK(store.value()->Sync());
  ReservedRoom rest;
  for (uint64_t bytes = 1 << 20; bytes >= 4096; bytes -= 4096) {
    if (rest.Take(shard, bytes).ok()) break;
  }
  const auto refused = MakeOf(*store.value(), shard, 5);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted) << refused.status().message();
  EXPECT_FALSE(fs::exists(CheckpointPart(shard, "step-5")));
  EXPECT_FALSE(fs::exists(CheckpointPart(shard, "step-5") + ".tmp"));
  rest.Free();
  Put(*store.value(), "bbb");  // Rows go on.
  ASSERT_OK(store.value()->Sync());
  ASSERT_OK(MakeOf(*store.value(), shard, 6));
  EXPECT_EQ(Letters(CheckpointPart(shard, "step-6") + "/rows"), "bbb");
}

TEST_F(CheckpointPartTest, ReservedRoomIsRefusedWhereThereIsNone) {
  ReservedRoom room;
  EXPECT_OK(room.Take(shard_, 1 << 20));
  EXPECT_EQ(room.Take(shard_, uint64_t{1} << 60).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(std::distance(fs::directory_iterator(shard_), {}), 2) << "a file is left";
}

}  // namespace
}  // namespace rowhouse
