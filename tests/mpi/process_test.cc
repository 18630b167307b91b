// The helper that all process tests stand on: what it captures, and that nothing outlives it.
#include "tests/testing/process.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>

namespace rowhouse {
namespace {

using namespace std::chrono_literals;

TEST(Process, KeepsBothStreamsAndTheExitCode) {
  const ProcessResult result =
      RunCommand({.arguments = {"bash", "-c", "echo $WORD; pwd; echo wrong >&2; exit 7"},
                  .environment = {{"WORD", "said"}},
                  .directory = "/"});
  EXPECT_EQ(result.exit_code, 7) << result.Describe();
  EXPECT_EQ(result.out, "said\n/\n");
  EXPECT_EQ(result.err, "wrong\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(Process, AProgramThatIsNotThereEndsWith127) {
  EXPECT_EQ(RunCommand({.arguments = {"/no/such/program"}}).exit_code, 127);
}

TEST(Process, ItsLimitEndsDescendantsInOtherSessionsToo) {
  Process process(
      {.arguments = {"bash", "-c", "setsid sleep 321 & echo started; wait"}, .time_limit = 500ms});
  ASSERT_TRUE(process.WaitForOutput("started"));
  pid_t sleeper = 0;
  for (int i = 0; i < 50 && sleeper == 0; ++i) {  // The shell is still execing setsid, then sleep.
    for (const Process::Descendant& descendant : process.Descendants()) {
      if (descendant.arguments == std::vector<std::string>{"sleep", "321"}) {
        sleeper = descendant.pid;
      }
    }
  }
  ASSERT_NE(sleeper, 0);
  const ProcessResult result = process.Wait();
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  // Whoever adopted it may still have to reap it: gone or a zombie, whose command line is empty.
  const auto is_alive = [&] {
    std::ifstream in("/proc/" + std::to_string(sleeper) + "/cmdline");
    return in.good() && in.peek() != std::ifstream::traits_type::eof();
  };
  for (int i = 0; i < 1000 && is_alive(); ++i) usleep(1000);
  EXPECT_FALSE(is_alive());
}

TEST(Process, ASignalReachesTheCommand) {
  Process process({.arguments = {"sleep", "321"}, .time_limit = 20s});
  process.Signal(SIGTERM);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(result.exit_code, -1);
}

TEST(Process, RanksOfMpirunAndTheirServersAreFound) {
  const TempDir rows;
  Process process(TrainCommand({.ranks = 2,
                                .flags = {"--data_size=1000000", "--mini_batch_size=1", "--ps=1",
                                          "--row_dir=" + rows.path()},
                                .time_limit = 20s}));
  ASSERT_TRUE(process.WaitForOutput("Finished training it 3/")) << process.Wait().Describe();
  std::vector<int> ranks;
  int servers = 0;
  for (const Process::Descendant& descendant : process.Descendants()) {
    if (descendant.rank >= 0) ranks.push_back(descendant.rank);
    servers += descendant.arguments.size() > 1 && descendant.arguments[1] == "ps";
  }
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(0, 1));
  EXPECT_EQ(servers, 1);
}

}  // namespace
}  // namespace rowhouse
