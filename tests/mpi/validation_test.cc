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
  ProcessResult RunEval(const std::string& model_dir, const std::vector<std::string>& more = {}) {
    Command command{.arguments = {ROWHOUSE_BINARY, "eval", "--model_dir=" + model_dir, "--json"}};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return RunCommand(command);
  }
  nlohmann::json Eval(const std::string& model_dir, const std::vector<std::string>& more = {}) {
    const ProcessResult result = RunEval(model_dir, more);
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

  // An index that holds out the same samples.
  std::ofstream(dir_ / "parts.txt") << "train 270\nvalid 90\ntest 40\n";
  const Flags by_index = {"--test_fraction=0", "--valid_fraction=0",
                          "--split_index=" + dir_ / "parts.txt"};
  const TrainResult index = Train(RunIn("index", by_index));
  ASSERT_EQ(index.exit_code, 0) << index.Describe();
  EXPECT_EQ(index.report["validations"], validations);
  EXPECT_EQ(index.digest, whole.digest);
  EXPECT_EQ(Eval(DirectoryOfBest(index))["samples"], 40);
  ASSERT_EQ(Train(RunIn("halves", by_index + Flags{"--stop_after_steps=7"})).exit_code, 0);
  const TrainResult halves = Train(RunIn("halves", by_index + Flags{"--load"}));
  ASSERT_EQ(halves.exit_code, 0) << halves.Describe();
  EXPECT_EQ(halves.digest, whole.digest);
  EXPECT_EQ(halves.report["validations"], validations);

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

TEST_F(Validation, ScoresAreThoseOfTheBestModelUnlessTheLastIsAskedFor) {
  const TrainResult run = Train(RunIn("early", {}));
  ASSERT_EQ(run.exit_code, 0) << run.Describe();
  const auto& best = run.report["best"];
  const std::string early = dir_ / "early", kept = DirectoryOfBest(run);
  const nlohmann::json tested = Eval(kept);
  EXPECT_NEAR(best["test_auc"].get<double>(), tested["auc"].get<double>(), 1e-9);
  EXPECT_NEAR(best["test_logloss"].get<double>(), tested["logloss"].get<double>(), 1e-6);
  EXPECT_THAT(run.out, HasSubstr(fmt::format("; its test AUC {:.4f} logloss ",
                                             best["test_auc"].get<double>())));

  const ProcessResult scored = RunEval(early);
  EXPECT_EQ(nlohmann::json::parse(scored.out, nullptr, false)["auc"], tested["auc"]);
  EXPECT_THAT(scored.err, HasSubstr(fmt::format("takes the best model by validation, of step {}; "
                                                "--step=last takes the last, of step {}\n",
                                                best["step"].get<uint64_t>(),
                                                run.report["totals"]["steps"].get<uint64_t>())));
  const nlohmann::json last = Eval(early, {"--step=last"});
  EXPECT_EQ(last["steps"], run.report["totals"]["steps"]);
  EXPECT_NEAR(last["auc"].get<double>(), run.report["evaluations"][0]["auc"].get<double>(), 1e-6);
  const ProcessResult exported =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "export", "--model_dir=" + early,
                                "--out=" + dir_ / "export"}});
  EXPECT_EQ(exported.exit_code, 0) << exported.Describe();
  EXPECT_THAT(exported.err, HasSubstr("takes the best model by validation"));

  for (const auto& [arguments, why] :
       {std::pair{std::pair{kept, "--step=last"}, "is a checkpoint, which is one step"},
        std::pair{std::pair{early, "--step=first"}, "--step=first: expected best or last"}}) {
    const ProcessResult refused = RunEval(arguments.first, {arguments.second});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(why));
  }

  // Moved with its checkpoints it is the same model; without them the best is not there.
  const std::string moved = dir_ / "moved";
  fs::rename(early, moved);
  EXPECT_EQ(Eval(moved)["auc"], tested["auc"]);
  fs::remove_all(moved + "/checkpoints");
  const ProcessResult gone = RunEval(moved);
  EXPECT_EQ(gone.exit_code, 2) << gone.Describe();
  EXPECT_THAT(gone.err, HasSubstr("is not there: it was deleted, or not moved along"));
  EXPECT_THAT(gone.err, HasSubstr("--step=last takes the last model"));
  EXPECT_EQ(Eval(moved, {"--step=last"})["auc"], last["auc"]);

  ASSERT_EQ(
      Train(RunIn("unvalidated", {"--valid_fraction=0", "--early_stop_patience=0", "--nepochs=1"}))
          .exit_code,
      0);
  const ProcessResult none = RunEval(dir_ / "unvalidated", {"--step=best"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("did not validate it"));
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

TEST_F(Validation, CutsTheRateOnPlateausToTheSameBitsOnAnyNodesAndAfterStopsAndKills) {
  const std::vector<std::string> plateaus = {"--early_stop_patience=0", "--plateau_patience=2",
                                             "--plateau_factor=0.5", "--nepochs=6",
                                             "--print_freq=4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plateaus.begin(), plateaus.end());
    return more;
  };
  const TrainResult whole = Train(RunIn("whole", with({})));
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  EXPECT_THAT(whole.out, HasSubstr("learning rate: 0.5 times lr_policy's, after 1 plateau of "
                                   "2 validations without a better one\n"));
  const auto& curve = whole.report["curve"];
  EXPECT_EQ(curve.front()["learning_rate"], 0.1);
  EXPECT_LE(curve.back()["learning_rate"].get<double>(), 0.05);
  EXPECT_NE(Train(RunIn("uncut", with({"--plateau_patience=0"}))).digest, whole.digest);

  const TrainResult nodes = Train(RunIn("nodes", with({"--ps=2"}), 3));
  ASSERT_EQ(nodes.exit_code, 0) << nodes.Describe();
  EXPECT_EQ(nodes.digest, whole.digest);

  std::string load = "--overwrite";
  TrainResult piece;
  for (int i = 0; i < 8; ++i) {  // The last of them does the last step.
    piece = Train(RunIn(
        "pieces", with({load, i % 2 == 0 ? "--stop_after_steps=14" : "--stop_after_steps=9"})));
    ASSERT_EQ(piece.exit_code, 0) << piece.Describe();
    load = "--load";
  }
  EXPECT_EQ(piece.digest, whole.digest);
  EXPECT_EQ(piece.report["validations"], whole.report["validations"]);

  Command command = TrainCommand(RunIn("killed", with({"--save_every=7"})));
  command.environment["ROWHOUSE_KILL_POINT"] = "save.parts_made:3";
  const ProcessResult killed = RunCommand(command);
  EXPECT_TRUE(killed.exit_code != 0 && killed.exit_code != 2) << killed.Describe();
  EXPECT_EQ(Train(RunIn("killed", with({"--load", "--save_every=7"}))).digest, whole.digest);
}

// The mean loss of the steps of a window is the log loss of what they scored before they trained.
TEST_F(Validation, ProgressiveScoresAreThoseOfTrainingAndChangeNothing) {
  const std::vector<std::string> flags = {"--early_stop_patience=0", "--nepochs=2",
                                          "--print_freq=4"};
  auto with = flags;
  with.push_back("--progressive_freq=4");
  const TrainResult whole = Train(RunIn("whole", with));
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  EXPECT_EQ(Train(RunIn("without", flags)).digest, whole.digest);
  const auto& progressive = whole.report["progressive"];
  ASSERT_EQ(progressive.size(), 8u) << "three windows of 80 samples and one of 30 an epoch";
  EXPECT_EQ(progressive[0]["samples"], 80);
  EXPECT_EQ(progressive[3]["samples"], 30);
  EXPECT_THAT(whole.out, HasSubstr(" of 80 samples before they were trained on\n"));
  for (size_t i = 0; i < progressive.size(); ++i) {
    const auto& point = whole.report["curve"][i];
    EXPECT_EQ(progressive[i]["step"], point["step"]);
    EXPECT_NEAR(progressive[i]["logloss"].get<double>(), point["loss"].get<double>(), 1e-9) << i;
    EXPECT_NEAR(progressive[i]["accuracy"].get<double>(), point["accuracy"].get<double>(), 1e-12);
  }

  auto on_nodes = with;
  on_nodes.push_back("--ps=2");
  const TrainResult nodes = Train(RunIn("nodes", on_nodes, 3));
  ASSERT_EQ(nodes.exit_code, 0) << nodes.Describe();
  EXPECT_EQ(nodes.report["progressive"], progressive);
  // A run that stops ends its window, and the model goes on with the next sample.
  with.push_back("--stop_after_steps=6");
  ASSERT_EQ(Train(RunIn("pieces", with)).exit_code, 0);
  with.back() = "--load";
  const TrainResult rest = Train(RunIn("pieces", with));
  ASSERT_EQ(rest.report["progressive"].size(), 9u) << rest.Describe();
  EXPECT_EQ(rest.report["progressive"][0], progressive[0]);
  EXPECT_EQ(rest.report["progressive"][1]["samples"], 40);
  EXPECT_EQ(rest.report["progressive"][8], progressive[7]);
  EXPECT_EQ(rest.digest, whole.digest);
}

}  // namespace
}  // namespace rowhouse
