// Two hosts: network namespaces, each with a name and a disk for rows of its own, which mpirun
// enters by its launch agent. Training, saving and loading over both gives the bits of one host;
// what keeps hosts apart is found before training, and said with host and place.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "tests/mpi/namespace_hosts.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// 390 samples: 10 steps an epoch, the last one smaller; a cache that evicts.
Flags HostsModelFlags() {
  return SmallModelFlags({"--data_size=390", "--nepochs=3", "--cache_ratio=0.1", "--shards=2"});
}

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!hosts_.why_not().empty()) GTEST_SKIP() << "hosts: " << hosts_.why_not();
    std::vector<std::string> print = {ROWHOUSE_BINARY, "train", "--print_config"};
    for (const std::string& flag : HostsModelFlags()) print.push_back(flag);
    std::ofstream(dir_ / "config.yaml") << RunCommand({.arguments = print}).out;
  }

  // launch/cluster.sh as an operator on host `from` says it; `path` goes before PATH.
  ProcessResult Cluster(const std::string& hostfile, const std::vector<std::string>& flags,
                        const std::string& from = "alpha", const std::string& path = "/usr/bin") {
    return RunCommand(ClusterCommand(hostfile, flags, from, path));
  }
  Command ClusterCommand(const std::string& hostfile, const std::vector<std::string>& flags,
                         const std::string& from = "alpha", const std::string& path = "/usr/bin") {
    std::ofstream(dir_ / "hosts") << hostfile;
    return hosts_.CommandOn(
        from,
        fmt::format("cd {0}; PATH={1}:$PATH {2}/launch/cluster.sh hosts config.yaml {3}",
                    dir_.path(), path, ROWHOUSE_SOURCE_DIR, fmt::join(flags, " ")),
        {{"LAUNCH_AGENT", hosts_.agent()}});
  }

  // An interface `out` of each host, up and with an address, from which no other host is reached:
  // there is no route, or, if `drops`, there is one to nowhere, as through a firewall.
  void MakeNetworksThatLeadNowhere(bool drops) {
    for (const int host : {0, 1}) {
      std::string commands = fmt::format(
          "set -e; ip link add out type veth peer name end; ip addr add 10.88.{}.1/24 dev out; "
          "ip link set out up; ip link set end up",
          host);
      if (drops) {
        commands += fmt::format(
            "; ip route add 10.88.{0}.0/24 dev out; "
            "ip neigh add 10.88.{0}.1 lladdr 02:00:00:00:00:01 dev out",
            1 - host);
      }
      const ProcessResult made =
          hosts_.RunOn(NamespaceHosts::kNames[static_cast<size_t>(host)], commands);
      ASSERT_EQ(made.exit_code, 0) << made.Describe();
    }
  }

  // 2 ranks on each host, by mpirun on alpha; MPI's own messages travel by `interface`.
  ProcessResult RunRanks(const std::string& interface, const std::string& flag) {
    return hosts_.RunOn(
        "alpha",
        fmt::format("{0}/launch/mpirun.sh -n 4 --host alpha:2,beta:2 --mca plm_rsh_agent {1} "
                    "--mca btl_tcp_if_include {2} {3} train {4} --config={5}/config.yaml",
                    ROWHOUSE_SOURCE_DIR, hosts_.agent(), interface, ROWHOUSE_BINARY, flag,
                    dir_.path()));
  }

  std::string Digest(const ProcessResult& result) const {
    std::smatch found;
    const bool is_there = std::regex_search(result.out, found, std::regex("rows digest: (\\w+)"));
    return is_there ? found[1].str() : "";
  }

  // Losses of the report in the model's directory, and every bit of them.
  std::vector<double> Losses(const std::string& model) const {
    std::vector<double> losses;
    const auto report = nlohmann::json::parse(std::ifstream(dir_ / model + "/report.json"));
    for (const auto& point : report.at("curve")) losses.push_back(point.at("loss"));
    return losses;
  }

  const TempDir dir_;
  const NamespaceHosts hosts_;
};

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()

