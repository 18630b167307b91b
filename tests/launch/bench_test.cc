#include "launch/bench/bench.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/transport/local_socket.h"
#include "launch/bench/child_run.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/raw_exchange.h"
#include "launch/bench_rows/bare_shard.h"
#include "launch/bench_rows/timed_pairs.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// Counts its samples: the i-th of the system is 10 + i, every one of the yardstick is 20.
class CountingBench final : public Bench {
 public:
  Status Open() { return OkStatus(); }
  Result<double> MeasureSystem() override { return 10.0 + samples_++; }
  Result<double> MeasureYardstick() override { return 20.0; }

 private:
  int samples_ = 0;
};

class FailingBench final : public Bench {
 public:
  Status Open() { return OkStatus(); }
  Result<double> MeasureSystem() override { return IoError("it broke"); }
  Result<double> MeasureYardstick() override { return 1.0; }
};

// Only in this program; `rowhouse bench` does not know them.
REGISTER_MEMBER(
    AddBench({.name = "counting_in_test",
              .what = "nothing, for a test",
              .time = "no time",
              .unit = "things/s",
              .yardstick = "always 20",
              .make = [](const BenchOptions&) { return MakeOpenBench<CountingBench>(); }}) &&
    AddBench({.name = "failing_in_test",
              .what = "nothing, and fails",
              .time = "no time",
              .make = [](const BenchOptions&) { return MakeOpenBench<FailingBench>(); }}) &&
    AddBench({.name = "scriptless_in_test",
              .what = "nothing, as its script is missing",
              .time = "no time",
              .count = [](const std::string&, const BenchOptions&) {
                return Result<std::vector<BenchFigure>>(
                    RunTorchScript("none.py", {"--floats=1"}).status());
              }}));

TEST(BenchTest, OnlyKernelsTakeOnly) {
  const auto asked = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"rowhouse", "bench"});
    const auto line = ParseCommandLine(static_cast<int>(words.size()), words.data());
    EXPECT_OK(line);
    return BenchCommandOf(line.value());
  };
  EXPECT_EQ(asked({"kernels", "--only=update"}).value()->name, "kernels");
  for (const char* const other : {"pull", "calibrate"}) {
    const Status refused = asked({other, "--only=update"}).status();
    EXPECT_EQ(refused.exit_code(), 2) << other;
    EXPECT_THAT(refused.message(), HasSubstr("say rowhouse bench kernels --only=update"));
  }
  EXPECT_THAT(asked({"walkthrough", "--table_mb=300"}).status().message(),
              HasSubstr("--table_mb=300 is for bench regime alone"));
  EXPECT_EQ(asked({"regime", "--verify=e.json"}).value()->name, "regime");
  EXPECT_EQ(asked({"pull"}).value(), nullptr);
}

TEST(BenchTest, ATraceThatNobodyReadsIsRefused) {
  const Status status = RunBench({"counting_in_test"}, "", {.trace = "x.txt"});
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), HasSubstr("--trace=x.txt: none of these benches reads a trace"));
}

TEST(BenchTest, PullAndPushAreKnown) {
  EXPECT_TRUE(Benches().contains("pull"));
  EXPECT_TRUE(Benches().contains("push"));
}

TEST(BenchTest, WithoutANameBenchesAreListedAndNoneIsRun) {
  testing::internal::CaptureStdout();
  ASSERT_OK(RunBench({}, ""));
  const std::string text = testing::internal::GetCapturedStdout();
  for (const auto& [name, bench] : Benches()) {
    if (bench.is_hidden) continue;
    EXPECT_THAT(text, testing::ContainsRegex("\n  " + name + " +[a-z0-9 ]+  +[A-Za-z]")) << name;
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("things/s"))) << "counting_in_test was run";
  EXPECT_EQ(RunBench({}, "x.json").exit_code(), 2);
}

