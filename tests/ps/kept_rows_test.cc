// Rows of a saved model go to other shards, and those that stay are linked: directories and files.
#include "ps/move/kept_rows.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "common/durable_file.h"
#include "ps/shard/routed_rows.h"
#include "ps/store/delta_file.h"
#include "ps/store/directory_state.h"
#include "ps/store/store_environment.h"
#include "ps/store/written_rows_file.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/small_job.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kKeptTableRows = 12'000;

class KeptRowsTest : public testing::Test {
 protected:
  static JobSpec Job(uint32_t shards) {
    return SmallJob(/*job_id=*/0, kKeptTableRows, /*dim=*/16, shards);
  }

  static bool IsWritten(uint64_t row) { return row % 3 != 1; }

  ShardOpeningOptions Options(const std::string& name) const {
    return {.row_dir = dir_ / name, .host = "here", .environment = environment_};
  }
  std::string DirectoryOf(const std::string& name, uint32_t shard) const {
    return ShardDirectory(dir_ / name, ShardId{shard});
  }
  std::unique_ptr<RowStore> OpenRows(const std::string& name, uint32_t shard) const {
    return RowStores()
        .Make("rocksdb", {.path = RowsDirectory(DirectoryOf(name, shard)),
                          .creates = false,
                          .environment = environment_})
        .value();
  }

  // Two thirds of the rows, in files of some hundreds, and sets of written rows of `set_bytes`: too
  // few to be exact, or enough.
  void Save(const JobSpec& job, const std::string& name, uint64_t set_bytes) {
    const auto optimizer = Optimizers().Make("sgd", {}).value();
    const RecordLayout layout = LayoutOf(job.tables[0], *optimizer);
    const DigestedTable digested("t", StateShapeOf(*optimizer));
    digest_ = RowsDigest();
    for (const Slice& slice : job.plan.slices(TableId{0})) {
      const std::string directory = DirectoryOf(name, Raw(slice.shard));
      ASSERT_OK(MakeDirectoryDurably(directory));
      ASSERT_OK(WriteOwner(directory, {.model = job.model_id,
                                       .shard = slice.shard,
                                       .shards = job.plan.shards(),
                                       .plan_digest = job.plan.digest(),
                                       .config_digest = job.config_digest}));
      const auto store =
          RowStores()
              .Make("rocksdb", {.path = RowsDirectory(directory), .environment = environment_})
              .value();
      StoreWrite write{.slice = {.record_bytes = static_cast<uint32_t>(layout.bytes())}};
      const auto set = std::make_shared<WrittenRows>(slice.rows(), set_bytes);
      for (uint64_t row = slice.row_begin; row < slice.row_end; ++row) {
        if (!IsWritten(row)) continue;
        std::vector<float> record(layout.bytes() / sizeof(float));
        auto* const bytes = reinterpret_cast<std::byte*>(record.data());
        for (size_t c = 0; c < 16; ++c) layout.weights(bytes)[c] = static_cast<float>(row * 16 + c);
        digest_.Add(digested, RowId{row}, 0, layout, bytes);
        write.rows.push_back(RowId{row});
        write.records.insert(write.records.end(), bytes, bytes + layout.bytes());
        set->Add(row - slice.row_begin);
      }
      ASSERT_OK(store->Put(write.slice, write.rows, write.records));
      ASSERT_OK(store->Compact());
      ASSERT_OK(store->Settle());
      ASSERT_OK(SaveWrittenRows(
          directory + kWrittenRowsFile, store->stamp(),
          std::vector<WrittenSlice>{
              {.table = TableId{0}, .first_position = slice.row_begin, .rows = set}}));
      ASSERT_OK(WriteState(directory, {.is_clean = true, .step = 5, .stamp = store->stamp()}));
    }
  }

  JobSpec Loading(JobSpec job, const JobSpec& saved, const std::string& name) const {
    job.is_load = true;
    job.load.step = 5;
    job.load.plan_digest = saved.plan.digest();
    job.load.plan = saved.plan;
    for (uint32_t s = 0; s < saved.plan.shards(); ++s) {
      const std::string directory = DirectoryOf(name, s);
      job.load.shards.push_back({ShardId{s}, "here", directory});
      job.load.shards.back().stamp = ReadState(directory).value().stamp;
    }
    return job;
  }

