// `rowhouse predict` and `rowhouse ckpt inspect` on a model of own text: the text of tomorrow is
// mapped as that of yesterday was, however it comes.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/testing/process.h"
#include "tests/testing/sample_blocks.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr const char* kPredictTextConfig =
    "schema:\n"
    "  format: delimited\n"
    "  separator: \",\"\n"
    "  label: {column: liked, rule: \"== yes\"}\n"
    "  dense: [{name: age, transform: standardise, missing: 30}]\n"
    "  categorical:\n"
    "    - {name: user, ids: dictionary, rare_row: true}\n"
    "    - {name: tags, ids: hash, separator: \"|\"}\n"
    "tables:\n  list:\n"
    "    - {name: user, rows: 30}\n"
    "    - {name: tags, kind: qr, collisions: 4, rows: 40}\n"
    "model: {arch_mlp_bot: [1, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8,\n"
    "        loss_function: bce}\n"
    "training: {mini_batch_size: 16, learning_rate: 0.1, optimizer: adagrad, nepochs: 2}\n";

constexpr int kLines = 400;

// Lines of a day; without labels for the text of a day that is to come.
std::string Text(int day, bool has_labels) {
  std::ostringstream text;
  text << "user,tags,age" << (has_labels ? ",liked" : "") << "\n";
  for (int i = 0; i < kLines; ++i) {
    const int user = (i * 7 + day) % 25;
    text << "u" << user << ",t" << i % 5 << "|t" << i % 3 << "," << (i % 9 == 0 ? "" : "41");
    // With some noise, so that no model is perfect.
    const bool likes = (user % 2 == 0) != (i * i % 11 == 3);
    if (has_labels) text << (likes ? ",yes" : ",no");
    text << "\n";
  }
  return text.str();
}

class PredictText : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ / "my.yaml") << kPredictTextConfig;
    std::ofstream(dir_ / "monday.csv") << Text(1, true);
    std::ofstream(dir_ / "tuesday.csv") << Text(2, true);
    const ProcessResult trained = Run({"train", "--config=" + dir_ / "my.yaml",
                                       "--data=" + dir_ / "monday.csv", "--test_fraction=0.25"});
    ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir_ / "model");
    return RunCommand({.arguments = std::move(arguments)});
  }

  // Scores of a file; stdout of the run.
  std::string Scores(const std::string& data) {
    const ProcessResult result = Run({"predict", "--data=" + data, "--out=-"});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return result.out;
  }

  // The first field of each line.
  static std::string FirstOf(const std::string& lines) {
    std::istringstream in(lines);
    std::string first;
    for (std::string line; std::getline(in, line);) first += line.substr(0, line.find('\t')) + "\n";
    return first;
  }

  TempDir dir_;
};

TEST_F(PredictText, ScoresAreTheSameHoweverTheTextComes) {
  const std::string scores = Scores(dir_ / "tuesday.csv");
  EXPECT_EQ(std::ranges::count(scores, '\n'), kLines);
  EXPECT_THAT(scores, ContainsRegex("^[0-9.e-]+\t[01]\n"));

  ASSERT_EQ(std::system(("gzip -k " + dir_ / "tuesday.csv").c_str()), 0);
  EXPECT_EQ(Scores(dir_ / "tuesday.csv.gz"), scores);

  const ProcessResult piped = RunCommand(
      {.arguments = {"bash", "-c",
                     fmt::format("{} predict --model_dir={} --data=- --out=- < {}", ROWHOUSE_BINARY,
                                 dir_ / "model", dir_ / "tuesday.csv")}});
  ASSERT_EQ(piped.exit_code, 0) << piped.Describe();
  EXPECT_EQ(piped.out, scores);

  const ProcessResult converted =
      Run({"data", "convert", dir_ / "tuesday.csv", "--out=" + dir_ / "tuesday"});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  EXPECT_EQ(Scores(dir_ / "tuesday"), scores);
}

TEST_F(PredictText, TextWithoutLabelsHasScoresAlone) {
  std::ofstream(dir_ / "new.csv") << Text(2, false);
  EXPECT_EQ(Scores(dir_ / "new.csv"), FirstOf(Scores(dir_ / "tuesday.csv")));
  const ProcessResult measured = Run({"eval", "--data=" + dir_ / "new.csv"});
  EXPECT_EQ(measured.exit_code, 2);
  EXPECT_THAT(measured.err, HasSubstr("the data have no labels"));
}