TEST(BenchTest, JsonAloneIsAllThatStandardOutputHas) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ASSERT_OK(RunBench({"counting_in_test"}, "-"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("counting_in_test"));
  const auto figures = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(figures.at(0).at("name"), "counting_in_test");
}

TEST(BenchTest, ANameStandsForAllThatBeginWithIt) {
  const TempDir dir;
  ASSERT_OK(RunBench({"counting_in"}, dir / "bench.json"));
  EXPECT_THAT(ReadFile(dir / "bench.json").value(), HasSubstr("\"counting_in_test\""));
  EXPECT_EQ(RunBench({"counting_i"}, "").exit_code(), 2) << "whole words only";
}

TEST(BenchTest, ABenchOfATraceThatWasNotGivenIsSkippedAndOneThatIsNotThereIsAMistake) {
  const TempDir dir;
  ASSERT_OK(RunBench({"tier_hit_ratio_trace"}, dir / "bench.json"));
  EXPECT_EQ(ReadFile(dir / "bench.json").value(), "[]\n");
  const Status status = RunBench({"tier_hit_ratio_trace"}, "", {.trace = dir / "none"});
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), HasSubstr("--trace: cannot open"));
}

TEST(BenchTest, HitRatiosOfATraceAreJudgedByItsShape) {
  const TempDir dir;
  {
    std::ofstream file(dir / "t.txt");
    for (int i = 0; i < 400; ++i) file << i * i % 101 << '\n';
  }
  const BenchOptions options{.trace = dir / "t.txt"};
  ASSERT_OK(RunBench({"tier_hit_ratio_trace"}, dir / "bench.json", options));
  const auto figures = nlohmann::json::parse(ReadFile(dir / "bench.json").value());
  const auto figure = [&](const std::string& name) {
    for (const auto& at : figures) {
      if (at["name"] == "tier_hits/" + name) return at;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(figures.size(), 3u * 3u * 5u) << "shapes, caches; lru, lfu, any slot, 16 ways, Belady";
  for (const char* ways : {"any", "16"}) {
    EXPECT_LT(figure(std::string("t/20%/") + ways)["target"], 1.0);
    EXPECT_LT(figure(std::string("t+scan/20%/") + ways)["target"], 1.0);
    EXPECT_GT(figure(std::string("t+drift/20%/") + ways)["target"], 1.0) << "above both";
  }
  const nlohmann::json lru = figure("t/20%/lru"), lfu = figure("t/20%/lfu");
  EXPECT_EQ(std::max(lru["measured"], lfu["measured"]), lru["yardstick"]);
  EXPECT_TRUE(lru["target"].is_null());
}

TEST(BenchTest, ACachedRowTakesEightBytesBesideItsRecord) {
  const TempDir dir;
  ASSERT_OK(RunBench({"tier_cached_row_bytes"}, dir / "bench.json"));
  EXPECT_THAT(ReadFile(dir / "bench.json").value(), HasSubstr("\"met\": true"));
}

TEST(BenchTest, AnUnknownNameIsTheOperatorsMistakeAndListsTheKnownOnes) {
  const Status status = RunBench({"counting_in_test", "pul"}, "");
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), HasSubstr("\"pul\""));
  EXPECT_THAT(status.message(), HasSubstr("push"));
  EXPECT_THAT(status.message(), HasSubstr("Did you mean \"pull\"?"));
  EXPECT_THAT(status.message(), HasSubstr("calibrate")) << "commands are benches, too";
}

