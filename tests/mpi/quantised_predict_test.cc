// Scores in fewer bits: of rows, and of the MLPs.
#include <fstream>
#include <set>

#include "tests/mpi/predicted_model.h"
#include "tests/testing/npy_writer.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST_F(Predict, MlpsOf8And16BitsScoreNearlyAsTrained) {
  const TrainResult trained = TrainSmall({"--data_size=8000", "--num_batches=200"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const std::string as_trained = Scores();
  const double auc = Eval().at("auc");
  std::set<std::string> different = {as_trained};
  for (const std::string bits : {"8", "16"}) {
    const std::string flag = "--quantize_mlp=" + bits;
    const std::string scores = Scores({flag, "--threads=1"});
    different.insert(scores);
    EXPECT_EQ(Scores({flag, "--threads=3", "--rows=disk"}), scores);
    std::istringstream ours(scores), exact(as_trained);
    double score = 0.0, label = 0.0, due = 0.0;
    while (exact >> due >> label) {
      ASSERT_TRUE(ours >> score >> label);
      EXPECT_NEAR(score, due, 1e-2);
    }
    EXPECT_NEAR(Eval({flag}).at("auc").get<double>(), auc, 5e-4);
  }
  EXPECT_EQ(different.size(), 3u);
  EXPECT_EQ(Scores({"--quantize_mlp=32"}), as_trained);
  const ProcessResult refused = Run({"eval", "--quantize_mlp=4"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--quantize_mlp=4: expected 8, 16 or 32 bits"));
}

TEST_F(Predict, QuantisedRowsTakeTheBytesOfTheirFormat) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  constexpr uint64_t kRows = 4040;
  const std::string scores = Scores();
  EXPECT_EQ(Eval().at("rows_bytes"), kRows * 32);
  EXPECT_EQ(Eval({"--rows=disk"}).at("rows_bytes"), 0u);
  for (const auto& [bits, bytes] : {std::pair("16", 16u), {"8", 16u}, {"4", 8u}, {"2", 6u}}) {
    ExpectSameQuantisedScoresEverywhere(bits);
    EXPECT_NE(Scores({fmt::format("--quantize_rows={}", bits)}), scores);
    EXPECT_EQ(Eval({fmt::format("--quantize_rows={}", bits)}).at("rows_bytes"), kRows * bytes);
    EXPECT_EQ(Eval({"--rows=" + dir_ / "export_in_bits"}).at("rows_bytes"), kRows * bytes);
  }
  const ProcessResult told = Run({"eval", "--quantize_rows=8"});
  EXPECT_THAT(told.err, HasSubstr("2 tables in memory in 8 bits (63.1 KiB)"));
  EXPECT_THAT(Run({"eval", "--rows=" + dir_ / "export_in_bits"}).err,
              HasSubstr("2 tables mapped in 2 bits (23.7 KiB)"));
}

// Of data with a planted effect an id, as the quickstart's.
TEST_F(Predict, QuantisedRowsLoseLittleAuc) {
  const TrainResult trained =
      Train({.flags = {"--arch_embedding_size=7-24-200-5000-40000", "--arch_sparse_feature_size=16",
                       "--arch_mlp_bot=13-64-16", "--arch_mlp_top=64-1", "--loss_function=bce",
                       "--mini_batch_size=256", "--optimizer=adagrad", "--learning_rate=0.02",
                       "--data_generation=synthetic", "--data_size=60000", "--zipf_exponent=1.2",
                       "--effect_scale=2", "--synthetic_test_samples=20000",
                       "--model_dir=" + dir_ / "model"}});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const double auc = Eval().at("auc");
  EXPECT_GT(auc, 0.75);
  EXPECT_NEAR(Eval({"--quantize_rows=16"}).at("auc").get<double>(), auc, 0.0001);
  EXPECT_NEAR(Eval({"--quantize_rows=8"}).at("auc").get<double>(), auc, 0.0005);
  EXPECT_NEAR(Eval({"--quantize_rows=4"}).at("auc").get<double>(), auc, 0.003);
}

TEST_F(Predict, AQuantisedExportThatIsNotTheModelsIsRefusedByName) {
  ASSERT_EQ(TrainSmall().exit_code, 0);
  const std::string out = dir_ / "export", file = out + "/table-t0.npy";
  ASSERT_EQ(Run({"ckpt", "export", "--stored", "--quantize_rows=8", "--out=" + out}).exit_code, 0);
  ASSERT_EQ(Run({"ckpt", "export", "--stored", "--out=" + dir_ / "floats"}).exit_code, 0);
  const auto refused = [&](const std::vector<std::string>& flags, int exit_code,
                           const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"predict", "--out=" + dir_ / "scores.tsv"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.Describe();
    for (const std::string& word : words) EXPECT_THAT(result.err, HasSubstr(word));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "scores.tsv"));
  };
  refused({"--rows=" + out, "--quantize_rows=4"}, 2,
          {"--rows=" + out, "--quantize_rows=4: its rows were exported in 8 bits"});
  refused({"--rows=" + dir_ / "floats", "--quantize_rows=8"}, 2,
          {"--quantize_rows=8: its rows were exported as floats"});
  const std::string good = FileText(file);
  std::string flipped = good;
  flipped[5000] ^= 1;
  std::ofstream(file) << flipped;
  refused({"--rows=" + out}, 1, {"table \"t0\"", file});
  std::ofstream(file) << good.substr(0, good.size() - 16);
  refused({"--rows=" + out}, 1, {"table \"t0\"", file});
  refused({"--rows=" + out, "--rows_memory_mb=0"}, 1, {"table \"t0\"", file});
  std::filesystem::remove(file);
  refused({"--rows=" + out}, 1, {"table \"t0\"", file});
  std::ofstream(file) << good;
  ASSERT_EQ(TrainSmall({"--numpy_rand_seed=5", "--overwrite"}).exit_code, 0);
  refused({"--rows=" + out}, 2, {"it was exported from model"});
}

TEST_F(Predict, ARowThatCannotBeQuantisedIsNamedAndNothingIsMade) {
  std::vector<float> values(50 * 8, 0.5f);
  values[7 * 8 + 3] = -1e6f;
  WriteNpy<float>(dir_ / "large.npy", 8, values);
  std::ofstream(dir_ / "model.yaml")
      << "model: {arch_mlp_bot: [5, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8}\n"
         "training: {mini_batch_size: 40, learning_rate: 1e-30}\n"
         "tables:\n  list:\n  - {name: a, rows: 50, freeze: true, init_from: "
      << dir_ / "large.npy"
      << "}\n";
  ASSERT_EQ(TrainOn({"--config=" + dir_ / "model.yaml"}).exit_code, 0);
  const std::string words = "table \"a\": row 7 has the number -1000000";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"predict", "--out=" + dir_ / "made"},
           {"predict", "--rows=disk", "--out=" + dir_ / "made"},
           {"ckpt", "export", "--out=" + dir_ / "made"},
           {"ckpt", "export", "--stored", "--out=" + dir_ / "made"}}) {
    std::vector<std::string> in_4_bits = arguments, in_8_bits = arguments;
    in_4_bits.push_back("--quantize_rows=4");
    in_8_bits.push_back("--quantize_rows=8");
    const ProcessResult refused = Run(in_4_bits);
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "made"));
    const ProcessResult made = Run(in_8_bits);
    EXPECT_EQ(made.exit_code, 0) << made.Describe();
    std::filesystem::remove_all(dir_ / "made");
  }
}

}  // namespace
}  // namespace rowhouse
