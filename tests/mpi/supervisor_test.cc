// A PS node's server as the supervisor starts it, under limits of the system.
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

// `rowhouse train` with 32 shards in a shell that has said `limit` first.
ProcessResult TrainUnder(const std::string& limit) {
  return RunCommand({.arguments = {"bash", "-c",
                                   limit + " && exec " ROWHOUSE_BINARY
                                           " train --data_size=3 --shards=32 --store=memory"},
                     .time_limit = std::chrono::seconds(60)});
}

// 1,024 is the soft limit of most systems; the server's sockets are numbered from 1,000.
TEST(Supervisor, ManyShardsFitTheUsualSoftLimitOfOpenFiles) {
  const ProcessResult result = TrainUnder("ulimit -Sn 1024");
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
}

TEST(Supervisor, MoreShardsThanTheHardLimitAllowsAreRefusedInWords) {
  const ProcessResult result = TrainUnder("ulimit -n 1024");
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, testing::HasSubstr("raise ulimit -n or lower --shards"));
}

}  // namespace
}  // namespace rowhouse
