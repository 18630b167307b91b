// kill -URG of launch/mpirun.sh: all processes of a run say what they wait for, and the run goes
// on.
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

// Two workers and two PS nodes, for hours.
Command LongRun(const TempDir& tmp) {
  Command command = TrainCommand(
      {.ranks = 4,
       .flags = {"--arch_embedding_size=1000-1000", "--mini_batch_size=30", "--data_size=600000000",
                 "--print_freq=50", "--ps=2", "--rpc_deadline_ms=60000"}});
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
  kill(servers[0], SIGCONT);
  ASSERT_TRUE(process.WaitForOutput("Finished training it 100/")) << "the run goes on";
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_NE(result.err.find("no push of it came from worker"), std::string::npos)
      << result.Describe();
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
