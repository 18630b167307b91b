// rowhouse data baseline, called as the program calls it.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/run/run_outcome.h"
#include "tests/launch/data_words.h"
#include "tests/launch/given_settings.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class DataBaseline : public ::testing::Test {
 protected:
  nlohmann::ordered_json FiguresOf(std::vector<std::string> words) {
    words.insert(words.begin(), "baseline");
    words.push_back("--json=" + (dir_ / "json"));
    const Status status = RunDataWords(std::move(words));
    EXPECT_OK(status);
    if (!status.ok()) return {};
    return ParseJson(ReadFile(dir_ / "json").value()).value();
  }
  std::string Refusal(std::vector<std::string> words) {
    words.insert(words.begin(), "baseline");
    const Status status = RunDataWords(std::move(words));
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return std::string(status.message());
  }
  // A CSV file of a city, which decides the label, and a price.
  void WriteCsv(const std::string& name, int lines) {
    std::ofstream out(dir_ / name);
    out << "y,price,city\n";
    for (int i = 0; i < lines; ++i) {
      out << (i * 7 % 10 < 3) << "," << i % 13 << ",c" << i * 7 % 10 << "\n";
    }
    std::ofstream(dir_ / "config.yaml")
        << "model: {arch_mlp_bot: [1, 2], arch_mlp_top: [3, 1]}\n"
           "tables: {list: [{name: city, rows: 20}]}\n"
           "schema: {format: delimited, label: y, dense: [price],\n"
           "         categorical: [{name: city, ids: dictionary}]}\n";
  }

  TempDir dir_;
};

TEST_F(DataBaseline, LearnsOwnTextWhateverTheModelsTablesAre) {
  WriteCsv("a.csv", 1000);
  const auto json =
      FiguresOf({dir_ / "a.csv", "--config=" + (dir_ / "config.yaml"), "--test_fraction=0.2"});
  EXPECT_EQ(json["train_samples"], 800);
  EXPECT_EQ(json["test_samples"], 200);
  EXPECT_GT(json["auc"], 0.99);
  WriteCsv("b.csv", 50);
  const auto other = FiguresOf(
      {dir_ / "a.csv", "--config=" + (dir_ / "config.yaml"), "--test_data=" + (dir_ / "b.csv")});
  EXPECT_EQ(other["train_samples"], 1000);
  EXPECT_EQ(other["test_samples"], 50);
}

// The data of a run with the same settings: its test samples have the same labels.
TEST_F(DataBaseline, TestsOnTheSplitOfARun) {
  ASSERT_OK(RunDataWords({"imitate", "--data_size=5000", "--out=" + (dir_ / "text")}));
  for (const char* split : {"tail", "random", "dlrm"}) {
    const auto json = FiguresOf({dir_ / "text", "--test_fraction=0.3",
                                 fmt::format("--test_split={}", split), "--numpy_rand_seed=5"});
    DatasetOptions options = {
        .shape = {.dense_features = 13, .table_rows = std::vector<uint64_t>(26, 50)},
        .seed = 5,
        .file = dir_ / "text",
        .held_out = {.test_split = split, .test_fraction = 0.3}};
    const auto data = Datasets().Make("criteo", options);
    ASSERT_OK(data);
    Batch batch;
    ASSERT_OK(data.value()->ReadTest(0, data.value()->test_samples(), &batch));
    double sum = 0;
    for (const float label : batch.labels) sum += static_cast<double>(label);
    EXPECT_EQ(json["train_samples"], data.value()->train_samples()) << split;
    EXPECT_EQ(json["test_samples"], batch.samples) << split;
    EXPECT_DOUBLE_EQ(json["mean_label"], sum / static_cast<double>(batch.samples)) << split;
  }
}

