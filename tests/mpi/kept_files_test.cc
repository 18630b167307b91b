// Nothing of the user's is lost: paths of any bytes, several processes and one model or one output,
// a limit on the size of files.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class KeptFiles : public testing::Test {
 protected:
  static std::vector<std::string> Flags(const std::vector<std::string>& more) {
    std::vector<std::string> flags = {"--arch_embedding_size=500-40-800",
                                      "--arch_sparse_feature_size=8",
                                      "--arch_mlp_bot=5-16-8",
                                      "--arch_mlp_top=16-1",
                                      "--loss_function=bce",
                                      "--mini_batch_size=40",
                                      "--data_generation=synthetic",
                                      "--synthetic_test_samples=2000",
                                      "--cache_ratio=0.1",
                                      "--print_freq=0"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  Command Rowhouse(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    return {.arguments = std::move(arguments), .directory = dir_.path()};
  }
  TrainResult TrainInto(const std::string& model, std::vector<std::string> more) {
    more.push_back("--model_dir=" + model);
    return Train({.flags = Flags(more), .directory = dir_.path()});
  }
  // A run that goes on until it is told to stop, and has saved a checkpoint.
  Command LongRun(const std::string& model) const {
    Command run = TrainCommand({.flags = Flags({"--data_size=40000000", "--save_every=20",
                                                "--keep=1", "--model_dir=" + model})});
    run.directory = dir_.path();
    return run;
  }

  const TempDir dir_;
};

TEST_F(KeptFiles, PathsOfAnyBytesAreTrainedIntoAndFoundAgain) {
  for (const std::string odd : {"\xFF", "\x1B[2J", "%41\xC0"}) {
    const std::string model = "m" + odd, rows = dir_ / "r" + odd;
    const std::vector<std::string> small = {"--data_size=2000", "--save_every=20"};
    std::vector<std::string> first = small;
    first.insert(first.end(), {"--stop_after_steps=30", "--row_dir=" + rows});
    const TrainResult trained = TrainInto(model, first);
    ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
    EXPECT_THAT(trained.out + trained.err, Not(HasSubstr("\x1B")));
    // The manifest says where the rows are.
    std::vector<std::string> on = small;
    on.push_back("--load");
    const TrainResult loaded = TrainInto(model, on);
    ASSERT_EQ(loaded.exit_code, 0) << loaded.Describe();
    EXPECT_THAT(loaded.out, HasSubstr("goes on from step 30"));
    const ProcessResult scored = RunCommand(Rowhouse({"eval", "--model_dir=" + model}));
    EXPECT_EQ(scored.exit_code, 0) << scored.Describe();
    EXPECT_THAT(scored.out + scored.err, Not(HasSubstr("\x1B")));
  }
}

TEST_F(KeptFiles, EvaluationsBesideARunThatDeletesCheckpointsSucceed) {
  Process run(LongRun("m"));
  ASSERT_TRUE(run.WaitForOutput("saved step 20 "));
  for (int i = 0; i < 8; ++i) {
    const ProcessResult scored = RunCommand(Rowhouse({"eval", "--model_dir=m"}));
    EXPECT_EQ(scored.exit_code, 0) << scored.Describe();
  }
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().exit_code, 0);
}

TEST_F(KeptFiles, OneModelHasOneRun) {
  Process run(LongRun("m"));
  ASSERT_TRUE(run.WaitForOutput("saved step 20 "));
  for (const char* how : {"--overwrite", "--load"}) {
    const TrainResult second = TrainInto("m", {"--data_size=2000", how, "--row_dir=elsewhere"});
    EXPECT_EQ(second.exit_code, 2) << second.Describe();
    EXPECT_THAT(second.err, HasSubstr("a run is at work on the model in m (process " +
                                      std::to_string(run.pid()) + " on host "));
  }
  EXPECT_FALSE(fs::is_empty(dir_ / "m/checkpoints"));
  run.Signal(SIGKILL);
  run.Wait();
  // What it left blocks nobody.
  const TrainResult after = TrainInto("m", {"--data_size=2000", "--overwrite", "--row_dir=other"});
  EXPECT_EQ(after.exit_code, 0) << after.Describe();
}

