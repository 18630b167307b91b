// configs/bars_criteo_x1.yaml on files of the published form, made up and small: header, split by
// an index, dictionaries, validation after each epoch, cuts of the rate, early stop, the best
// model.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class Bars : public testing::Test {
 protected:
  Bars() {
    WriteFile("train.csv", 640, 1);
    WriteFile("valid.csv", 160, 2);
    WriteFile("test.csv", 96, 3);
    std::ofstream(dir_ / "split") << "train 640\nvalid 160\ntest 96\n";
  }

  // Ids are small whole numbers, numbers lie in [0, 1]; a token of C1 mostly decides the label.
  void WriteFile(const std::string& name, int lines, unsigned seed) {
    std::ofstream out(dir_ / name);
    out << "label";
    for (int i = 1; i <= 13; ++i) out << ",I" << i;
    for (int i = 1; i <= 26; ++i) out << ",C" << i;
    out << "\n";
    std::mt19937 random(seed);
    for (int line = 0; line < lines; ++line) {
      const auto first = static_cast<unsigned>(random() % 20);
      out << ((first % 4 == 0) != (random() % 5 == 0) ? 1 : 0);
      for (int i = 0; i < 13; ++i)
        out << fmt::format(",{:.6f}", static_cast<double>(random() % 1000) / 1000.0);
      out << "," << first;
      for (unsigned i = 1; i < 26; ++i) out << "," << 20 + 30 * i + random() % 30;
      out << "\n";
    }
  }

  TrainResult TrainIn(const std::string& model, uint32_t ranks, const Flags& more) {
    return Train(
        {.ranks = ranks,
         .flags = Flags{"--config=" ROWHOUSE_SOURCE_DIR "/configs/bars_criteo_x1.yaml",
                        "--data=" + dir_ / "train.csv" + "," + (dir_ / "valid.csv") + "," +
                            (dir_ / "test.csv"),
                        "--split_index=" + dir_ / "split", "--cache_mb=16", "--mini_batch_size=32",
                        "--learning_rate=0.01", "--model_dir=" + dir_ / model} +
                  more});
  }

  TempDir dir_;
};

TEST_F(Bars, ValidatesEachEpochCutsTheRateStopsAndKeepsTheBest) {
  const TrainResult whole = TrainIn("whole", 3, {"--ps=1"});
  ASSERT_EQ(whole.exit_code, 0) << whole.Describe();
  EXPECT_THAT(whole.out, HasSubstr("640 samples to train on, 160 to validate on, 96 to test on"));
  const auto& report = whole.report;
  const auto& validations = report.at("validations");
  ASSERT_GE(validations.size(), 3u);
  for (size_t epoch = 0; epoch < validations.size(); ++epoch) {
    EXPECT_EQ(validations[epoch]["step"], 20 * (epoch + 1));
    EXPECT_EQ(validations[epoch]["samples"], 160);
  }
  EXPECT_TRUE(report.at("totals")["ended_early"]) << "long before 100 epochs";
  EXPECT_EQ(report.at("best")["step"], validations[validations.size() - 3]["step"]);
  EXPECT_GT(report.at("best")["value"], 0.6);
  // The first validation that was no better cut the rate to a tenth, and the second ended the run.
  const double first_rate = report.at("curve").front()["learning_rate"];
  const double last_rate = report.at("curve").back()["learning_rate"];
  EXPECT_LE(last_rate, 0.11 * first_rate);
  EXPECT_THAT(whole.out, HasSubstr("without a better one"));
  EXPECT_EQ(report.at("evaluations").back()["samples"], 96);
  EXPECT_EQ(report.at("baseline")["train_samples"], 640);
  EXPECT_EQ(report.at("baseline")["test_samples"], 96);
  EXPECT_TRUE(std::filesystem::exists(report.at("best")["checkpoint"].get<std::string>()));

  // The same on other PS nodes, and in parts.
  const TrainResult nodes = TrainIn("nodes", 4, {"--ps=2", "--shards=2"});
  ASSERT_EQ(nodes.exit_code, 0) << nodes.Describe();
  EXPECT_EQ(nodes.digest, whole.digest);
  EXPECT_EQ(nodes.report.at("validations"), validations);
  ASSERT_EQ(TrainIn("parts", 3, {"--ps=1", "--stop_after_steps=33"}).exit_code, 0);
  const TrainResult parts = TrainIn("parts", 3, {"--ps=1", "--load"});
  ASSERT_EQ(parts.exit_code, 0) << parts.Describe();
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(parts.report.at("validations"), validations);
}

TEST_F(Bars, AnotherIndexIsOtherDataAndOneThatDoesNotFitIsRefused) {
  ASSERT_EQ(TrainIn("model", 2, {"--nepochs=1"}).exit_code, 0);
  std::ofstream(dir_ / "split") << "valid 160\ntrain 640\ntest 96\n";
  const TrainResult other = TrainIn("model", 2, {"--load", "--nepochs=1"});
  ASSERT_EQ(other.exit_code, 0) << other.Describe();
  EXPECT_THAT(other.out, testing::Not(HasSubstr("on the same data")));
  EXPECT_EQ(other.report.at("totals")["steps"], 40);
  std::ofstream(dir_ / "split") << "train 640\nvalid 160\n";
  const TrainResult shorter = TrainIn("new", 2, {});
  EXPECT_EQ(shorter.exit_code, 2) << shorter.Describe();
  EXPECT_THAT(shorter.err, HasSubstr("of 800 samples, and the data have 896"));
  std::ofstream(dir_ / "split") << "train 800\ntest 96\n";
  const TrainResult none = TrainIn("new", 2, {});
  EXPECT_EQ(none.exit_code, 2) << none.Describe();
  EXPECT_THAT(none.err, HasSubstr("no sample is held out for them by split_index="));
}

}  // namespace
}  // namespace rowhouse