  Status Route(const JobSpec& job, const std::string& name) {
    std::vector<ShardId> shards;
    for (uint32_t s = 0; s < job.plan.shards(); ++s) shards.push_back(ShardId{s});
    const auto on_workers = RowStores().Make("memory", {}).value();
    moved_ = {};
    return RouteRows(
        Options(name), job, shards,
        {.on_workers = on_workers.get(), .rows_digest = digest_.hex(), .moved = &moved_});
  }

  // Each shard has its rows and no others.
  void ExpectRows(const JobSpec& job, const std::string& name) const {
    for (const Slice& slice : job.plan.slices(TableId{0})) {
      std::set<uint64_t> due, found;
      for (uint64_t row = slice.row_begin; row < slice.row_end; ++row) {
        if (IsWritten(row)) due.insert(row);
      }
      ASSERT_OK(OpenRows(name, Raw(slice.shard))->Scan([&](TableId, RowId row, uint16_t, auto) {
        found.insert(Raw(row));
        return OkStatus();
      }));
      EXPECT_EQ(found, due) << "shard " << Raw(slice.shard);
    }
  }
  // And knows exactly which they are.
  void ExpectExactSets(const JobSpec& job, const std::string& name) const {
    for (const Slice& slice : job.plan.slices(TableId{0})) {
      const std::string directory = DirectoryOf(name, Raw(slice.shard));
      const WrittenSlice written{.table = TableId{0},
                                 .first_position = slice.row_begin,
                                 .rows = std::make_shared<WrittenRows>(slice.rows(), 1 << 20)};
      ASSERT_OK(LoadWrittenRows(directory + kWrittenRowsFile, ReadState(directory).value().stamp,
                                std::span(&written, 1)));
      EXPECT_TRUE(written.rows->is_exact());
      for (uint64_t i = 0; i < slice.rows(); ++i) {
        ASSERT_EQ(written.rows->MayContain(i), IsWritten(slice.row_begin + i)) << i;
      }
    }
  }

  // Row files of `to` that are links of files of `from`.
  size_t CountLinked(const std::string& from, const std::string& to) const {
    const auto files_of = [&](const std::string& name) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / name)) {
        if (entry.path().extension() == ".sst") files.push_back(entry.path());
      }
      return files;
    };
    const auto old_files = files_of(from), new_files = files_of(to);
    return std::ranges::count_if(new_files, [&](const auto& file) {
      return std::ranges::any_of(
          old_files, [&](const auto& old) { return std::filesystem::equivalent(file, old); });
    });
  }

  // The first file of a shard's rows, by age; the rows of smallest number.
  std::string FirstFile(const std::string& name, uint32_t shard) const {
    std::set<std::string> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(RowsDirectory(DirectoryOf(name, shard)))) {
      if (entry.path().extension() == ".sst") files.insert(entry.path());
    }
    return *files.begin();
  }

  TempDir dir_;
  std::shared_ptr<StoreEnvironment> environment_ = std::make_shared<StoreEnvironment>(
      StoreEnvironmentOptions{.stores = 16, .min_file_bytes = 32 << 10});
  RowsDigest digest_;
  MoveResult moved_;
};

TEST_F(KeptRowsTest, FilesOfRowsThatStayAreLinked) {
  for (const uint64_t set_bytes : {64, 1 << 20}) {
    SCOPED_TRACE(set_bytes);
    const std::string last = fmt::format("{}", set_bytes);
    Save(Job(3), "old" + last, set_bytes);
    const JobSpec five = Loading(Job(5), Job(3), "old" + last);
    ASSERT_OK(Route(five, "five" + last));
    ExpectRows(Job(5), "five" + last);
    ExpectExactSets(Job(5), "five" + last);
    // 13 of 15 parts: two fifths of the table lie in two old shards, a third of them in another.
    EXPECT_NEAR(static_cast<double>(moved_.bytes_linked) / static_cast<double>(moved_.bytes_read),
                13.0 / 15, 0.01);
    EXPECT_EQ(moved_.bytes_linked + moved_.bytes_written, moved_.bytes_read);
    EXPECT_GT(CountLinked("old" + last, "five" + last), 8u);
    const JobSpec two = Loading(Job(2), Job(5), "five" + last);
    ASSERT_OK(Route(two, "two" + last));
    ExpectRows(Job(2), "two" + last);
    ExpectExactSets(Job(2), "two" + last);
    EXPECT_NEAR(static_cast<double>(moved_.bytes_linked) / static_cast<double>(moved_.bytes_read),
                0.4, 0.01);
    ExpectRows(Job(3), "old" + last);  // Unchanged.
    ExpectRows(Job(5), "five" + last);
  }
}