TEST_F(Hosts, TrainSaveAndLoadOverTwoGivesTheBitsOfOne) {
  std::vector<std::string> flags = HostsModelFlags();
  flags.insert(flags.end(), {"--ps=2", "--row_dir=" + dir_ / "whole_rows"});
  const TrainResult whole = Train({.ranks = 4, .flags = flags});
  ASSERT_TRAINED(whole);
  ASSERT_EQ(whole.losses.size(), 30u);

  const std::vector<std::string> kept = {"--model_dir=" + dir_ / "model",
                                         "--row_dir=" + hosts_.rows() + "/of_model"};
  const auto with = [&](const std::string& more) {
    std::vector<std::string> all = kept;
    all.push_back(more);
    return all;
  };
  const ProcessResult first =
      Cluster("alpha slots=2\nbeta slots=2\n", with("--stop_after_steps=12"));
  ASSERT_TRAINED(first);
  EXPECT_THAT(first.out, HasSubstr("4 ranks on 2 hosts: 2 PS nodes of 2 shards, 2 workers\n"));
  EXPECT_TRUE(std::regex_search(
      first.out, std::regex(" 0  alpha +\\d+  PS node 0  tcp://10\\.77\\.0\\.1:\\d+ \\(eth0\\)\n"
                            " +1  alpha +\\d+  worker 0\n"
                            " +2  beta +\\d+  PS node 1  tcp://10\\.77\\.0\\.2:\\d+ \\(eth0\\)\n"
                            " +3  beta +\\d+  worker 1\n")))
      << first.out;
  EXPECT_EQ(Losses("model").size(), 12u);

  // Each node's shards lie on its host's own disk and nowhere else.
  const std::string list = "ls " + hosts_.rows() + "/of_model";
  const std::string of_alpha = hosts_.RunOn("alpha", list).out;
  const std::string of_beta = hosts_.RunOn("beta", list).out;
  EXPECT_NE(of_alpha, "");
  EXPECT_NE(of_beta, "");
  EXPECT_NE(of_alpha, of_beta);
  EXPECT_TRUE(std::filesystem::is_empty(hosts_.rows()));

  // The hosts have no row directory that all of them see.
  const ProcessResult elsewhere =
      Cluster("alpha slots=2\nbeta slots=2\n", with("--load --strategy=replicated"));
  EXPECT_EQ(elsewhere.exit_code, 2) << elsewhere.Describe();
  EXPECT_THAT(elsewhere.err,
              HasSubstr("where all hosts see --row_dir, and PS nodes are its own. rowhouse"));

  // mpirun begins with the host it is started on: nodes stay where their rows are all the same.
  const ProcessResult second = Cluster("alpha slots=2\nbeta slots=2\n", with("--load"), "beta");
  ASSERT_TRAINED(second);
  EXPECT_TRUE(std::regex_search(second.out, std::regex(" 0  beta +\\d+  PS node 1 ")))
      << second.out;
  EXPECT_EQ(Losses("model"), whole.losses);  // of both runs: the curve goes on
  EXPECT_EQ(Digest(second), whole.digest);
  EXPECT_EQ(hosts_.RunOn("beta", list).out, of_beta);
}

TEST_F(Hosts, ARunMovesRowsToTheWorkersWhereAllHostsSeeThem) {
  std::vector<std::string> flags = HostsModelFlags();
  flags.insert(flags.end(), {"--ps=2", "--row_dir=" + dir_ / "whole_rows"});
  const TrainResult whole = Train({.ranks = 4, .flags = flags});
  ASSERT_TRAINED(whole);
  const std::string hostfile = "alpha slots=2\nbeta slots=2\n",
                    model = "--model_dir=" + dir_ / "model";
  ASSERT_TRAINED(
      Cluster(hostfile, {model, "--row_dir=" + dir_ / "rows_1", "--stop_after_steps=12"}));
  const ProcessResult moved = Cluster(
      hostfile, {model, "--row_dir=" + dir_ / "rows_2", "--load --strategy=replicated"}, "beta");
  ASSERT_TRAINED(moved);
  EXPECT_EQ(Losses("model"), whole.losses);
  EXPECT_EQ(Digest(moved), whole.digest);
  for (const auto& left : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_THAT(left.path().filename(), testing::Not(testing::StartsWith(".rowhouse")));
  }
}

