#include "worker/data/traces/recorded_trace.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "sharding/plans/reuse_sampler.h"
#include "tests/testing/testing.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Bags BagsOf(const std::vector<std::vector<uint64_t>>& lists) {
  Bags bags;
  for (const std::vector<uint64_t>& ids : lists) {
    bags.ids.insert(bags.ids.end(), ids.begin(), ids.end());
    bags.EndBag();
  }
  return bags;
}

TraceHeader TwoTables(uint32_t worker = 0, uint32_t workers = 1) {
  return {.tables = {{.name = "users", .rows = 1000}, {.name = "items", .rows = 1 << 20}},
          .mini_batch_size = 2,
          .worker = worker,
          .workers = workers};
}

void Write(const std::string& path, const TraceHeader& header,
           const std::vector<std::vector<Bags>>& steps) {
  auto writer = TraceWriter::Create(path, header);
  ASSERT_OK(writer);
  for (size_t s = 0; s < steps.size(); ++s) ASSERT_OK(writer.value()->Append(s, steps[s]));
  ASSERT_OK(writer.value()->Finish());
}

std::vector<std::vector<Bags>> Steps() {
  return {{BagsOf({{1, 2}, {3}}), BagsOf({{70'000}, {5}})},
          {BagsOf({{}, {999, 999}}), BagsOf({{1'048'575}, {0}})},
          {BagsOf({{7}}), BagsOf({{8}})}};
}

TEST(RecordedTrace, HasTheIdsOfEachStepInTheirOrder) {
  const TempDir dir;
  Write(dir / "t", TwoTables(), Steps());
  auto trace = OpenTrace(dir / "t");
  ASSERT_OK(trace);
  EXPECT_STREQ(trace.value()->form(), "recorded");
  EXPECT_EQ(trace.value()->tables()[1].name, "items");
  EXPECT_EQ(trace.value()->step_samples(), 2u);
  std::vector<Bags> features;
  for (const std::vector<Bags>& step : Steps()) {
    ASSERT_EQ(trace.value()->Read(0, &features).value(), step[0].samples());
    for (size_t t = 0; t < 2; ++t) {
      EXPECT_EQ(features[t].ids, step[t].ids);
      EXPECT_EQ(features[t].offsets, step[t].offsets);
    }
  }
  EXPECT_EQ(trace.value()->Read(0, &features).value(), 0u);
  const BagFigures& users = trace.value()->figures()[0];
  EXPECT_EQ(users.bags, 5u);
  EXPECT_EQ(users.lookups, 6u);
  EXPECT_EQ(users.empty_bags, 1u);
  EXPECT_EQ(users.longest_bag, 2u);
}

TEST(RecordedTrace, CanBeReadInStepsOfAnotherSize) {
  const TempDir dir;
  Write(dir / "t", TwoTables(), Steps());
  auto trace = OpenTrace(dir / "t");
  ASSERT_OK(trace);
  std::vector<Bags> features;
  ASSERT_EQ(trace.value()->Read(3, &features).value(), 3u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(features[0].offsets, ElementsAre(0, 2, 3, 3));
  ASSERT_EQ(trace.value()->Read(3, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(999, 999, 7));
  EXPECT_THAT(features[1].ids, ElementsAre(0, 8));
  // The last step was no whole one; after it there is nothing, however often it is asked for.
  for (int i = 0; i < 2; ++i) {
    const Result<uint64_t> read = trace.value()->Read(3, &features);
    ASSERT_OK(read);
    EXPECT_EQ(read.value(), 0u);
  }
}

TEST(RecordedTrace, PartsOfWorkersBecomeTheStepsOfTheRun) {
  const TempDir dir;
  Write(TracePathOf(dir / "t", 0, 2), TwoTables(0, 2),
        {{BagsOf({{1}}), BagsOf({{2}})}, {BagsOf({{5}}), BagsOf({{6}})}});
  Write(TracePathOf(dir / "t", 1, 2), TwoTables(1, 2),
        {{BagsOf({{3}}), BagsOf({{4}})}, {BagsOf({}), BagsOf({})}});
  auto trace = OpenTrace(dir / "t");
  ASSERT_OK(trace);
  std::vector<Bags> features;
  ASSERT_EQ(trace.value()->Read(0, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 3));
  ASSERT_EQ(trace.value()->Read(0, &features).value(), 1u);
  EXPECT_THAT(features[1].ids, ElementsAre(6));

  std::filesystem::remove(dir / "t.0");
  std::filesystem::rename(dir / "t.1", dir / "t.0");
  EXPECT_THAT(OpenTrace(dir / "t").status().message(), HasSubstr("worker 1 of 2"));
  Write(dir / "t", TwoTables(), Steps());
  EXPECT_THAT(OpenTrace(dir / "t").status().message(), HasSubstr("are both there"));
}

TEST(RecordedTrace, OnePartAloneIsToldHowAllAreNamed) {
  const TempDir dir;
  for (const uint32_t worker : {0u, 1u}) {
    Write(TracePathOf(dir / "t", worker, 2), TwoTables(worker, 2),
          {{BagsOf({{1}}), BagsOf({{2}})}});
  }
  EXPECT_THAT(OpenTrace(dir / "t.0").status().message(),
              HasSubstr("worker 0 of 2, and 1 part is there; say --trace=" + dir / "t"));
  std::filesystem::remove(dir / "t.1");
  EXPECT_THAT(OpenTrace(dir / "t").status().message(), HasSubstr("belong side by side"));
}

TEST(RecordedTrace, PartsOfAnEarlierRunAreRemoved) {
  const TempDir dir;
  const auto write_parts = [&](uint32_t workers) {
    for (uint32_t worker = 0; worker < workers; ++worker) {
      Write(TracePathOf(dir / "t", worker, workers), TwoTables(worker, workers),
            {{BagsOf({{1}}), BagsOf({{2}})}});
    }
    ASSERT_OK(RemoveOtherParts(dir / "t", workers));
    EXPECT_OK(OpenTrace(dir / "t")) << workers;
  };
  for (const uint32_t workers : {3u, 2u, 1u, 2u}) write_parts(workers);
  std::ofstream(dir / "t.2") << "somebody's";
  ASSERT_OK(RemoveOtherParts(dir / "t", 2));
  EXPECT_TRUE(std::filesystem::exists(dir / "t.2")) << "it is no trace";
}

TEST(RecordedTrace, ASampleHasTheSampledIdsAndTheFiguresOfAll) {
  const TempDir dir;
  TraceHeader header = TwoTables();
  header.tables[1].sampled = 0.2;
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < 5000; ++id) ids.push_back(id);
  Write(dir / "t", header, {{BagsOf({{1}, {2}}), BagsOf({ids, {}})}});
  auto trace = OpenTrace(dir / "t");
  ASSERT_OK(trace);
  std::vector<Bags> features;
  ASSERT_EQ(trace.value()->Read(0, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2));
  EXPECT_NEAR(static_cast<double>(features[1].ids.size()), 1000.0, 100.0);
  for (const uint64_t id : features[1].ids) {
    EXPECT_TRUE(ReuseSampler::IsSampled(RowId{id}, 0.2)) << id;
  }
  EXPECT_EQ(trace.value()->figures()[1].lookups, 5000u);
  EXPECT_EQ(trace.value()->figures()[1].longest_bag, 5000u);
}

TEST(RecordedTrace, AnUnfinishedOneHasNoName) {
  const TempDir dir;
  {
    auto writer = TraceWriter::Create(dir / "t", TwoTables());
    ASSERT_OK(writer);
    ASSERT_OK(writer.value()->Append(0, Steps()[0]));
    EXPECT_FALSE(OpenTrace(dir / "t").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_EQ(TraceWriter::Create(dir / "missing/t", TwoTables()).status().code(),
            StatusCode::kUsage);
}

Status ReadAll(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TraceReader> trace, OpenTrace(path));
  std::vector<Bags> features;
  for (;;) {
    ASSIGN_OR_RETURN(const uint64_t read, trace->Read(0, &features));
    if (read == 0) return OkStatus();
  }
}

// Cut off or changed anywhere, a trace is refused, or it has the bytes that were written.
RC_GTEST_PROP(RecordedTrace, DamageIsNoticed, ()) {
  static const std::string whole = [] {
    const TempDir dir;
    Write(dir / "t", TwoTables(), Steps());
    return ReadFile(dir / "t").value();
  }();
  const TempDir dir;
  std::string bytes = whole;
  const auto at = *rc::gen::inRange<size_t>(0, bytes.size());
  if (*rc::gen::arbitrary<bool>()) {
    bytes.resize(at);
  } else {
    bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  }
  std::ofstream(dir / "t", std::ios::binary) << bytes;
  const Status status = ReadAll(dir / "t");
  RC_ASSERT(status.ok() || status.code() == StatusCode::kUsage);
}

// It is renamed into place, which would replace what the link leads to other programs by.
TEST(RecordedTrace, ReplacesNoLink) {
  const TempDir dir;
  std::filesystem::create_symlink("/proc/self/fd/1", dir / "stdout");
  const Status status = TraceWriter::Create(dir / "stdout", TwoTables()).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("is a link"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "stdout"));
}

TEST(RecordedTrace, SaysWhichBlockIsDamaged) {
  const TempDir dir;
  Write(dir / "t", TwoTables(), Steps());
  std::string bytes = ReadFile(dir / "t").value();
  std::ofstream(dir / "cut", std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  EXPECT_THAT(ReadAll(dir / "cut").message(), HasSubstr("block 1: the file ends"));
  std::ofstream(dir / "head", std::ios::binary) << bytes.substr(0, 20);
  EXPECT_THAT(ReadAll(dir / "head").message(), HasSubstr("header is damaged"));
  std::ofstream(dir / "more", std::ios::binary) << bytes + "garbage";
  EXPECT_THAT(ReadAll(dir / "more").message(), HasSubstr("bytes follow the end of the trace"));
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  std::ofstream(dir / "first", std::ios::binary) << bytes;
  EXPECT_THAT(ReadAll(dir / "first").message(), HasSubstr("is no trace"));
  std::ofstream(dir / "empty");
  EXPECT_THAT(ReadAll(dir / "empty").message(), HasSubstr("is empty"));
  EXPECT_THAT(ReadAll(dir / "nowhere").message(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace rowhouse
