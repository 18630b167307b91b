// A profile as a table, as JSON and as a trace, from logs of a clock that stands still.
#include "launch/profile/run_profile.h"

#include <map>
#include <nlohmann/json.hpp>

#include "launch/bench/one_shard.h"
#include "launch/profile/run_profiler.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/testing.h"
#include "worker/train/step_clock.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two steps of 10 samples and 40 rows: 2 ms of data, 3 ms of a pull's wait, 1 ms of its decoding,
// and 4 ms of one layer.
PhaseRecord WorkerRecord(ManualClock& clock) {
  PhaseLog log(clock, StepPhaseKinds());
  const PhaseLog::Phase wait = log.Add({.name = "pull/wait"}),
                        layer = log.Add({.name = "mlp/top_l.0 forward",
                                         .amounts = {"samples"},
                                         .sizes = {{"inputs", 16}, {"outputs", 4}}});
  log.KeepSpans();
  log.Restart();
  for (uint64_t step = 0; step < 2; ++step) {
    log.set_step(step);
    clock.Advance(2);
    log.End(Number(StepPhase::kData), 10);
    clock.Advance(3);
    log.End(wait);
    clock.Advance(1);
    log.End(Number(StepPhase::kPull), 40);
    clock.Advance(4);
    log.End(layer, 10);
    clock.Advance(1);
    log.End(Number(StepPhase::kBetween));
  }
  return log.Record();
}

RunProfile TwoRanks() {
  ManualClock clock;
  PhaseLog shard(clock, {{.name = "wait"}, {.name = "gather", .amounts = {"rows"}}});
  shard.KeepSpans();
  clock.Advance(5);
  shard.End(0);
  clock.Advance(2);
  shard.End(1, 80);
  ManualClock of_worker;
  RankProfile worker{.name = "worker 0",
                     .host = "a",
                     .is_worker = true,
                     .pid = 7,
                     .rows = 80,
                     .samples = 20,
                     .threads = {{.thread = "worker", .record = WorkerRecord(of_worker)}},
                     .memory = {{.name = "samples", .bytes = 1 << 20}},
                     .process_peak_bytes = 3 << 20};
  ProfileReply reply;
  reply.pid = 8;
  reply.threads = {{.thread = "shard", .record = shard.Record()}};
  RankProfile ps = RankOfShard("PS node 0, shard 0", "b", std::move(reply));
  ps.clock_offset = 1'000'000;
  ps.clock_error = 500;
  ps.samples = 20;
  return {.steps = 2, .samples = 20, .ranks = {std::move(worker), std::move(ps)}};
}

std::map<std::string, json> PhasesOf(const json& rank) {
  std::map<std::string, json> phases;
  for (const json& phase : rank["threads"][0]["phases"]) phases[phase["name"]] = phase;
  return phases;
}

TEST(RunProfile, FiguresAreByStepSampleAndRow) {
  const json profile = json::parse(ProfileToJson(TwoRanks()).dump());
  EXPECT_EQ(profile["rowhouse_profile"], 1);
  std::map<std::string, json> phases = PhasesOf(profile["ranks"][0]);
  EXPECT_EQ(phases["pull"]["ms_per_step"], 4.0) << "with its wait";
  EXPECT_EQ(phases["pull/wait"]["ms_per_step"], 3.0);
  EXPECT_EQ(phases["data"]["ns_per_sample"], 2e5);
  EXPECT_EQ(phases["mlp/top_l.0 forward"]["inputs"], 16);
  double share = 0;
  for (const auto& [name, phase] : phases) {
    if (name.find('/') == std::string::npos) share += phase["share"].get<double>();
  }
  EXPECT_NEAR(share, 1.0, 1e-9) << "phases sum to the whole";
  EXPECT_EQ(PhasesOf(profile["ranks"][1])["gather"]["ns_per_row"], 2e6 / 80);
}

TEST(RunProfile, MemoryOfNoPartIsALineOfItsOwn) {
  const json memory = json::parse(ProfileToJson(TwoRanks()).dump())["ranks"][0]["memory"];
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[1]["name"], "not attributed");
  EXPECT_EQ(memory[1]["bytes"], 2 << 20);
}