TEST_F(Hosts, PsNodesOnEveryHostAndTheNetworkTheyListenOnAreTheOperatorsChoice) {
  const std::string three_each = "alpha slots=3\nbeta slots=3\n";
  const ProcessResult trained =
      Cluster(three_each, {"--ps_per_host=2", "--bind_interface=10.77.0.0/16", "--data_size=40"});
  ASSERT_TRAINED(trained);
  EXPECT_THAT(trained.out, AllOf(HasSubstr("6 ranks on 2 hosts: 4 PS nodes of 2 shards, 2 workers"),
                                 HasSubstr("PS node 1  tcp://10.77.0.1:"),
                                 HasSubstr("PS node 2  tcp://10.77.0.2:")));

  const auto refused = [&](const std::string& hostfile, const std::string& flag) {
    const ProcessResult result = Cluster(hostfile, {flag});
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.out, Not(HasSubstr("Finished training")));
    return result.err;
  };
  EXPECT_THAT(refused("alpha slots=3\nbeta slots=1\n", "--ps_per_host=2"),
              HasSubstr("--ps_per_host=2 does not fit host beta, where mpirun started 1 rank;"));
  EXPECT_THAT(refused(three_each, "--ps=6"), HasSubstr("ps=6 of 6 ranks leaves no worker"));
  EXPECT_THAT(refused(three_each, "--bind_interface=10.77.0.2"),
              HasSubstr("--bind_interface=10.77.0.2: host alpha has no such interface; those with "
                        "an address: lo 127.0.0.1/8, eth0 10.77.0.1/24"));
}

// The exchange of the workers finds its way, rows do not.
TEST_F(Hosts, APsNodeThatIsNotReachedIsNamedBeforeTraining) {
  MakeNetworksThatLeadNowhere(/*drops=*/false);
  const ProcessResult result = RunRanks("eth0", "--bind_interface=out");
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("host alpha does not reach PS node 1 (rank 2 on beta) on its "
                              "interface out: cannot connect to tcp://10.88.1.1:"),
                    HasSubstr("Network is unreachable"),
                    HasSubstr("host beta does not reach PS node 0 (rank 0 on alpha)")));
  EXPECT_THAT(result.out, Not(HasSubstr("Finished training")));
}

TEST_F(Hosts, WhatAFirewallDropsIsToldAtTheDeadline) {
  MakeNetworksThatLeadNowhere(/*drops=*/true);
  const ProcessResult rows = RunRanks("eth0", "--bind_interface=out --rendezvous_deadline_ms=2000");
  EXPECT_EQ(rows.exit_code, 2) << rows.Describe();
  EXPECT_THAT(rows.err,
              AllOf(HasSubstr("does not reach PS node"), HasSubstr("Connection timed out")));
  const ProcessResult ranks = RunRanks("out", "--rendezvous_deadline_ms=2000");
  EXPECT_EQ(ranks.exit_code, 1) << ranks.Describe();
  EXPECT_THAT(ranks.err, AllOf(HasSubstr("start of the run (--rendezvous_deadline_ms"),
                               HasSubstr("MPI brought no word from other ranks within 2000 ms")));
}

