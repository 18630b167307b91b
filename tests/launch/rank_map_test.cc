#include "launch/hosts/roles.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(RankMap, SaysOfEveryRankWhatItIsAndWhereItListens) {
  const Roles roles{.ps = {0, 2}, .workers = {1, 3}};
  EXPECT_EQ(
      RankMapText(
          roles, 4,
          {{.host = "alpha", .cpus = 16, .endpoint = "tcp://10.0.0.1:4000", .interface = "eth0"},
           {.host = "alpha", .cpus = 16},
           {.host = "b", .cpus = 2, .endpoint = "tcp://10.0.0.2:40001", .interface = "ens3"},
           {.host = "b", .cpus = 2}},
          {}),
      "4 ranks on 2 hosts: 2 PS nodes of 4 shards, 2 workers\n"
      "rank  host   CPUs  role       listens on\n"
      "   0  alpha    16  PS node 0  tcp://10.0.0.1:4000 (eth0)\n"
      "   1  alpha    16  worker 0\n"
      "   2  b         2  PS node 1  tcp://10.0.0.2:40001 (ens3)\n"
      "   3  b         2  worker 1\n");
}

TEST(RankMap, NodesThatRanAlreadyAreListedToo) {
  const Roles roles{.ps = {}, .workers = {0, 1}};
  EXPECT_EQ(
      RankMapText(roles, 1, {{.host = "a", .cpus = 2}, {.host = "a", .cpus = 2}}, {"tcp://c:7001"}),
      "2 ranks on 1 host: 1 PS node of 1 shard, 2 workers\n"
      "rank  host  CPUs  role       listens on\n"
      "   0  a        2  worker 0\n"
      "   1  a        2  worker 1\n"
      "   -  -        -  PS node 0  tcp://c:7001\n");
}

}  // namespace
}  // namespace rowhouse
