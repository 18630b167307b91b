// `rowhouse plan --simulate` beside real runs of 2 PS nodes and 2 workers: bytes and rows, which do
// not depend on what else the host does. launch/experiments/simulated.sh compares times.
#include "common/durable_file.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class Simulated : public testing::Test {
 protected:
  // Of the model of configs/strategies.yaml, with these flags.
  void Run(const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--config=" ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml",
                                      "--ps=2", "--store=memory", "--data_size=10240"};
    flags.insert(flags.end(), more.begin(), more.end());
    const std::string report = dir_ / "run.json", json = dir_ / "simulation.json";
    std::vector<std::string> train = flags;
    train.push_back("--report=" + report);
    const TrainResult trained = Train({.ranks = 4, .flags = train});
    ASSERT_EQ(trained.exit_code, 0) << trained.Describe();

    std::vector<std::string> arguments = {ROWHOUSE_BINARY,       "plan",
                                          "--simulate",          "--simulated_steps=10",
                                          "--workers=2",         "--calibration=typical",
                                          "--reports=" + report, "--json=" + json};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    plan_ = RunCommand({.arguments = arguments});
    ASSERT_EQ(plan_.exit_code, 0) << plan_.Describe();
    beside_ = nlohmann::json::parse(ReadFile(json).value()).at("beside");
  }

  const TempDir dir_;
  ProcessResult plan_;
  nlohmann::json beside_;
};

TEST_F(Simulated, BytesAndLoadAreThoseOfARealRun) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{},
        {"--strategy=table_wise_lpt"},
        {"--pool_on=shards", "--strategy=table_wise_lpt"}}) {
    SCOPED_TRACE(flags.empty() ? "row_wise" : flags.front());
    ASSERT_NO_FATAL_FAILURE(Run(flags));
    EXPECT_NEAR(beside_["wire_bytes"]["error"].get<double>(), 0, 0.02) << plan_.out;
    ASSERT_EQ(beside_["load"].size(), 2u);
    for (const auto& node : beside_["load"]) {
      EXPECT_NEAR(node["error"].get<double>(), 0, 0.02) << plan_.out;
    }
    EXPECT_THAT(plan_.out, HasSubstr("Beside 1 real run"));
  }
}

TEST_F(Simulated, EqualSeedsPrintTheSame) {
  const auto simulate = [&](const char* seed) {
    return RunCommand({.arguments = {ROWHOUSE_BINARY, "plan", "--simulate", "--workers=3", "--ps=2",
                                     "--config=" ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml",
                                     "--calibration=typical", "--simulated_steps=20",
                                     "--jitter=0.2", std::string("--simulation_seed=") + seed}})
        .out;
  };
  const std::string one = simulate("1");
  EXPECT_THAT(one, HasSubstr("jitter 20 %"));
  EXPECT_EQ(one, simulate("1"));
  EXPECT_NE(one, simulate("2"));
}

TEST_F(Simulated, WrongOptionsAreNamed) {
  const auto refused = [&](const std::string& flag) {
    const ProcessResult result = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "plan", "--simulate", "--calibration=typical",
                       "--config=" ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml", flag}});
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    return result.err;
  };
  EXPECT_THAT(refused("--jitter=nan"), HasSubstr("--jitter=nan"));
  EXPECT_THAT(refused("--staleness=2"), HasSubstr("--staleness"));
  EXPECT_THAT(refused("--simulated_steps=0"), HasSubstr("--simulated_steps=0"));
  EXPECT_THAT(refused("--workers=5000"), HasSubstr("at most 4096 ranks"));
  EXPECT_THAT(refused("--reports=" + (dir_ / "none.json")), HasSubstr("none.json"));
  EXPECT_THAT(refused("--out=" + (dir_ / "plan.json")), HasSubstr("a simulation makes no plan"));
}

TEST_F(Simulated, ScalingRefusesWhatItWouldNotRead) {
  const auto refused = [&](const std::string& flag) {
    const ProcessResult result = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "plan", "--scaling", "--calibration=typical",
                       "--config=" ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml", flag}});
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    return result.err;
  };
  EXPECT_THAT(refused("--workers=5"), HasSubstr("goes through clusters of all sizes"));
  EXPECT_THAT(refused("--out=" + (dir_ / "plan.json")), HasSubstr("a simulation makes no plan"));
}

}  // namespace
}  // namespace rowhouse