TEST_F(KeptFiles, AFolderOfTheUsersFilesStaysAsItWas) {
  fs::create_directory(dir_ / "project");
  const std::vector<std::string> mine = {"config.yaml", "report.json",  "manifest.json",
                                         "dense-1.bin", "curve-7.json", "data-clicks-2024.bin"};
  for (const std::string& name : mine) std::ofstream(dir_ / "project/" + name) << "{}";
  for (const char* how : {"--nepochs=1", "--overwrite", "--load"}) {
    Command command =
        TrainCommand({.flags = Flags({"--data_size=2000", "--model_dir=project", how})});
    command.directory = dir_.path();
    const ProcessResult refused = RunCommand(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr("but no model of Rowhouse"));
  }
  for (const std::string& name : mine) EXPECT_EQ(FileText(dir_ / "project/" + name), "{}");
  const auto entries = fs::directory_iterator(dir_ / "project");
  EXPECT_EQ(std::distance(fs::begin(entries), fs::end(entries)), std::ssize(mine));
}

TEST_F(KeptFiles, AModelWhoseLockIsALinkIsNotTrainedInto) {
  fs::create_directory(dir_ / "m");
  fs::create_symlink("X", dir_ / "m/run.lock");
  const TrainResult refused = TrainInto("m", {"--data_size=2000", "--save_every=20"});
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("nothing would keep another run away"));
}

TEST_F(KeptFiles, TwoPredictionsIntoOneFileDoNotMixAndNoneGoesIntoAModel) {
  ASSERT_EQ(TrainInto("m", {"--data_size=20000"}).exit_code, 0);
  const std::vector<std::string> predict = {"predict", "--model_dir=m", "--out=s.tsv"};
  // A link that the operator names stays, and gets what he asked for.
  fs::create_symlink("target", dir_ / "s.tsv");
  ASSERT_EQ(RunCommand(Rowhouse(predict)).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(dir_ / "s.tsv"));
  EXPECT_TRUE(fs::is_regular_file(dir_ / "target"));
  const std::string scores = FileText(dir_ / "s.tsv");
  for (int i = 0; i < 3; ++i) {
    Process one(Rowhouse(predict)), other(Rowhouse(predict));
    EXPECT_EQ(one.Wait().exit_code, 0);
    EXPECT_EQ(other.Wait().exit_code, 0);
    EXPECT_EQ(FileText(dir_ / "s.tsv"), scores);
  }
  const std::string manifest = FileText(dir_ / "m/manifest.json");
  const ProcessResult refused =
      RunCommand(Rowhouse({"predict", "--model_dir=m", "--out=m/manifest.json"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("lies in the model directory"));
  EXPECT_EQ(FileText(dir_ / "m/manifest.json"), manifest);
}

TEST_F(KeptFiles, ALimitOnTheSizeOfFilesIsTold) {
  ASSERT_EQ(TrainInto("m", {"--data_size=2000"}).exit_code, 0);
  Command command = Rowhouse({"predict", "--model_dir=m", "--out=s.tsv"});
  command.arguments.insert(command.arguments.begin(), {"prlimit", "--fsize=2000"});
  const ProcessResult result = RunCommand(command);
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("File too large, by the limit of the shell (ulimit -f)"));
  EXPECT_FALSE(fs::exists(dir_ / "s.tsv"));

  // Rows are written by RocksDB.
  Command train =
      TrainCommand({.flags = {"--arch_embedding_size=100000-20000", "--arch_sparse_feature_size=16",
                              "--arch_mlp_bot=4-16", "--arch_mlp_top=8-1", "--mini_batch_size=128",
                              "--data_generation=synthetic", "--data_size=40000", "--cache_mb=1",
                              "--model_dir=large"},
                    .directory = dir_.path()});
  train.arguments.insert(train.arguments.begin(), {"prlimit", "--fsize=300000"});
  const ProcessResult trained = RunCommand(train);
  EXPECT_EQ(trained.exit_code, 1) << trained.Describe();
  EXPECT_THAT(trained.err, HasSubstr("File too large, by the limit of the shell (ulimit -f)"));
}

}  // namespace
}  // namespace rowhouse
