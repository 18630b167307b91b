// Runs that the operator stops, and what launch/mpirun.sh says of those that somebody else ended.
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Stopping : public testing::Test {
 protected:
  // A run that goes on for hours, by launch/mpirun.sh or, with ranks of 0, without mpirun.
  Command Endless(uint32_t ranks, const std::vector<std::string>& flags) {
    Command command;
    if (ranks > 0) {
      command.arguments = {ROWHOUSE_SOURCE_DIR "/launch/mpirun.sh", "-n", std::to_string(ranks)};
    }
    for (const char* argument :
         {ROWHOUSE_BINARY, "train", "--arch_embedding_size=1000-1000", "--mini_batch_size=30",
          "--data_size=600000000", "--print_freq=50", "--rpc_deadline_ms=20000"}) {
      command.arguments.emplace_back(argument);
    }
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    command.environment["TMPDIR"] = tmp_.path();
    return command;
  }

  static pid_t ServerOf(const Process& process) {
    for (const Process::Descendant& descendant : process.Descendants()) {
      if (descendant.arguments.size() > 1 && descendant.arguments[1] == "ps") return descendant.pid;
    }
    return -1;
  }
  static pid_t PidOfRank(const Process& process, int rank) {
    for (const Process::Descendant& descendant : process.Descendants()) {
      if (descendant.rank == rank) return descendant.pid;
    }
    return -1;
  }
  static bool WaitForTraining(Process& process) {
    return process.WaitForOutput("training it 100/");
  }
  void ExpectNothingLeft() { EXPECT_EQ(LeftBehind(tmp_.path(), milliseconds(10000)), ""); }

  TempDir tmp_, model_;
};

// mpirun itself would kill all ranks a second after the signal.
TEST_F(Stopping, SigtermSavesHoweverLongThatTakes) {
  Process process(Endless(3, {"--ps=1", "--model_dir=" + model_ / "model"}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const pid_t server = ServerOf(process);
  ASSERT_GT(server, 0);
  kill(server, SIGSTOP);  // Its disk is slow.
  process.Signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(2500));
  kill(server, SIGCONT);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("mpirun.sh: SIGTERM: the run stops after its step and saves"));
  EXPECT_THAT(result.out, ContainsRegex("stopped at step [0-9]+ of 20000000 by SIGTERM; go on with "
                                        "--load"));
  ExpectNothingLeft();

  const ProcessResult loaded = RunCommand(
      Endless(3, {"--ps=1", "--model_dir=" + model_ / "model", "--load", "--stop_after_steps=5"}));
  EXPECT_EQ(loaded.exit_code, 0) << loaded.Describe();
  EXPECT_THAT(loaded.out, HasSubstr("by --stop_after_steps; go on with --load"));
}

TEST_F(Stopping, CtrlCToMpirunShSaves) {
  Process process(Endless(2, {"--model_dir=" + model_ / "model"}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGINT);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, ContainsRegex("stopped at step [0-9]+ of 20000000 by Ctrl-C; go on"));
  EXPECT_TRUE(std::filesystem::exists(model_ / "model/manifest.json"));
  ExpectNothingLeft();
}

TEST_F(Stopping, ACalibrationThatIsKilledKeepsTheKernelsItMeasured) {
  const std::string path = model_ / "machine.json";
  Process process({.arguments = {ROWHOUSE_BINARY, "bench", "calibrate", "--calibration=" + path}});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!std::filesystem::exists(path) || std::filesystem::file_size(path) == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << process.Wait().Describe();
    std::this_thread::sleep_for(milliseconds(20));
  }
  process.Signal(SIGKILL);
  EXPECT_NE(process.Wait().exit_code, 0);
  const auto kept = nlohmann::json::parse(std::ifstream(path));
  EXPECT_GE(kept.at("kernels").size(), 1u);
}

// mpirun forwards nothing before its ranks have started, and a rank that does not listen yet would
// be killed by what is forwarded.
TEST_F(Stopping, ASignalThatComesEarlyIsNotLost) {
  for (const int delay_ms : {100, 200, 500}) {
    Process process(Endless(3, {"--ps=1"}));
    std::this_thread::sleep_for(milliseconds(delay_ms));
    process.Signal(SIGTERM);
    const ProcessResult result = process.Wait();
    EXPECT_FALSE(result.timed_out) << delay_ms << " ms: " << result.Describe();
    EXPECT_THAT(result.err, Not(HasSubstr("signal 12"))) << delay_ms;
    // A directory of its own mpirun may leave, if it was still making it.
    EXPECT_THAT(LeftBehind(tmp_.path(), milliseconds(10000)), Not(HasSubstr("process")))
        << delay_ms;
  }
}

