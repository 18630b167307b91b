#include "launch/run/id_recording.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "launch/settings/settings_checks.h"
#include "tests/testing/testing.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Settings SettingsFor(const std::string& path) {
  Settings settings;
  settings.SetTableRows({100'000, 10});
  settings.output.record_ids = path;
  settings.output.record_ids_share = 0.1;
  settings.Complete();
  return settings;
}

Batch OneSample(uint64_t id) {
  Batch batch;
  batch.Clear(0, 2);
  for (Bags& bags : batch.features) {
    bags.ids.push_back(id);
    bags.EndBag();
  }
  return batch;
}

TEST(IdRecording, OnlyLargePlainTablesAreSampled) {
  LogicalTable table;
  table.rows = 1'000'000;
  EXPECT_EQ(RecordedShare(table, 0.1), 0.1);
  table.bad_ids = "modulo";
  EXPECT_EQ(RecordedShare(table, 0.1), 1.0);
  table.bad_ids = "error";
  table.kind = "qr";
  EXPECT_EQ(RecordedShare(table, 0.1), 1.0);
  table.kind = "plain";
  table.rows = kWholeTableRows;
  EXPECT_EQ(RecordedShare(table, 0.1), 1.0);
}

TEST(IdRecording, WritesWhatTheTablesAre) {
  const TempDir dir;
  IdRecording recording(SettingsFor(dir / "t"), 0, 1);
  ASSERT_OK(recording.Start());
  recording.OnSamples(0, OneSample(7));
  recording.OnSamples(1, OneSample(8));
  recording.Finish();
  EXPECT_THAT(recording.SummaryText(), HasSubstr("ids of 2 steps recorded in " + dir / "t"));
  const auto trace = OpenTrace(dir / "t");
  ASSERT_OK(trace);
  EXPECT_EQ(trace.value()->tables()[0].name, "t0");
  EXPECT_EQ(trace.value()->tables()[0].rows, 100'000u);
  EXPECT_EQ(trace.value()->tables()[0].sampled, 0.1);
  EXPECT_EQ(trace.value()->tables()[1].sampled, 1.0);
}

TEST(IdRecording, IsOffUnlessAskedFor) {
  IdRecording recording(SettingsFor(""), 0, 1);
  EXPECT_FALSE(recording.is_on());
  ASSERT_OK(recording.Start());
  recording.OnSamples(0, OneSample(7));
  recording.Finish();
  EXPECT_EQ(recording.SummaryText(), "");
}

TEST(IdRecording, AFileThatCannotBeMadeIsTheOperatorsMistake) {
  const TempDir dir;
  IdRecording recording(SettingsFor(dir / "missing/t"), 1, 2);
  const Status status = recording.Start();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("there is no folder " + dir / "missing"));
}

TEST(IdRecording, ADirectoryIsRefusedAtTheStart) {
  const TempDir dir;
  for (const uint32_t workers : {1u, 2u}) {
    IdRecording recording(SettingsFor(dir.path()), 0, workers);
    const Status status = recording.Start();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), HasSubstr("is a directory; name a file"));
  }
}

TEST(IdRecording, APipeIsNotReplaced) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  for (const uint32_t workers : {1u, 2u}) {
    IdRecording recording(SettingsFor(dir / "pipe"), 0, workers);
    const Status status = recording.Start();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(),
                HasSubstr("is a pipe, which the file would replace; name a file"));
  }
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe"));
}

TEST(IdRecording, ReplacesTheTraceOfMoreWorkers) {
  const TempDir dir;
  for (const uint32_t workers : {2u, 1u}) {
    for (uint32_t worker = 0; worker < workers; ++worker) {
      IdRecording recording(SettingsFor(dir / "t"), worker, workers);
      ASSERT_OK(recording.Start());
      recording.OnSamples(0, OneSample(7));
      recording.Finish();
    }
    EXPECT_OK(OpenTrace(dir / "t")) << workers;
  }
}

TEST(IdRecording, AShareOfNothingIsRefused) {
  EXPECT_THAT(CheckTogether(SettingsFor(""), /*reads_data=*/false).message(),
              HasSubstr("record_ids_share=0.1 has no effect without record_ids"));
  EXPECT_OK(CheckTogether(SettingsFor("t"), /*reads_data=*/false));
}

}  // namespace
}  // namespace rowhouse