TEST(BenchTest, RatioIsTheMedianOfThePairsRatiosAndNotTheRatioOfTheMedians) {
  // Ratios 0.5, 0.9, 0.2, 0.6, 1.0: median 0.6, spread (1.0 - 0.2) / 0.6.
  const std::array<BenchPair, 5> pairs = {{{.system = 5, .yardstick = 10},
                                           {.system = 9, .yardstick = 10},
                                           {.system = 8, .yardstick = 40},
                                           {.system = 12, .yardstick = 20},
                                           {.system = 30, .yardstick = 30}}};
  const BenchFigure figure = Summarise("hand", "rows/s", 0.6, pairs);
  EXPECT_DOUBLE_EQ(figure.measured, 9.0);
  EXPECT_DOUBLE_EQ(figure.yardstick, 20.0);
  EXPECT_DOUBLE_EQ(figure.ratio, 0.6);
  EXPECT_DOUBLE_EQ(figure.spread, 0.8 / 0.6);
  EXPECT_EQ(figure.met(), true) << "a ratio that equals its target reaches it";
  EXPECT_EQ(Summarise("hand", "rows/s", 0.61, pairs).met(), false);
  EXPECT_EQ(Summarise("hand", "rows/s", std::nullopt, pairs).met(), std::nullopt);
}

TEST(BenchTest, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  const std::array<BenchPair, 4> pairs = {{{.system = 4, .yardstick = 1},
                                           {.system = 1, .yardstick = 1},
                                           {.system = 3, .yardstick = 1},
                                           {.system = 8, .yardstick = 1}}};
  EXPECT_DOUBLE_EQ(Summarise("hand", "rows/s", std::nullopt, pairs).ratio, 3.5);
}

TEST(BenchTest, TableLineSaysFigureAndVerdict) {
  const BenchPair pair = {.system = 5'834'000, .yardstick = 10'000'000};
  const std::string line =
      FigureTableLine(Summarise("pull", "rows/s", 0.5, {&pair, 1}), "the same bytes");
  EXPECT_THAT(line, HasSubstr("5.83 M rows/s"));
  EXPECT_THAT(line, HasSubstr("10 M rows/s"));
  EXPECT_THAT(line, HasSubstr("0.58"));
  EXPECT_THAT(line, HasSubstr("yes"));
}

TEST(BenchTest, JsonHoldsOneObjectABenchWithExactlyTheAgreedKeys) {
  const TempDir dir;
  const std::string path = dir / "bench.json";
  ASSERT_OK(RunBench({"counting_in_test"}, path));
  const auto text = ReadFile(path);
  ASSERT_OK(text);
  const nlohmann::json list = nlohmann::json::parse(text.value());
  ASSERT_EQ(list.size(), 1u);
  // The first sample, 10, warms up; the others are 11 to 17, half of that as ratios.
  static_assert(kMeasuredPairs == 7);
  const nlohmann::json expected = {{"name", "counting_in_test"}, {"measured", 14.0},
                                   {"unit", "things/s"},         {"yardstick", 20.0},
                                   {"ratio", 14.0 / 20.0},       {"spread", 0.3 / 0.7},
                                   {"target", nullptr},          {"met", nullptr}};
  for (const auto& [key, value] : expected.items()) {
    ASSERT_TRUE(list[0].contains(key)) << key;
    if (value.is_number()) {
      EXPECT_NEAR(list[0][key].get<double>(), value.get<double>(), 1e-12) << key;
    } else {
      EXPECT_EQ(list[0][key], value) << key;
    }
  }
  EXPECT_EQ(list[0].size(), expected.size());
}

TEST(BenchTest, AFailureNamesItsBenchAndWritesNothing) {
  const TempDir dir;
  const Status status = RunBench({"counting_in_test", "failing_in_test"}, dir / "bench.json");
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_EQ(status.message(), "bench failing_in_test: it broke");
  EXPECT_EQ(ReadFile(dir / "bench.json").status().code(), StatusCode::kNotFound);
}

TEST(BenchTest, WithoutPyTorchItsLinesAreLeftOut) {
  const TempDir dir;
  testing::internal::CaptureStdout();
  ASSERT_OK(RunBench({"scriptless_in_test"}, dir / "bench.json"));
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("scriptless_in_test left out: tests/bench/none.py is not beside"));
  EXPECT_EQ(ReadFile(dir / "bench.json").value(), "[]\n");
}