TEST_F(Stopping, ATerminalThatIsGoneSavesToo) {
  Process process(Endless(0, {"--model_dir=" + model_ / "model"}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGHUP);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, ContainsRegex("stopped at step [0-9]+ of 20000000 by SIGHUP; go on"));
}

TEST_F(Stopping, FiguresThatCannotBePrintedAreNoSuccess) {
  const ProcessResult result =
      RunCommand({.arguments = {"bash", "-c",
                                std::string(ROWHOUSE_BINARY) +
                                    " plan --arch_embedding_size=10 --json > /dev/full"}});
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("cannot write to standard output"));
}

TEST_F(Stopping, ASecondSigtermEndsTheRunAtOnce) {
  Process process(Endless(2, {"--model_dir=" + model_ / "model"}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const pid_t server = ServerOf(process);
  ASSERT_GT(server, 0);
  kill(server, SIGSTOP);
  process.Signal(SIGTERM);
  ASSERT_TRUE(process.WaitForOutput("the run stops after its step"));
  const auto asked_again = std::chrono::steady_clock::now();
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_LT(std::chrono::steady_clock::now() - asked_again, std::chrono::seconds(30))
      << result.Describe();
  EXPECT_NE(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("SIGTERM again: the run ends at once"));
  kill(server, SIGKILL);  // Stopped, it cannot end by itself, and its supervisor is gone.
}

TEST_F(Stopping, WithoutMpirunTheSignalIsNamed) {
  Process process(Endless(0, {}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out,
              ContainsRegex("stopped at step [0-9]+ of 20000000 by SIGTERM; nothing was saved, "
                            "because there is no --model_dir"));
  EXPECT_THAT(result.err, HasSubstr("stopping after this step; a second signal ends the run at "
                                    "once, unsaved"));
  ExpectNothingLeft();
}

TEST_F(Stopping, ARankThatIsKilledIsNamed) {
  for (const int rank : {0, 1}) {  // a PS node, the worker
    Process process(Endless(2, {}));
    ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
    kill(PidOfRank(process, rank), SIGKILL);
    const ProcessResult result = process.Wait();
    EXPECT_EQ(result.exit_code, 137) << result.Describe();
    EXPECT_THAT(result.err, ContainsRegex(fmt::format("mpirun.sh: the run has failed: rank {} on "
                                                      "node .* signal 9",
                                                      rank)));
    EXPECT_THAT(result.err, HasSubstr("ended by signal 9 (KILL)"));
    EXPECT_THAT(result.err, Not(HasSubstr("-----")));
    ExpectNothingLeft();
  }
}

TEST_F(Stopping, MpirunShThatIsKilledEndsTheRun) {
  Process process(Endless(2, {}));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGKILL);
  process.Wait();
  ExpectNothingLeft();
}

TEST_F(Stopping, OfAMistakeOfTheOperatorOneSentenceIsSaid) {
  const ProcessResult result = RunCommand(Endless(2, {"--ps=2"}));
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, testing::StartsWith("rowhouse: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.Describe();
}

// ---- Limits of the system
// ------------------------------------------------------------------------

Command Limited(const std::string& limit, const Command& command) {
  Command limited = command;
  limited.arguments = {"bash", "-c", limit + "; exec \"$@\"", "bash"};
  limited.arguments.insert(limited.arguments.end(), command.arguments.begin(),
                           command.arguments.end());
  return limited;
}

TEST_F(Stopping, WithoutMemoryTheProcessSaysSo) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer itself needs terabytes of addresses";
#endif
  const ProcessResult result = RunCommand(Limited(
      "ulimit -v 250000", Endless(0, {"--cache_mb=2000", "--store=memory",
                                      "--arch_embedding_size=8000000", "--stop_after_steps=5"})));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("out of memory"));
  EXPECT_THAT(result.err, Not(HasSubstr("terminate")));
}

}  // namespace
}  // namespace rowhouse