TEST_F(Hosts, ClusterShSaysWhichHostLacksWhat) {
  const auto refused = [&](const std::string& hostfile, const std::vector<std::string>& flags) {
    const ProcessResult result = Cluster(hostfile, flags);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  const std::string both = "alpha slots=1 # here\n\nbeta slots=1\n";
  EXPECT_THAT(refused("alpha slots=2\ngamma slots=2\n", {}),
              HasSubstr("host gamma cannot be reached by"));
  EXPECT_THAT(refused("alpha\n", {}), HasSubstr("hosts line 1: say how many ranks alpha takes"));
  EXPECT_THAT(refused("alpha slots=1\nalpha slots=2\n", {}), HasSubstr("alpha is named twice"));
  EXPECT_THAT(refused(both, {"--nepoch=3"}), HasSubstr("unknown flag --nepoch"));

  // A disk of beta's own over a shared directory.
  const std::string data = dir_ / "data";
  std::filesystem::create_directory(data);
  std::ofstream(data + "/train.txt") << "0\n";
  std::filesystem::copy_file(ROWHOUSE_BINARY, data + "/rowhouse");
  ASSERT_EQ(hosts_.RunOn("beta", "mount -t tmpfs data " + data).exit_code, 0);
  EXPECT_THAT(refused(both, {"--arch_mlp_bot=13-8", "--data_generation=dataset",
                             "--data=" + data + "/train.txt"}),
              AllOf(HasSubstr("host beta has no data file " + data), Not(HasSubstr("host alpha"))));
  ASSERT_EQ(hosts_
                .RunOn("beta", "echo an older build > " + data + "/rowhouse; chmod +x " + data +
                                   "/rowhouse")
                .exit_code,
            0);
  const ProcessResult older = Cluster(both, {}, "alpha", data);
  EXPECT_EQ(older.exit_code, 2) << older.Describe();
  EXPECT_THAT(older.err, HasSubstr("host beta has another " + data + "/rowhouse than this one"));
}

// What a model keeps of its data lies on one host's disk, and others need it to map theirs.
TEST_F(Hosts, APreprocessingIsSentToHostsThatDoNotSeeIt) {
  std::ofstream(dir_ / "config.yaml")
      << "model: {arch_sparse_feature_size: 4, arch_mlp_bot: [1, 4], arch_mlp_top: [4, 1]}\n"
         "training: {mini_batch_size: 10, learning_rate: 0.1}\n"
         "schema:\n"
         "  format: delimited\n"
         "  label: {column: label}\n"
         "  dense: [{name: x, transform: standardise}]\n"
         "  categorical: [{name: user, ids: dictionary, rare_row: true}]\n"
         "tables: {list: [{name: user, rows: 40}]}\n";
  for (const int day : {1, 2}) {
    std::ofstream text(dir_ / fmt::format("day{}.csv", day));
    text << "user,x,label\n";
    for (int i = 0; i < 100; ++i) {
      text << fmt::format("u{},{},{}\n", i * i % 23 + 5 * day, i % 7, i % 2);
    }
  }
  const auto flags = [this](int day, const std::string& model) {
    return fmt::format("--data={}/day{}.csv --model_dir={}{}", dir_.path(), day, model,
                       day == 2 ? " --load" : "");
  };
  std::string here, there;
  for (const int day : {1, 2}) {
    const ProcessResult one = hosts_.RunOn(
        "alpha",
        fmt::format("{}/launch/mpirun.sh -n 4 {} train {} --config={}/config.yaml",
                    ROWHOUSE_SOURCE_DIR, ROWHOUSE_BINARY, flags(day, dir_ / "one"), dir_.path()));
    ASSERT_EQ(one.exit_code, 0) << one.Describe();
    here = Digest(one);
    const ProcessResult two = RunRanks("eth0", flags(day, hosts_.rows() + "/two"));
    ASSERT_EQ(two.exit_code, 0) << two.Describe();
    there = Digest(two);
  }
  EXPECT_NE(here, "");
  EXPECT_EQ(there, here);
}

// Before any host is asked.
TEST(ClusterScript, AHostFileWithWindowsLinesIsRefusedInWords) {
  const TempDir dir;
  std::ofstream(dir / "hosts") << "alpha slots=2\nbeta slots=2\r\n";
  std::ofstream(dir / "config.yaml") << "{}\n";
  const std::filesystem::path rowhouse = ROWHOUSE_BINARY;
  const ProcessResult result = RunCommand(
      {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/cluster.sh", dir / "hosts", dir / "config.yaml"},
       .environment = {{"PATH", rowhouse.parent_path().string() + ":" + getenv("PATH")}}});
  EXPECT_EQ(result.exit_code, 2) << result.Describe();
  EXPECT_THAT(result.err, AllOf(HasSubstr("hosts line 2 ends with a carriage return"),
                                HasSubstr("sed -i 's/\\r$//' " + dir / "hosts")));
}

// Its ranks go to the host that is left, where their rows are seen, too.
TEST_F(Hosts, ARunGoesOnWithoutAHostThatIsLost) {
  const std::vector<std::string> longer = {"--ps=2", "--nepochs=30", "--rpc_deadline_ms=5000",
                                           "--print_freq=0"};
  std::vector<std::string> flags = HostsModelFlags();
  flags.insert(flags.end(), longer.begin(), longer.end());
  const TrainResult whole = Train({.ranks = 4, .flags = flags});
  ASSERT_TRAINED(whole);

  Process process(ClusterCommand(
      "alpha slots=2\nbeta slots=2\n",
      longer + std::vector<std::string>{"--max_restarts=2", "--allow_fewer_hosts",
                                        "--save_every=20", "--model_dir=" + dir_ / "model",
                                        "--row_dir=" + dir_ / "rows"}));
  ASSERT_TRUE(process.WaitForOutput("saved step ", 3)) << process.Wait().Describe();
  hosts_.Lose("beta");
  const ProcessResult result = process.Wait();
  ASSERT_TRAINED(result);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("Restart 1 of 2"),
            HasSubstr("host beta does not answer and is left out; its ranks go to the other "
                      "hosts. It held 2 of the parts of the save of step ")));
  EXPECT_THAT(result.out, HasSubstr("4 ranks on 1 host: 2 PS nodes of 2 shards, 2 workers\n"));
  EXPECT_EQ(Digest(result), whole.digest);
}

}  // namespace
}  // namespace rowhouse