TEST(BenchTest, ALatencyIsJudgedByTheYardsticksOverIt) {
  TimedSamples slow, quick;
  for (const double us : {300.0, 200.0, 400.0}) slow.Add(us, us * 1e-6, us * 2e-6);
  for (int i = 0; i < 3; ++i) quick.Add(100.0, 1e-4, 2e-4);
  const BenchFigure figure = SummariseLatencies("p50", 0.5, slow, quick);
  EXPECT_DOUBLE_EQ(figure.measured, 300.0);
  EXPECT_DOUBLE_EQ(figure.yardstick, 100.0);
  EXPECT_DOUBLE_EQ(figure.ratio, 1.0 / 3);
  EXPECT_EQ(figure.met(), false);
  ASSERT_TRUE(figure.times);
  EXPECT_DOUBLE_EQ(figure.times->cpu, 600e-6);
  EXPECT_DOUBLE_EQ(figure.times->yardstick_wall, 1e-4);
}

TEST(BenchTest, RowsStandsForAllFiguresOfRows) {
  size_t rows = 0;
  for (const auto& [name, bench] : Benches()) {
    if (name.starts_with("rows_")) ++rows;
  }
  EXPECT_GE(rows, 5u);
  EXPECT_EQ(Benches().at("bags").group, "rows");
  EXPECT_EQ(Benches().at("bags_torch").group, "rows");
}

TEST(BenchTest, ABareShardMovesTheBytesOfARealOneAndUpdatesItsRows) {
  OneShardOptions options{
      .table_rows = 1000, .dim = 8, .request_rows = 50, .step_requests = 6, .steps = 1};
  for (const std::string& listen : {options.listen, NewLocalEndpoint()}) {
    options.listen = listen;
    const auto bare = BareShard::Start(options);
    ASSERT_OK(bare);
    options.listen = "tcp://127.0.0.1:0";
    const auto shard = OneShard::Start(options);
    ASSERT_OK(shard);
    std::vector<RowBatch> batch = {SpreadBatch(options, /*key=*/0)};
    uint64_t before = shard.value()->moved_bytes();
    ASSERT_OK(shard.value()->Pull(&batch));
    ASSERT_OK(bare.value()->Pull());
    EXPECT_EQ(bare.value()->moved_bytes(), shard.value()->moved_bytes() - before);
    before += 2 * bare.value()->moved_bytes();  // It pulls again.
    ASSERT_OK(shard.value()->PullAndPush(&batch));
    const uint64_t pulled = bare.value()->moved_bytes();
    ASSERT_OK(bare.value()->Push());
    EXPECT_EQ(bare.value()->moved_bytes() - pulled, shard.value()->moved_bytes() - before);
    const float* const row = bare.value()->row(batch[0].rows[7]);
    EXPECT_EQ(row[3], 0.25f - 0.01f * 0.5f);
  }
}

TEST(BenchTest, OneShardServesExactlyTheRowsThatAreCounted) {
  const auto shard = OneShard::Start(
      {.table_rows = 1000, .dim = 8, .request_rows = 50, .step_requests = 6, .window = 4});
  ASSERT_OK(shard);
  // Each of them fails unless the shard counted every row, and none as a miss.
  EXPECT_OK(shard.value()->PulledRowsPerSecond(3));
  EXPECT_OK(shard.value()->PushedRowsPerSecond(3));
  EXPECT_OK(shard.value()->PulledRowsPerSecond(2)) << "pulls go on after pushed steps";
}

TEST(BenchTest, RawExchangeAnswersMoreRequestsThanItsWindowHolds) {
  const auto raw = RawExchange::Start({.request_bytes = 100'000, .reply_bytes = 64, .window = 2});
  ASSERT_OK(raw);
  const auto rate = raw.value()->RequestsPerSecond(25);
  ASSERT_OK(rate);
  EXPECT_GT(rate.value(), 0.0);
}

}  // namespace
}  // namespace rowhouse
