// train --profile through real processes: two PS nodes and two workers.
#include <fstream>
#include <map>

#include "common/durable_file.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kProfileConfig =
    "model: {arch_mlp_bot: [4, 16, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8}\n"
    "tables: {list: [{name: a, rows: 1000}, {name: b, rows: 2000}]}\n"
    "data: {data_generation: synthetic, data_size: 4000, synthetic_test_samples: 100}\n"
    "training: {mini_batch_size: 100, print_freq: 20, test_mini_batch_size: 100, test_freq: 20}\n"
    "storage: {cache_mb: 16}\n";

class Profile : public testing::Test {
 protected:
  Profile() { std::ofstream(dir_ / "run.yaml") << kProfileConfig; }

  TrainResult TrainIt(std::vector<std::string> flags) {
    flags.push_back("--config=" + (dir_ / "run.yaml"));
    return Train({.ranks = 4, .flags = std::move(flags)});
  }

  TempDir dir_;
};

TEST_F(Profile, ChangesNoBitAndTellsOfEveryRank) {
  const TrainResult plain = TrainIt({});
  ASSERT_EQ(plain.exit_code, 0) << plain.Describe();
  const TrainResult profiled = TrainIt({"--profile=" + (dir_ / "out")});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.Describe();
  EXPECT_EQ(profiled.digest, plain.digest);
  EXPECT_EQ(profiled.losses, plain.losses);
  for (const char* const rank :
       {"worker 0 on", "worker 1 on", "PS node 0, shard 0 on", "PS node 1, shard 1 on"}) {
    EXPECT_THAT(profiled.out, HasSubstr(rank));
  }

  const json figures = json::parse(ReadFile(dir_ / "out/profile.json").value());
  EXPECT_EQ(figures["steps"], 40);
  ASSERT_EQ(figures["ranks"].size(), 4u);
  const json& worker = figures["ranks"][0]["threads"][0];
  double ms = 0, between = 0;
  for (const json& phase : worker["phases"]) {
    if (phase["name"].get<std::string>().find('/') != std::string::npos) continue;
    ms += phase["ms_per_step"].get<double>();
    if (phase["name"] == "between steps") between = phase["ms_per_step"];
  }
  // Two workers never come to the same allreduce at the same nanosecond.
  for (const int rank : {0, 1}) {
    std::map<std::string, double> of_phase;
    for (const json& phase : figures["ranks"][rank]["threads"][0]["phases"]) {
      of_phase[phase["name"]] = phase["ms_per_step"];
    }
    EXPECT_GT(of_phase["allreduce/wait"], 0.0);
    EXPECT_NEAR(of_phase["allreduce/wait"] + of_phase["allreduce/sum"], of_phase["allreduce"],
                1e-9);
    // To either shard 40 pulls and 40 pushes, one message each.
    const json& messages = figures["ranks"][rank]["messages"];
    ASSERT_EQ(messages.size(), 4u);
    for (const json& message : messages) {
      EXPECT_EQ(message["number"], 40);
      EXPECT_GE(message["behind_us"].get<double>(), 0.0);
      for (const char* const way : {"going_us", "served_us", "coming_us"}) {
        EXPECT_GT(message[way].get<double>(), 0.0) << way;
      }
    }
  }
  const double seconds = profiled.report["totals"]["seconds"];
  EXPECT_NEAR((ms - between) * 40, seconds * 1e3, 0.02 * seconds * 1e3 + 1.0)
      << "phases sum to the time of the steps";
}

TEST_F(Profile, ItsTraceHasEveryRankOnOneClockWithoutOverlaps) {
  const TrainResult profiled = TrainIt({"--profile=" + (dir_ / "trace.json")});
  ASSERT_EQ(profiled.exit_code, 0) << profiled.Describe();
  const json trace = json::parse(ReadFile(dir_ / "trace.json").value());
  EXPECT_EQ(trace["otherData"]["clock"], "all ranks share one clock");
  std::map<std::pair<int, int>, double> ends;  // of the last phase of each track
  std::map<std::string, int> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "phase") continue;
    ++names[event["name"]];
    double& end = ends[{event["pid"], event["tid"]}];
    const double begin = event["ts"];
    EXPECT_GE(begin, end - 1e-3);
    end = begin + event["dur"].get<double>();
  }
  for (const char* const name : {"data", "merge", "pull/wait", "pool/a", "mlp/bot_l.0 forward",
                                 "interaction/dot backward", "push/encode", "allreduce/sum",
                                 "dense_update", "gather", "decode", "update/rows", "socket"}) {
    EXPECT_GT(names[name], 0) << name;
  }
  EXPECT_GE(ends.size(), 4u);
}

TEST_F(Profile, FilesThatCannotBeMadeAreToldBeforeTraining) {
  std::ofstream(dir_ / "file") << "no directory";
  const TrainResult result = TrainIt({"--profile=" + (dir_ / "file/below")});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("--profile: files cannot be made in"));
}

}  // namespace
}  // namespace rowhouse