// What the report of a run has (launch/run/run_outcome.h).
TEST_F(DataBaseline, IsInReportsOfOwnDataThatWereTested) {
  ASSERT_OK(RunDataWords({"imitate", "--data_size=900", "--out=" + (dir_ / "text")}));
  const auto json = FiguresOf({dir_ / "text", "--test_fraction=0.3"});
  const std::vector<int> rows(26, 50);
  Settings settings = WithAll({{"data_generation", "dataset"},
                               {"data", dir_ / "text"},
                               {"test_fraction", "0.3"},
                               {"arch_mlp_bot", "13-2"},
                               {"arch_embedding_size", fmt::format("{}", fmt::join(rows, "-"))}});
  std::atomic<bool> stop = false;
  const auto baseline = [&](uint64_t train, uint64_t test) {
    return BaselineOf(settings, train, {.samples = test}, stop);
  };
  const auto measured = baseline(630, 270);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->why_not, "");
  EXPECT_EQ(measured->of_test.auc, json["auc"].get<double>());
  EXPECT_EQ(measured->of_test.logloss, json["logloss"]);
  EXPECT_EQ(measured->of_test.samples, 270);
  EXPECT_FALSE(baseline(630, 0)) << "a run that was stopped tests nothing";
  EXPECT_THAT(baseline(629, 270)->why_not, HasSubstr("not what the run read"));
  stop = true;
  EXPECT_EQ(baseline(630, 270)->why_not, "stopped");
  stop = false;
  std::filesystem::resize_file(dir_ / "text", uint64_t{1} << 40);  // a hole
  EXPECT_THAT(baseline(630, 270)->why_not, HasSubstr("up to 268 MB are read"));
  std::filesystem::remove(dir_ / "text");
  ASSERT_EQ(mkfifo((dir_ / "text").c_str(), 0600), 0);
  EXPECT_THAT(baseline(630, 270)->why_not, HasSubstr("is a pipe"));
  settings.data_generation = "synthetic";
  EXPECT_FALSE(baseline(630, 270));
}

TEST_F(DataBaseline, HasNoAucOfTestSamplesOfOneLabel) {
  WriteCsv("a.csv", 100);
  std::ofstream(dir_ / "b.csv") << "y,price,city\n1,2,c3\n1,5,c4\n";
  const auto json = FiguresOf(
      {dir_ / "a.csv", "--config=" + (dir_ / "config.yaml"), "--test_data=" + (dir_ / "b.csv")});
  EXPECT_TRUE(json["auc"].is_null());
  EXPECT_GT(json["logloss"], 0.0);
}

TEST_F(DataBaseline, SaysWhatIsMissing) {
  WriteCsv("a.csv", 10);
  const std::string csv = dir_ / "a.csv", config = "--config=" + (dir_ / "config.yaml");
  EXPECT_THAT(Refusal({}), HasSubstr("expected FILE"));
  EXPECT_THAT(Refusal({csv, config}), HasSubstr("--test_fraction=0.1"));
  EXPECT_THAT(Refusal({csv, config, "--test_fraction=0.01"}), HasSubstr("none to test on"));
  EXPECT_THAT(Refusal({csv, config, "--test_fraction=0.5", "--test_data=" + csv}),
              HasSubstr("give one of them"));
  EXPECT_THAT(Refusal({csv, config, "--test_fraction=0.5", "--data=" + csv}),
              HasSubstr("give one of them"));
  EXPECT_THAT(Refusal({"-", config, "--test_fraction=0.5"}), HasSubstr("is a pipe; give files"));
  EXPECT_THAT(Refusal({csv, "--test_fraction=0.5"}), HasSubstr("a.csv:1:"));
  std::ofstream(csv, std::ios::app) << "yes,1,c1\n";
  EXPECT_THAT(Refusal({csv, config, "--test_fraction=0.5"}), HasSubstr("a.csv:12:1: y is"));
  EXPECT_EQ(FiguresOf({csv, config, "--test_fraction=0.5", "--max_bad_lines=1"})["bad_lines"], 1);
  ASSERT_OK(
      RunDataWords({"convert", csv, config, "--max_bad_lines=1", "--out=" + (dir_ / "converted")}));
  EXPECT_THAT(Refusal({dir_ / "converted", config, "--test_fraction=0.5"}),
              HasSubstr("give the text that it was made of"));
}

}  // namespace
}  // namespace rowhouse