TEST_F(KeptRowsTest, WithoutTheSavedPlanAllRowsAreWritten) {
  Save(Job(3), "old", 1 << 20);
  JobSpec job = Loading(Job(5), Job(3), "old");
  job.load.plan = {};
  ASSERT_OK(Route(job, "new"));
  ExpectRows(Job(5), "new");
  EXPECT_EQ(moved_.bytes_linked, 0u);
  EXPECT_EQ(CountLinked("old", "new"), 0u);
}

// What a process leaves that is killed before the shard has its rows.
TEST_F(KeptRowsTest, ACopyThatWasCutOffIsMadeAgain) {
  Save(Job(3), "old", 1 << 20);
  const JobSpec job = Loading(Job(5), Job(3), "old");
  ASSERT_OK(Route(job, "other"));
  const std::string directory = DirectoryOf("new", 0);
  ASSERT_OK(MakeDirectoryDurably(directory));
  ASSERT_OK(WriteOwner(directory, ReadOwner(DirectoryOf("other", 0)).value()));
  ASSERT_OK(MakeDirectoryDurably(directory + "/moved/kept/rows"));
  ASSERT_OK(WriteFileDurably(directory + "/moved/kept/rows/CURRENT", "MANI"));
  ASSERT_OK(Route(job, "new"));
  ExpectRows(Job(5), "new");
  EXPECT_FALSE(std::filesystem::exists(directory + "/moved"));
}

TEST_F(KeptRowsTest, ADamagedFileThatWouldStayIsRefused) {
  Save(Job(3), "old", 1 << 20);
  const JobSpec job = Loading(Job(5), Job(3), "old");
  const std::string file = FirstFile("old", 0);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(20);
  bytes.put('!');
  bytes.close();
  const Status refused = Route(job, "new");
  EXPECT_EQ(refused.code(), StatusCode::kCorruption) << refused.ToString();
  for (uint32_t s = 0; s < 5; ++s) {
    EXPECT_FALSE(std::filesystem::exists(DirectoryOf("new", s)));
  }
}

// Rows that are whole, and not those of the model.
TEST_F(KeptRowsTest, OtherRowsThatWouldStayAreRefused) {
  Save(Job(3), "old", 1 << 20);
  digest_ = RowsDigest(1, 2);
  const Status refused = Route(Loading(Job(5), Job(3), "old"), "new");
  EXPECT_EQ(refused.code(), StatusCode::kCorruption);
  EXPECT_THAT(refused.message(), testing::HasSubstr("the moved rows have digest"));
  EXPECT_FALSE(std::filesystem::exists(DirectoryOf("new", 0)));
}

// They may belong to any range, so that nothing of their shard is linked.
TEST_F(KeptRowsTest, RowsOfAShardWithDeltaFilesAreWritten) {
  Save(Job(3), "old", 1 << 20);
  const std::string directory = DirectoryOf("old", 0);
  ASSERT_OK(MakeDirectoryDurably(DeltaDirectory(directory)));
  const auto delta = DeltaWriter::Open(DeltaPath(directory, 5)).value();
  DirectoryState state = ReadState(directory).value();
  state.deltas = {{.steps = 5, .file = delta->Finish().value()}};
  ASSERT_OK(WriteState(directory, state));
  ASSERT_OK(Route(Loading(Job(5), Job(3), "old"), "new"));
  ExpectRows(Job(5), "new");
  EXPECT_NEAR(static_cast<double>(moved_.bytes_linked) / static_cast<double>(moved_.bytes_read),
              9.0 / 15, 0.01);
}

}  // namespace
}  // namespace rowhouse
