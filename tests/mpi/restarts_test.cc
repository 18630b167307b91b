// launch/mpirun.sh --max_restarts: runs that are killed end by themselves with the rows of one that
// was not; faults that would come again end the loop; a scheduler's signal ends a run with a code
// of its own. Where only the script is tested, a few lines of bash stand in for `rowhouse train`.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Restarted : public testing::Test {
 protected:
  using Arguments = std::vector<std::string>;

  // With 2 PS nodes and 2 workers: 300 steps, and a cache that evicts.
  Command Run(const std::string& model, const Arguments& of_script, const Arguments& more) {
    Command command = {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/mpirun.sh"},
                       .time_limit = seconds(200)};
    command.arguments = command.arguments + of_script +
                        Arguments{"-n",
                                  "4",
                                  ROWHOUSE_BINARY,
                                  "train",
                                  "--ps=2",
                                  "--arch_embedding_size=500-40-3-800",
                                  "--arch_sparse_feature_size=8",
                                  "--arch_mlp_bot=5-16-8",
                                  "--arch_mlp_top=16-1",
                                  "--loss_function=bce",
                                  "--round_targets",
                                  "--mini_batch_size=40",
                                  "--data_size=12000",
                                  "--optimizer=adagrad",
                                  "--cache_ratio=0.1",
                                  "--print_freq=0",
                                  "--rpc_deadline_ms=5000",
                                  "--stop_deadline_ms=2000",
                                  "--model_dir=" + dir_ / model} +
                        more;
    command.environment["TMPDIR"] = tmp_.path();
    return command;
  }

  // A program "rowhouse" that keeps the flags of each attempt, and then does what `does` says.
  // $model and $attempt are there; its settings are those of a run into the model directory.
  Command Pretend(const std::string& does, const Arguments& of_script,
                  const Arguments& flags = {}) {
    std::ofstream(dir_ / "rowhouse") << fmt::format(R"sh(#!/bin/bash
if [[ "${{@: -1}}" == --print_config ]]; then
  printf '  stop_after_steps: 0\n  ps_per_host: 0\n  model_dir: "{0}/model"\n'
  exit
fi
model={0}/model
mkdir -p $model
shift  # train
echo "$*" >>{0}/attempts
attempt=$(wc -l <{0}/attempts)
{1}
)sh",
                                                    dir_.path(), does);
    fs::permissions(dir_ / "rowhouse", fs::perms::owner_all);
    Command command = {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/mpirun.sh"},
                       .time_limit = seconds(100)};
    command.arguments =
        command.arguments + of_script + Arguments{"-n", "1", dir_ / "rowhouse", "train"} + flags;
    command.environment["TMPDIR"] = tmp_.path();
    return command;
  }
  std::vector<std::string> Attempts() const {
    std::vector<std::string> attempts;
    std::ifstream file(dir_ / "attempts");
    for (std::string line; std::getline(file, line);) attempts.push_back(line);
    return attempts;
  }

  static std::string DigestOf(const ProcessResult& result) {
    const size_t at = result.out.find("rows digest: ");
    return at == std::string::npos ? result.Describe()
                                   : result.out.substr(at, result.out.find('\n', at) - at);
  }
  // Of the run: the server of a PS node, or a rank.
  static void Kill(const Process& process, int rank) {
    for (const Process::Descendant& one : process.Descendants()) {
      const bool is_server = one.arguments.size() > 1 && one.arguments[1] == "ps";
      if (rank < 0 ? is_server : one.rank == rank) {
        kill(one.pid, SIGKILL);
        return;
      }
    }
    ADD_FAILURE() << "no such process";
  }

  const TempDir dir_, tmp_;
};

