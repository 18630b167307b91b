// The operator's mistakes, through the binary: exit code 2 and exactly one message that says what
// is wrong and where, before training starts.
#include "tests/testing/operator_errors.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "common/transport/tcp_socket.h"
#include "tests/testing/npy_writer.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// ---- First values from a file -------------------------------------------------------------------

// Found by two PS nodes and told to two workers: code and message are those of a run of one.
TEST_F(OperatorErrors, AFileOfFirstValuesThatDoesNotFitIsRefusedOnceForAllRanks) {
  std::vector<float> values(64 * 4, 0.25f);
  WriteNpy<float>(dir_ / "wide.npy", 4, values);
  std::fill(values.begin(), values.end(), -std::nanf(""));
  WriteNpy<float>(dir_ / "nan.npy", 4, values);
  const auto run = [&](const std::string& file, int rows, const std::vector<std::string>& before) {
    std::ofstream(dir_ / "npy.yaml")
        << "model: {arch_mlp_bot: [4, 4], arch_sparse_feature_size: 4}\n"
        << "tables: {list: [{name: a, rows: " << rows << ", init_from: " << file << "}]}\n";
    std::vector<std::string> arguments = {"train", "--config=npy.yaml", "--mini_batch_size=32",
                                          "--num_batches=2"};
    if (!before.empty()) arguments.push_back("--ps=2");
    return RunCommand(CommandOf(arguments, before));
  };
  for (const auto& before : {std::vector<std::string>(), Mpirun(4)}) {
    ExpectRefused(run("wide.npy", 65, before),
                  {"PS node ", "wide.npy holds 64 rows of 4 columns; 65 rows of 4 are needed"});
    ExpectRefused(run("nan.npy", 64, before),
                  {"table \"a\": nan.npy holds nan in row ", "finite f32 are needed"});
  }
}

// ---- Plans that do not fit ----------------------------------------------------------------------

TEST_F(OperatorErrors, PlansOfMoreShardsThanThereCanBeAreRefusedAtOnce) {
  ExpectRefused(
      RunCommand(CommandOf({"plan", "--strategy=row_wise", "--ps=65536", "--shards=1024"})),
      {"65536 PS nodes of 1024 shards are 67108864 shards in all", "at most 65536"});
}

TEST_F(OperatorErrors, AModelThatIsNotThereToBeMeasuredIsNamed) {
  ExpectRefused(RunCommand(CommandOf({"plan", "--measured=nosuch"})),
                {"--measured=nosuch: holds no saved model", "nosuch/config.yaml"});
}

TEST_F(OperatorErrors, PlansThatDoNotFitAreRefusedOnceBeforeTraining) {
  const auto plan = [&](const std::string& ps) {
    const ProcessResult made = RunCommand(CommandOf({"plan", "--ps=" + ps, "--out=plan.json"}));
    EXPECT_EQ(made.exit_code, 0) << made.Describe();
    return nlohmann::json::parse(std::ifstream(dir_ / "plan.json"));
  };
  // Tables t0, t1, t2 of 4, 3 and 2 rows of 2 floats; alone or under mpirun one PS node.
  const nlohmann::json good = plan("1"), of_eight = plan("8");
  struct Case {
    std::function<void(nlohmann::json&)> change;
    std::vector<std::string> words;
    std::vector<std::string> flags = {};
  };
  using nlohmann::json;
  const std::vector<Case> cases = {
      {[](json&) {}, {"table \"t0\"", "rows is 4 in the plan, 5"}, {"--arch_embedding_size=5-3-2"}},
      {[](json&) {}, {"table \"t0\"", "optimizer is \"sgd\" in the plan"}, {"--optimizer=adam"}},
      {[](json& f) { f["plan"]["slices"].erase(1); }, {"table \"t1\"", "0 rows have owners"}},
      {[](json& f) {
         json half = f["plan"]["slices"][0];
         half["rows"] = {2, 4};
         f["plan"]["slices"].push_back(half);
       },
       {"table \"t0\"", "rows [2, 4) have two owners"}},
      {[](json& f) { f["plan"]["slices"][2]["columns"][1] = 3; },
       {"table \"t2\"", "columns [0, 3) are no range of its 2 columns"}},
      {[](json& f) { f["rowhouse_plan"] = 7; }, {"format 7 is newer"}},
      {[&](json& f) { f = of_eight; }, {"8 PS nodes of 1 shard,", "the run has 1 of 1"}},
  };
  for (const Case& c : cases) {
    json file = good;
    c.change(file);
    std::ofstream(dir_ / "plan.json") << file.dump(1);
    for (const auto& before : {std::vector<std::string>(), Mpirun(3)}) {
      std::vector<std::string> arguments = {"train", "--plan=plan.json", "--ps=1"};
      arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
      std::vector<std::string> words = c.words;
      words.push_back("--plan=plan.json: ");
      ExpectRefused(RunCommand(CommandOf(arguments, before)), words);
    }
  }
}

