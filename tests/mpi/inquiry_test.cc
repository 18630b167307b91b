// kill -URG of launch/mpirun.sh: all processes of a run say what they wait for, one makes a picture
// of it, and the run goes on.
#include <signal.h>

#include <thread>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

std::vector<pid_t> Servers(Process& process) {
  std::vector<pid_t> servers;
  for (const Process::Descendant& one : process.Descendants()) {
    if (one.arguments.size() > 1 && one.arguments[1] == "ps") servers.push_back(one.pid);
  }
  return servers;
}

// Two workers and two PS nodes.
Flags RunOf(uint64_t samples) {
  return {"--arch_embedding_size=1000-1000",
          "--mini_batch_size=30",
          fmt::format("--data_size={}", samples),
          "--print_freq=50",
          "--ps=2",
          "--rpc_deadline_ms=60000"};
}

// For hours.
Command LongRun(const TempDir& tmp) {
  Command command = TrainCommand({.ranks = 4, .flags = RunOf(600000000)});
  command.environment["TMPDIR"] = tmp.path();
  return command;
}

TEST(InquiryRuns, EachProcessSaysWhatItWaitsFor) {
  const TempDir tmp;
  Process process(LongRun(tmp));
  ASSERT_TRUE(process.WaitForOutput("Finished training it 50/"));
  const std::vector<pid_t> servers = Servers(process);
  ASSERT_EQ(servers.size(), 2u);
  // The workers wait for the shard of this server, the other shard for the workers' next push.
  kill(servers[0], SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  process.Signal(SIGURG);
  EXPECT_TRUE(process.WaitForOutput("parts unanswered, the oldest for"));
  EXPECT_TRUE(process.WaitForOutput("waits for step"));
  EXPECT_TRUE(process.WaitForOutput("what the run waits for:"));
  kill(servers[0], SIGCONT);
  ASSERT_TRUE(process.WaitForOutput("Finished training it 100/")) << "the run goes on";
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_NE(result.err.find("no push of it came from worker"), std::string::npos)
      << result.Describe();
  EXPECT_THAT(result.err,
              testing::ContainsRegex(fmt::format(
                  "root: shard [01] \\(PS node [01], rank [01], pid {} on [^)]*\\), which "
                  "said nothing",
                  servers[0])))
      << result.Describe();
}

TEST(InquiryRuns, APictureNamesTheWorkerThatIsStoppedAndChangesNothing) {
  const TempDir tmp;
  const Flags flags = RunOf(/*samples=*/30000);
  const TrainResult undisturbed = Train({.ranks = 4, .flags = flags});
  ASSERT_NE(undisturbed.digest, "") << undisturbed.Describe();
  Process process(TrainCommand({.ranks = 4, .flags = flags}));
  ASSERT_TRUE(process.WaitForOutput("Finished training it 50/"));
  pid_t worker = -1;
  for (const Process::Descendant& one : process.Descendants()) {
    if (one.rank == 2) worker = one.pid;
  }
  ASSERT_GT(worker, 0);
  kill(worker, SIGSTOP);  // Worker 0, which prints.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  process.Signal(SIGURG);
  const std::string root = fmt::format("root: worker 0 (rank 2, pid {} on ", worker);
  EXPECT_TRUE(process.WaitForOutput(root));
  kill(worker, SIGCONT);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_NE(result.out.find("rows digest: " + undisturbed.digest), std::string::npos)
      << result.Describe();
  EXPECT_THAT(result.err, testing::HasSubstr("worker 1 waits for worker 0 (step "));
}

// A PS node that stands still for half a second, again and again.
TEST(InquiryRuns, ASlowNodeIsNamedWithoutAQuestion) {
  const TempDir tmp;
  Process process(LongRun(tmp));
  ASSERT_TRUE(process.WaitForOutput("Finished training it 50/"));
  const std::vector<pid_t> servers = Servers(process);
  ASSERT_EQ(servers.size(), 2u);
  for (int i = 0; i < 100 && process.Output().find("is slow: it answers") == std::string::npos;
       ++i) {
    kill(servers[1], SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(servers[1], SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_NE(result.out.find("is slow: it answers pulls within"), std::string::npos)
      << result.Describe();
}

}  // namespace
}  // namespace rowhouse