TEST_F(PredictText, EvalOfTheHeldOutPartIsThatOfTheReport) {
  const auto report = nlohmann::json::parse(std::ifstream(dir_ / "model/report.json"));
  const ProcessResult own = Run({"eval", "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.Describe();
  const auto measured = nlohmann::json::parse(own.out);
  EXPECT_EQ(measured.at("samples"), kLines / 4);
  EXPECT_NEAR(measured.at("auc").get<double>(),
              report.at("evaluations").back().at("auc").get<double>(), 1e-7);
  const ProcessResult named =
      Run({"eval", "--json", "--data=" + dir_ / "monday.csv", "--test_fraction=0.25"});
  ASSERT_EQ(named.exit_code, 0) << named.Describe();
  EXPECT_EQ(nlohmann::json::parse(named.out).at("auc"), measured.at("auc"));
}

TEST_F(PredictText, ABadLineIsNamedOrLeftOutAsAllowed) {
  std::ofstream(dir_ / "bad.csv")
      << "user,tags,age,liked\nu1,t1,41,yes\nu2,t1,old,no\nu3,t2,5,no\n";
  const ProcessResult refused =
      Run({"predict", "--data=" + dir_ / "bad.csv", "--out=" + dir_ / "scores.tsv"});
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, AllOf(HasSubstr("bad.csv:3:"), HasSubstr("old")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "scores.tsv"));
  const ProcessResult allowed =
      Run({"predict", "--data=" + dir_ / "bad.csv", "--out=-", "--max_bad_lines=1"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.Describe();
  EXPECT_EQ(std::ranges::count(allowed.out, '\n'), 2);
  EXPECT_THAT(allowed.err, HasSubstr("1 line left out"));
  const ProcessResult missing = Run({"predict", "--data=" + dir_ / "none.csv", "--out=-"});
  EXPECT_EQ(missing.exit_code, 2) << missing.Describe();
  EXPECT_THAT(missing.err, HasSubstr("none.csv"));
}

DataColumns ColumnsOfIds() {
  return {.dense = {"age"}, .categorical = {"user", "tags"}, .rows = {25, 40}};
}

// Ids that another program numbered mean nothing to a dictionary, and tokens nothing to them.
TEST_F(PredictText, IdsThatNoDictionaryOfTheModelMadeGetNoScore) {
  WriteSampleData(dir_ / "ids", ColumnsOfIds(), 200, 100);
  const ProcessResult of_ids = Run({"eval", "--data=" + dir_ / "ids"});
  EXPECT_EQ(of_ids.exit_code, 2) << of_ids.Describe();
  EXPECT_THAT(of_ids.err, HasSubstr("it names no preprocessing, and the model has one"));
}

TEST_F(PredictText, AModelOfIdsScoresNoText) {
  WriteSampleData(dir_ / "ids", ColumnsOfIds(), 200, 100);
  std::filesystem::remove_all(dir_ / "model");
  const ProcessResult trained = Run(
      {"train", "--config=" + dir_ / "my.yaml", "--data=" + dir_ / "ids", "--test_fraction=0.25"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const ProcessResult own = Run({"eval"});
  EXPECT_EQ(own.exit_code, 0) << own.Describe();
  const ProcessResult converted =
      RunCommand({.arguments = {ROWHOUSE_BINARY, "data", "convert", dir_ / "monday.csv",
                                "--config=" + dir_ / "my.yaml", "--out=" + dir_ / "converted"}});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  for (const char* data : {"tuesday.csv", "converted"}) {
    for (const char* part : {"--threads=1", "--test_fraction=0.5"}) {
      const ProcessResult refused =
          Run({"predict", "--out=" + dir_ / "scores.tsv", "--data=" + dir_ / data, part});
      EXPECT_EQ(refused.exit_code, 2) << data << " " << part << refused.Describe();
    }
    const ProcessResult refused = Run({"eval", "--data=" + dir_ / data});
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr("was saved without a preprocessing")) << data;
  }
}

TEST_F(PredictText, AModelIsTrainedFromNoNameThatItsConfigCannotHold) {
  const std::string odd = dir_ / "odd\xFF.csv";
  std::ofstream(odd) << Text(1, true);
  EXPECT_EQ(Scores(odd), Scores(dir_ / "monday.csv"));
  const std::vector<std::vector<std::string>> runs = {
      {"train", "--config=" + dir_ / "my.yaml", "--overwrite"}, {"train", "--load"}};
  for (const char* flag : {"--data=", "--test_data="}) {
    for (std::vector<std::string> run : runs) {
      run.push_back("--data=" + dir_ / "monday.csv");
      run.push_back(flag + odd);
      const ProcessResult refused = Run(run);
      EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
      EXPECT_THAT(refused.err, AllOf(HasSubstr(flag), HasSubstr("bytes that are no UTF-8")));
    }
  }
}

TEST_F(PredictText, InspectTakesTheTokenOrTheRow) {
  const ProcessResult token = Run({"ckpt", "inspect", "user", "u3"});
  ASSERT_EQ(token.exit_code, 0) << token.Describe();
  EXPECT_THAT(token.out, ContainsRegex("^token \"u3\" of user is id [0-9]+\ntable user row [0-9]+ "
                                       "of 30: 8 x f32, adagrad"));
  const size_t at = token.out.find("is id ") + 6;
  const std::string id = token.out.substr(at, token.out.find('\n') - at);
  const ProcessResult row = Run({"ckpt", "inspect", "user", "row=" + id});
  ASSERT_EQ(row.exit_code, 0) << row.Describe();
  EXPECT_THAT(token.out, HasSubstr(row.out));
  // A token of a composite kind reads a row of each part.
  const ProcessResult parts = Run({"ckpt", "inspect", "tags", "t2"});
  ASSERT_EQ(parts.exit_code, 0) << parts.Describe();
  EXPECT_THAT(parts.out,
              AllOf(HasSubstr("table tags.quotient row "), HasSubstr("table tags.remainder row ")));
  const ProcessResult rare = Run({"ckpt", "inspect", "user", "nobody"});
  EXPECT_EQ(rare.exit_code, 0) << rare.Describe();
  EXPECT_THAT(rare.out,
              HasSubstr("token \"nobody\" of user is id 0, the row of tokens that are not in the"));
}

}  // namespace
}  // namespace rowhouse
