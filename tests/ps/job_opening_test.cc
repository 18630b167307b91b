// A PS node opens the shards of a job that goes on from saved rows.
#include "ps/node/job_opening.h"

#include "ps/store/written_rows_file.h"
#include "tests/testing/inproc_transport.h"
#include "tests/testing/shard_opening.h"
#include "tests/testing/small_job.h"

namespace rowhouse {
namespace {

class JobOpeningTest : public ShardOpening {
 protected:
  // Rows that no set of 64 bytes can be exact about, saved with such a set.
  void SetUp() override {
    Save(job_, 0, "rows", 5);
    const std::string directory = ShardDirectory(dir_ / "rows", ShardId{0});
    const auto written = std::make_shared<WrittenRows>(kJobRows, 64);
    ASSERT_FALSE(written->is_exact());
    for (uint64_t row = 0; row < kJobRows; ++row) written->Add(row);
    const WrittenSlice slice = {
        .table = TableId{0}, .first_column = 0, .first_position = 0, .rows = written};
    ASSERT_OK(SaveWrittenRows(directory + kWrittenRowsFile, ReadState(directory).value().stamp,
                              std::span(&slice, 1)));
  }
  bool HasFiltersFor(const JobSpec& job, const std::string& name) {
    const ServerOptions options{
        .host = "here", .node = {.row_dir = dir_ / name, .cache_mb = 64}, .readable = {}};
    const auto transport = MakeInprocTransport();
    const ShardListeners listeners = [&](size_t) { return transport->Listen("inproc://" + name); };
    std::atomic<bool> has_ended = false;
    JobOpening opening(options, job, 0, listeners, clock_, nullptr, [&] {
      has_ended = true;
      has_ended.notify_all();
    });
    has_ended.wait(false);
    const auto opened = opening.Take();
    EXPECT_OK(opened);
    return opened.ok() && opened.value().environment->options().looks_up_missing_rows;
  }

  static constexpr uint64_t kJobRows = 2000;
  const SystemClock clock_;
  const JobSpec job_ = SmallJob(5, kJobRows, /*dim=*/1);
};

TEST_F(JobOpeningTest, WhereASavedSetGuessesTheLastLevelHasFiltersInALargerCacheToo) {
  EXPECT_FALSE(HasFiltersFor(job_, "fresh"));
  EXPECT_TRUE(HasFiltersFor(Loading(job_, job_, "rows", 5), "rows"));
}

TEST_F(JobOpeningTest, SoItHasWhereTheRowsAreLinkedToAnotherDirectory) {
  EXPECT_TRUE(HasFiltersFor(Loading(job_, job_, "rows", 5), "elsewhere"));
}

}  // namespace
}  // namespace rowhouse