TEST_F(Restarted, ARunThatIsKilledEndsWithTheRowsOfOneThatWasNot) {
  const ProcessResult undisturbed = RunCommand(Run("whole", {}, {}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.Describe();

  Process process(Run("killed", {"--max_restarts=5"}, {"--save_every=20", "--overwrite"}));
  // Each kill comes after saves that the attempt before it had not made.
  constexpr int kServer = -1, kWorker = 3;
  size_t saves = 0;
  for (const int victim : {kServer, kWorker}) {
    ASSERT_TRUE(process.WaitForOutput("\nsaved step ", saves += 2)) << process.Wait().Describe();
    Kill(process, victim);
  }
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(DigestOf(result), DigestOf(undisturbed));
  EXPECT_THAT(result.err, AllOf(HasSubstr("Restart 1 of 5 in 1 s, from the save of step "),
                                HasSubstr("Restart 2 of 5 in 2 s, from the save of step ")));
  EXPECT_THAT(result.out, HasSubstr("restarts: 2, by which "));
  EXPECT_FALSE(fs::exists(dir_ / "killed/steps_done"));

  const auto report_of = [&](const char* model) {
    return nlohmann::json::parse(std::ifstream(dir_ / model + "/report.json"));
  };
  const auto restarts = report_of("killed").at("restarts");
  ASSERT_EQ(restarts.size(), 2u) << restarts;
  EXPECT_THAT(restarts[1].at("why"), HasSubstr("signal 9 (KILL)"));
  for (const auto& one : restarts) {
    EXPECT_EQ(one.at("from_step").get<uint64_t>() % 20, 0u) << one;
    EXPECT_EQ(one.at("steps_repeated").get<uint64_t>(),
              one.at("reached_step").get<uint64_t>() - one.at("from_step").get<uint64_t>());
    EXPECT_GT(one.at("seconds_lost").get<double>(), 0.9) << one;
    EXPECT_LT(one.at("seconds_lost").get<double>(), 60.0) << one;
  }
  EXPECT_EQ(report_of("whole").at("restarts").size(), 0u);
  EXPECT_EQ(LeftBehind(tmp_.path(), milliseconds(10000)), "");
}

// What lay there is of this run, as its rows were open.
TEST_F(Restarted, WithoutASaveARunBeginsAgain) {
  const ProcessResult undisturbed = RunCommand(Run("whole", {}, {}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.Describe();
  Process process(Run("killed", {"--max_restarts=1"}, {"--print_freq=10"}));
  ASSERT_TRUE(process.WaitForOutput("training it 20/")) << process.Wait().Describe();
  Kill(process, 3);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("from the beginning: nothing was saved"));
  EXPECT_EQ(DigestOf(result), DigestOf(undisturbed));
}

TEST_F(Restarted, ASchedulersSignalSavesAndHasACodeOfItsOwn) {
  Process process(Run("model", {"--max_restarts=3"}, {"--save_every=20", "--nepochs=1000"}));
  ASSERT_TRUE(process.WaitForOutput("\nsaved step ", 2)) << process.Wait().Describe();
  process.Signal(SIGUSR2);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 75) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("go on with --load"));
  EXPECT_THAT(result.err, Not(HasSubstr("Restart")));
  EXPECT_TRUE(fs::exists(dir_ / "model/manifest.json"));
}

TEST_F(Restarted, AfterTheLauncherWasKilledTheSameCommandWithLoadGoesOn) {
  Process process(Run("model", {"--max_restarts=3"}, {"--save_every=20", "--nepochs=1000"}));
  ASSERT_TRUE(process.WaitForOutput("\nsaved step ", 2)) << process.Wait().Describe();
  process.Signal(SIGKILL);
  process.Wait();
  const ProcessResult result =
      RunCommand(Run("model", {"--max_restarts=3"}, {"--save_every=20", "--load"}));
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, Not(HasSubstr("Restart")));
}

// ---- The script alone ---------------------------------------------------------------------------

TEST_F(Restarted, AFaultThatComesAgainEndsTheLoop) {
  const ProcessResult result = RunCommand(Pretend("echo '0 1.0 0812' >$model/steps_done; exit 1",
                                                  {"--max_restarts=9"}, {"--overwrite"}));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err,
              HasSubstr("it failed twice without one more step, save or moved row between"));
  EXPECT_EQ(Attempts().size(), 2u);
}

TEST_F(Restarted, RunsThatGetOnAreRestartedAsOftenAsAllowed) {
  const ProcessResult result = RunCommand(
      Pretend("echo \"0 1.0 $attempt\" >$model/steps_done; echo $ROWHOUSE_RESTARTS; kill -9 $$",
              {"--max_restarts=2"}));
  EXPECT_EQ(result.exit_code, 137) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("it was, 2 times (--max_restarts)"));
  // Its own rows are begun again.
  EXPECT_THAT(Attempts(), ElementsAre("", "--overwrite", "--overwrite"));
  const size_t last = result.out.rfind("[{");
  ASSERT_NE(last, std::string::npos) << result.Describe();
  const auto told = nlohmann::json::parse(result.out.substr(last));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].at("reached_step"), 1);
  EXPECT_EQ(told[0].at("began_at"), 1.0);
  EXPECT_EQ(told[1].at("reached_step"), 2);
  EXPECT_TRUE(told[1].at("from_step").is_null());
}