// ---- What needs something to be in the way ------------------------------------------------------

TEST_F(OperatorErrors, APortInUseIsNamed) {
  const Result<ListeningSocket> taken = ListenTcp("127.0.0.1", 0);
  ASSERT_OK(taken);
  const std::string address = fmt::format("tcp://127.0.0.1:{}", taken.value().port());
  ExpectRefused(RunCommand(CommandOf({"ps", "--listen=" + address})), {address, "in use"});
}

TEST_F(OperatorErrors, RowsThatAnotherProcessUsesAreRefused) {
  Process other(CommandOf({"train", "--row_dir=rows", "--data_size=100000000"}));
  ASSERT_TRUE(other.WaitForOutput("Finished training it 10/")) << other.Wait().Describe();
  ExpectMessage(RunCommand(CommandOf({"train", "--row_dir=rows", "--overwrite"})),
                {"rows/shard-0000", "in use by another process", "--row_dir"});
  other.Signal(SIGINT);
  EXPECT_EQ(other.Wait().exit_code, 0);
}

TEST_F(OperatorErrors, RowsAndModelsOfAnotherRunAreRefused) {
  ASSERT_EQ(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows"})).exit_code, 0);
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model2", "--row_dir=rows"})),
                {"rows/shard-0000", "holds rows of model", "--overwrite"});
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows2"})),
                {"--model_dir=model", "--load", "--overwrite"});
  ExpectRefused(RunCommand(CommandOf({"train", "--model_dir=model", "--row_dir=rows", "--load",
                                      "--optimizer=adagrad"})),
                {"model", "other settings", "optimizer adagrad (was sgd)", "config.yaml"});
  // Under another plan the rows are routed into a new directory, never into their own.
  ExpectRefused(RunCommand(CommandOf(
                    {"train", "--model_dir=model", "--row_dir=rows", "--load", "--shards=2"})),
                {"rows/shard-0000", "--row_dir"});
}

// Checkpoints of the model and their parts would have the same names.
TEST_F(OperatorErrors, CheckpointsOfModelAndRowsInOnePlaceAreRefused) {
  std::filesystem::create_directories(dir_ / "linked");
  std::filesystem::create_directory_symlink(".", dir_ / "linked/rows");
  ExpectRefused(
      RunCommand(CommandOf({"train", "--data_size=1", "--model_dir=linked", "--save_every=1"})),
      {"--model_dir=linked", "linked/rows", "--row_dir of its own"});
  const auto train = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"train", "--data_size=1", "--model_dir=model", "--row_dir=model/"});
    return RunCommand(CommandOf(flags));
  };
  ExpectRefused(train({"--save_every=1"}), {"--row_dir of its own"});
  EXPECT_EQ(train({}).exit_code, 0);
  ExpectRefused(train({"--save_every=1", "--load"}), {"--row_dir of its own"});
}

TEST_F(OperatorErrors, RanksThatWereGivenDifferentFlagsAreNamed) {
  const auto run = [&](const std::string& flag) {
    Command command = CommandOf({"train", "--data_size=1"}, Mpirun(1));
    command.arguments.insert(command.arguments.end(),
                             {":", "-n", "1", ROWHOUSE_BINARY, "train", flag});
    return RunCommand(command);
  };
  for (const std::string flag : {"--learning_rate=0.5", "--nepochs=2", "--ps=0", "--shards=2"}) {
    ExpectRefused(run(flag), {"rank 1", flag, "rank 0", "give all ranks the same"});
  }
}

TEST_F(OperatorErrors, ADirectoryThatMayNotBeWrittenIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directories(dir_ / "locked");
  std::filesystem::permissions(
      dir_ / "locked", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  ExpectRefused(RunCommand(CommandOf({"train", "--row_dir=locked/rows"})),
                {"locked/rows", "Permission denied"});
  ExpectRefused(RunCommand(CommandOf({"train", "--data_size=1", "--model_dir=locked/model"})),
                {"locked/model", "Permission denied"});
}

TEST_F(OperatorErrors, ATmpdirThatIsNotThereIsNamed) {
  Command command = CommandOf({"train", "--data_size=1"});
  command.environment["TMPDIR"] = dir_ / "absent";
  ExpectRefused(RunCommand(command),
                {dir_ / "absent", "No such file or directory", "--row_dir", "TMPDIR"});
}

}  // namespace
}  // namespace rowhouse