TEST(RunProfile, TheTableNamesRanksPhasesAndTheClocksError) {
  const std::string text = ProfileText(TwoRanks());
  EXPECT_THAT(text, HasSubstr("worker 0 on a: 20 samples, 80 rows pulled\n"));
  EXPECT_THAT(text, HasSubstr("its clock is 1000.0 us ahead, known to 0.5 us"));
  EXPECT_THAT(text, HasSubstr("    wait"));
  EXPECT_THAT(text, HasSubstr("not attributed 2.0, process 3.0"));
}

TEST(TraceFile, SlicesOfATrackNestAndAreOnOneClock) {
  const json trace = json::parse(TraceText(TwoRanks()));
  EXPECT_EQ(trace["otherData"]["rowhouse_profile"], 1);
  std::map<std::pair<int, int>, std::vector<json>> phases;
  std::vector<std::string> others;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["ts"].get<double>(), 0.0);
    if (event["cat"] == "phase") {
      phases[{event["pid"], event["tid"]}].push_back(event);
    } else {
      others.push_back(event["name"]);
    }
  }
  EXPECT_THAT(others, testing::ElementsAre("step 0", "pull", "step 1", "pull"));
  ASSERT_EQ(phases.size(), 2u);
  for (const auto& [track, events] : phases) {
    for (size_t i = 1; i < events.size(); ++i) {
      const double end = events[i - 1]["ts"].get<double>() + events[i - 1]["dur"].get<double>();
      EXPECT_GE(events[i]["ts"].get<double>(), end - 1e-6);
    }
  }
  const json& gather = phases.at({2, 1}).at(0);
  EXPECT_EQ(gather["name"], "gather") << "waiting is left blank";
  EXPECT_EQ(gather["ts"], 5000.0) << "5 ms by its clock, which is 1 ms ahead as the first span is";
  EXPECT_EQ(gather["args"]["rows"], 80);
  const json& layer = phases.at({1, 1}).at(3);
  EXPECT_EQ(layer["args"]["outputs"], 4);
}

TEST(OneShard, ItsProfileIsOfWhatWasRunSinceItBegan) {
  const auto shard = OneShard::Start(
      {.table_rows = 1000, .dim = 4, .request_rows = 50, .step_requests = 2, .steps = 2});
  ASSERT_OK(shard);
  OneShard& one = *shard.value();
  ASSERT_OK(one.PulledRowsPerSecond(1));
  ASSERT_OK(one.BeginProfile());
  ASSERT_OK(one.PulledRowsPerSecond(3));
  ASSERT_OK(one.PushedRowsPerSecond(2));
  const Result<RunProfile> profile = one.TakeProfile();
  ASSERT_OK(profile);
  EXPECT_EQ(profile.value().steps, 5u);
  const json ranks = json::parse(ProfileToJson(profile.value()).dump())["ranks"];
  std::map<std::string, json> client = PhasesOf(ranks[0]), served = PhasesOf(ranks[1]);
  EXPECT_GT(client["pull/wait"]["times"].get<int>(), 0);
  EXPECT_EQ(served["gather"]["rows"], 300);
  EXPECT_EQ(served["update/rows"]["rows"], 200);
}

TEST(ClockBounds, TheNarrowestExchangeCounts) {
  ClockBounds bounds;  // Its clock is 100 ahead.
  bounds.ItsAfterOurs(150, 10);
  bounds.ItsBeforeOurs(150, 90);
  bounds.ItsAfterOurs(305, 200);
  bounds.ItsBeforeOurs(305, 210);
  EXPECT_EQ(bounds.offset(), 100);
  EXPECT_EQ(bounds.error(), 5);
}

TEST(ProfileFiles, AreWhereTheFlagSays) {
  EXPECT_EQ(ProfileFilesOf("", "m").trace, "");
  EXPECT_EQ(ProfileFilesOf("-", "").trace, "");
  EXPECT_EQ(ProfileFilesOf("-", "m").trace, "m/profile/trace.json");
  EXPECT_EQ(ProfileFilesOf("-", "m").figures, "m/profile/profile.json");
  EXPECT_EQ(ProfileFilesOf("d", "m").figures, "d/profile.json");
  EXPECT_EQ(ProfileFilesOf("t.json", "").trace, "t.json");
  EXPECT_EQ(ProfileFilesOf("t.json", "").figures, "");
}

}  // namespace
}  // namespace rowhouse