// Its rank was seen, and has ended; it is stopped, and hears no SIGTERM.
TEST_F(Restarted, AnMpirunThatDoesNotEndIsKilled) {
  Command command = Pretend(
      "echo \"0 1.0 $attempt\" >$model/steps_done\n"
      "if ((attempt == 1)); then sleep 2; kill -STOP $PPID; exit 1; fi",
      {"--max_restarts=2"});
  command.environment["MPIRUN_END_DEADLINE"] = "1";
  const ProcessResult result = RunCommand(command);
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("and mpirun has not within 1 s: it is killed"));
  EXPECT_THAT(result.err, HasSubstr("mpirun did not end after its ranks. Restart 1 of 2"));
  EXPECT_EQ(Attempts().size(), 2u);
}

// A host that only starts a run may see none of its ranks.
TEST_F(Restarted, AnMpirunWithoutRanksHereIsLeftAlone) {
  std::ofstream(dir_ / "mpirun") << "#!/bin/bash\nexec sleep 4\n";
  fs::permissions(dir_ / "mpirun", fs::perms::owner_all);
  Command command = {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/mpirun.sh", "-n", "1", "true"}};
  command.environment["PATH"] = dir_.path() + ":" + getenv("PATH");
  command.environment["MPIRUN_END_DEADLINE"] = "1";
  const ProcessResult left = RunCommand(command);
  EXPECT_EQ(left.exit_code, 0) << left.Describe();
  command.environment["MPIRUN_END_DEADLINE"] = "1m";
  const ProcessResult refused = RunCommand(command);
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("MPIRUN_END_DEADLINE=1m: expected seconds"));
}

TEST_F(Restarted, AMistakeOfTheOperatorIsNotTriedAgain) {
  const ProcessResult result = RunCommand(Pretend("exit 2", {"--max_restarts=9"}));
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_EQ(Attempts().size(), 1u);
}

// A model that --overwrite was to replace is not what the run goes on from, and is not deleted
// again once there is a save.
TEST_F(Restarted, OnlySavesOfTheCommandAreGoneOnFrom) {
  fs::create_directories(dir_ / "model");
  std::ofstream(dir_ / "model/manifest.json") << "{\n \"steps\": 900,\n}\n";
  const ProcessResult result = RunCommand(
      Pretend("echo \"0 1.0 $attempt\" >$model/steps_done\n"
              "if ((attempt == 2)); then echo ' \"steps\": 40,' >$model/manifest.json; fi\n"
              "exit $((attempt < 3))",
              {"--max_restarts=3"}, {"--overwrite"}));
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(Attempts(), ElementsAre("--overwrite", "--overwrite --overwrite",
                                      "--overwrite --load --overwrite=false"));
}

TEST_F(Restarted, WhatCannotBeRestartedIsRefusedBeforeItStarts) {
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {{"--max_restarts=x"}, "expected a whole number"},
      {{"--allow_fewer_hosts"}, "give --max_restarts=N, too"},
      {{"--max_restarts=1", "--allow_fewer_hosts"}, "needs --hostfile"},
      {{"--max_restarts=1", "true"}, "which the command does not name"},
      {{"--max_restarts=1", ROWHOUSE_BINARY, "train"}, "needs --model_dir"},
      {{"--max_restarts=1", ROWHOUSE_BINARY, "train", "--model_dir=m", "--stop_after_steps=5"},
       "do not go together"}};
  for (const auto& [flags, words] : cases) {
    Command command = {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/mpirun.sh"}};
    command.arguments = command.arguments + flags;
    if (flags.back() == "--allow_fewer_hosts") {
      command.arguments = command.arguments + Arguments{ROWHOUSE_BINARY, "train", "--model_dir=m"};
    }
    const ProcessResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, 2) << words << result.Describe();
    EXPECT_THAT(result.err, HasSubstr(words));
  }
}

}  // namespace
}  // namespace rowhouse
