// A run that ends early by validations, through real processes: it ends with the same model on any
// PS nodes, and after kills, and its best model is kept.
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Users whose labels are mostly noise: a model soon learns them by heart.
std::string NoisySamples() {
  std::mt19937 random(3);
  std::string text = "user,item,label\n";
  for (int i = 0; i < 400; ++i) {
    const auto user = random() % 60, item = random() % 40;
    text += fmt::format("u{},i{},{}\n", user, item, (user % 3 == 0) != (random() % 3 == 0) ? 1 : 0);
  }
  return text;
}

class Validation : public testing::Test {
 protected:
  Validation() {
    std::ofstream(dir_ / "my.yaml")
        << "model: {arch_sparse_feature_size: 8, arch_mlp_bot: [1, 8], arch_mlp_top: [16, 1],\n"
           "        loss_function: bce}\n"
           "data: {data_randomize: blocks}\n"
           "training: {mini_batch_size: 20, optimizer: adagrad, learning_rate: 0.1, nepochs: 30,\n"
           "           test_freq: 4, print_freq: 0, early_stop_patience: 3}\n"
           "schema:\n"
           "  format: delimited\n"
           "  label: {column: label}\n"
           "  categorical: [{name: user, ids: dictionary}, {name: item, ids: dictionary}]\n"
           "tables: {list: [{name: user, rows: 60}, {name: item, rows: 40}]}\n";
    std::ofstream(dir_ / "data.csv") << NoisySamples();
  }

  TrainRun RunIn(const std::string& model, const std::vector<std::string>& more,
                 uint32_t ranks = 2) {
    TrainRun run = {.ranks = ranks,
                    .flags = {"--config=" + dir_ / "my.yaml", "--data=" + dir_ / "data.csv",
                              "--test_fraction=0.1", "--valid_fraction=0.25", "--keep=1",
                              "--model_dir=" + dir_ / model}};
    run.flags.insert(run.flags.end(), more.begin(), more.end());
    return run;
  }
  std::string DirectoryOfBest(const TrainResult& result) {
    return result.report["best"]["checkpoint"].get<std::string>();
  }
  nlohmann::json Eval(const std::string& model_dir) {
    const ProcessResult result =
        RunCommand({.arguments = {ROWHOUSE_BINARY, "eval", "--model_dir=" + model_dir, "--json"}});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return nlohmann::json::parse(result.out, nullptr, false);
  }

  TempDir dir_;
};

TEST_F(Validation, EndsEarlyWithTheSameBestModelOnAnyNodesAndAfterStops) {
  const TrainResult whole = Train(RunIn("whole", {}));
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  EXPECT_THAT(whole.out, HasSubstr("270 samples to train on, 90 to validate on, 40 to test on"));
  EXPECT_THAT(whole.out, HasSubstr("ended early at step "));
  EXPECT_TRUE(whole.report["totals"]["ended_early"]);
  const auto& best = whole.report["best"];
  const auto& validations = whole.report["validations"];
  ASSERT_GT(validations.size(), 3u);
  EXPECT_EQ(best["step"], validations[validations.size() - 4]["step"]) << "three were no better";
  EXPECT_EQ(best["value"], validations[validations.size() - 4]["auc"]);
  EXPECT_EQ(validations[0]["samples"], 90);
  EXPECT_EQ(whole.report["evaluations"].size(), 1u) << "samples for tests are scored at the end";

  // The best model is there, though later checkpoints were made, and it is the best.
  const std::string kept = DirectoryOfBest(whole);
  ASSERT_TRUE(fs::exists(kept + "/manifest.json")) << kept;
  EXPECT_THAT(whole.out, HasSubstr("kept in " + kept));
  const nlohmann::json tested = Eval(kept);
  EXPECT_EQ(tested["steps"], best["step"]);
  EXPECT_EQ(tested["samples"], 40);

  const TrainResult nodes = Train(RunIn("nodes", {"--ps=2", "--save_every=3"}, 3));
  ASSERT_EQ(nodes.exit_code, 0) << nodes.Describe();
  EXPECT_EQ(nodes.report["validations"], validations);
  EXPECT_EQ(nodes.digest, whole.digest);
  EXPECT_TRUE(fs::exists(DirectoryOfBest(nodes) + "/manifest.json"));

  // In pieces that end at validations and between them.
  std::string load = "--overwrite";
  TrainResult piece;
  for (int i = 0; i < 60 && !(i > 0 && piece.report["totals"]["ended_early"]); ++i) {
    piece = Train(
        RunIn("pieces", {load, i % 2 == 0 ? "--stop_after_steps=5" : "--stop_after_steps=3"}));
    ASSERT_EQ(piece.exit_code, 0) << piece.Describe();
    load = "--load";
  }
  EXPECT_EQ(piece.digest, whole.digest);
  EXPECT_EQ(piece.report["validations"], validations);
  EXPECT_EQ(piece.report["best"]["step"], best["step"]);
  EXPECT_EQ(Eval(DirectoryOfBest(piece))["auc"], tested["auc"]);
  // Once it has ended, there is nothing left.
  const TrainResult again = Train(RunIn("pieces", {"--load"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, HasSubstr("with a higher --early_stop_patience it goes on"));
  EXPECT_EQ(again.digest, whole.digest);
}

TEST_F(Validation, GoesOnAfterKillsToTheSameEnd) {
  const TrainResult whole = Train(RunIn("whole", {}));
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  TrainResult killed;
  int kills = 0;
  for (const char* point : {"save.marked:3", "save.parts_made:2", "save.before_rename:3",
                            "end.rows_flushed:1", "end.model_saved:1"}) {
    TrainRun run = RunIn("killed", {kills == 0 ? "--overwrite" : "--load", "--save_every=2"});
    Command command = TrainCommand(run);
    command.environment["ROWHOUSE_KILL_POINT"] = point;
    const ProcessResult result = RunCommand(command);
    EXPECT_TRUE(result.exit_code != 0 && result.exit_code != 2) << point << result.Describe();
    ++kills;
  }
  killed = Train(RunIn("killed", {"--load", "--save_every=2"}));
  ASSERT_EQ(killed.exit_code, 0) << killed.Describe();
  EXPECT_EQ(killed.digest, whole.digest);
  EXPECT_TRUE(fs::exists(dir_ / fmt::format("killed/checkpoints/step-{}/manifest.json",
                                            whole.report["best"]["step"].get<uint64_t>())));
}

TEST_F(Validation, WithoutADirectoryTheBestIsNamedAndNotKept) {
  const TrainResult result =
      Train({.ranks = 2,
             .flags = {"--config=" + dir_ / "my.yaml", "--data=" + dir_ / "data.csv",
                       "--valid_fraction=0.25", "--early_stop_metric=logloss", "--store=memory"}});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("best validation: logloss "));
  EXPECT_THAT(result.out, HasSubstr("that model is not kept: --model_dir=DIRECTORY keeps it"));
}

}  // namespace
}  // namespace rowhouse
