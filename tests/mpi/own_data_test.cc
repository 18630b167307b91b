// Own data through real processes: text is prepared once, its preprocessing belongs to the model,
// and a model goes on with tomorrow's file.
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kOwnDataConfig =
    "model: {arch_sparse_feature_size: 4, arch_mlp_bot: [1, 4], arch_mlp_top: [4, 1],\n"
    "        loss_function: bce}\n"
    "data: {data_randomize: blocks}\n"
    "training: {mini_batch_size: 20, optimizer: adagrad, learning_rate: 0.1}\n"
    "schema:\n"
    "  format: delimited\n"
    "  label: {column: label}\n"
    "  dense: [{name: x, transform: standardise}]\n"
    "  categorical:\n"
    "    - {name: user, ids: dictionary, rare_row: true}\n"
    "    - {name: tags, separator: \"|\"}\n"
    "tables: {list: [{name: user, rows: 40}, {name: tags, rows: 16}]}\n";

// So many samples of users u0 to u29, or other users of another day.
std::string Samples(int count, int day) {
  std::mt19937 random(static_cast<uint32_t>(day));
  std::string text = "user,x,tags,label\n";
  for (int i = 0; i < count; ++i) {
    const auto user = random() % 30 + static_cast<uint32_t>(10 * (day - 1));
    text += fmt::format("u{},{}.5,{}|t{},{}\n", user, random() % 9, i % 2 == 0 ? "even" : "odd",
                        random() % 5, (user + random() % 4) % 2);
  }
  return text;
}

class OwnData : public testing::Test {
 protected:
  OwnData() {
    fs::create_directory(dir_ / "tmp");
    Write("my.yaml", kOwnDataConfig);
    Write("day1.csv", Samples(300, 1));
    Write("day2.csv", Samples(210, 2));
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }

  Command CommandOf(const TrainRun& run) {
    Command command = TrainCommand(run);
    command.environment["TMPDIR"] = dir_ / "tmp";
    return command;
  }

  TrainResult TrainIn(const std::string& model, uint32_t workers, const Flags& flags) {
    TrainRun run{.ranks = workers + 1,
                 .flags = Flags{"--config=" + dir_ / "my.yaml", "--ps=1", "--shards=2",
                                "--model_dir=" + dir_ / model} +
                          flags};
    return Train(run);
  }
  std::string Data(const std::string& name) { return "--data=" + dir_ / name; }

  ProcessResult Convert(const Flags& flags) {
    return RunCommand({.arguments = Flags{ROWHOUSE_BINARY, "data", "convert"} + flags});
  }

  std::map<std::string, std::string> DataFilesOf(const std::string& model) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(dir_ / model)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("data-")) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[name] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

  TempDir dir_;
};

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()

// Two days, stopped in the middle of either, of day 2 in its second epoch.
TEST_F(OwnData, TwoDaysInPartsAreTheTwoDaysThatNeverStopped) {
  for (const uint32_t workers : {1u, 2u, 3u}) {
    SCOPED_TRACE(workers);
    const std::string whole = fmt::format("whole{}", workers);
    const std::string parts = fmt::format("parts{}", workers);
    const Flags day2 = {Data("day2.csv"), "--load", "--nepochs=2", "--test_fraction=0.2"};
    ASSERT_TRAINED(TrainIn(whole, workers, {Data("day1.csv")}));
    const TrainResult end = TrainIn(whole, workers, day2);
    ASSERT_TRAINED(end);
    EXPECT_EQ(end.losses.size(), 18u);
    EXPECT_EQ(end.report.at("evaluations").size(), 1u);

    ASSERT_TRAINED(TrainIn(parts, workers, {Data("day1.csv"), "--stop_after_steps=6"}));
    ASSERT_TRAINED(TrainIn(parts, workers, {Data("day1.csv"), "--load"}));
    ASSERT_TRAINED(TrainIn(parts, workers, day2 + Flags{"--stop_after_steps=13"}));
    const TrainResult rest = TrainIn(parts, workers, day2);
    ASSERT_TRAINED(rest);
    EXPECT_THAT(rest.out, HasSubstr("on the same data: at sample 80 of epoch 1"));
    EXPECT_EQ(rest.digest, end.digest);
    EXPECT_EQ(rest.report.at("evaluations").back(), end.report.at("evaluations").back());
    EXPECT_EQ(DataFilesOf(parts), DataFilesOf(whole));
  }
}

TEST_F(OwnData, ThePreprocessingIsOfTheFirstDayAndLinkedBySaves) {
  ASSERT_TRAINED(TrainIn("model", 1, {Data("day1.csv")}));
  const auto files = DataFilesOf("model");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_TRUE(files.begin()->first.starts_with("data-preprocessing-"));
  EXPECT_TRUE(files.rbegin()->first.starts_with("data-vocabulary_0-"));
  ASSERT_TRAINED(TrainIn("model", 1, {Data("day2.csv"), "--load"}));
  EXPECT_EQ(DataFilesOf("model"), files);
}

// The line of `rowhouse data baseline` stands in the report, and the training does not feel it.
TEST_F(OwnData, TheReportHasTheBaselineOfTheSameSplit) {
  const Flags split = {"--test_fraction=0.3", "--test_split=random", Data("day1.csv")};
  const TrainResult run = TrainIn("model", 2, split);
  ASSERT_TRAINED(run);
  const ProcessResult verb =
      RunCommand({.arguments = Flags{ROWHOUSE_BINARY, "data", "baseline", "--json",
                                     "--config=" + dir_ / "my.yaml"} +
                               split});
  ASSERT_EQ(verb.exit_code, 0) << verb.Describe();
  const auto figures = nlohmann::json::parse(verb.out, nullptr, false);
  for (const auto& [name, value] : run.report.at("baseline").items()) {
    EXPECT_EQ(value, figures.at(name)) << name;
  }
  EXPECT_EQ(run.report.at("baseline").size(), 5u);
  EXPECT_THAT(run.out, HasSubstr(fmt::format(
                           "logistic regression on the same split: AUC {:.4f} logloss {:.4f}\n"
                           "test AUC ",
                           figures.at("auc").get<double>(), figures.at("logloss").get<double>())));
  const TrainResult untested = TrainIn("untested", 2, {Data("day1.csv")});
  ASSERT_TRAINED(untested);
  EXPECT_TRUE(untested.report.at("baseline").is_null());
  ASSERT_EQ(Convert({dir_ / "day1.csv", "--out=" + dir_ / "day1", "--config=" + dir_ / "my.yaml"})
                .exit_code,
            0);
  const TrainResult converted =
      TrainIn("converted", 2, {Data("day1"), "--test_fraction=0.3", "--test_split=random"});
  ASSERT_TRAINED(converted);
  EXPECT_EQ(converted.digest, run.digest);
  EXPECT_THAT(converted.report.at("baseline").at("why_not").get<std::string>(),
              HasSubstr("is a data directory"));
}

// Day 2 has users u10 to u39: of the ten new ones nine find a free row.
TEST_F(OwnData, DictionariesGrowByTomorrowsTokens) {
  const Flags day2 = {Data("day2.csv"), "--load", "--grow_dictionaries"};
  const auto id_of = [&](const std::string& model, const std::string& user) {
    const ProcessResult inspected =
        RunCommand({.arguments = {ROWHOUSE_BINARY, "ckpt", "inspect", "user", user, "--json",
                                  "--model_dir=" + dir_ / model}});
    EXPECT_EQ(inspected.exit_code, 0) << inspected.Describe();
    return nlohmann::json::parse(inspected.out, nullptr, false).at("id").get<uint64_t>();
  };
  ASSERT_TRAINED(TrainIn("whole", 1, {Data("day1.csv")}));
  const auto before = DataFilesOf("whole");
  const uint64_t old_id = id_of("whole", "u12");
  const TrainResult whole = TrainIn("whole", 1, day2);
  ASSERT_TRAINED(whole);
  EXPECT_THAT(whole.out, HasSubstr("the dictionary of column \"user\" grew from 30 to 39 tokens; "
                                   "its table of 40 rows has none for 1 more"));
  EXPECT_NE(DataFilesOf("whole"), before);
  EXPECT_EQ(id_of("whole", "u12"), old_id);
  std::set<uint64_t> rows_of_new;
  for (int user = 30; user < 40; ++user)
    rows_of_new.insert(id_of("whole", fmt::format("u{}", user)));
  EXPECT_EQ(rows_of_new.size(), 10u);
  EXPECT_EQ(*rows_of_new.begin(), 0u);  // the row of rare tokens
  EXPECT_EQ(*rows_of_new.rbegin(), 39u);

  // The same in parts, by another plan; a save has the dictionary that it was trained with.
  const Flags plan = {"--strategy=table_wise_lpt"};
  ASSERT_TRAINED(TrainIn("parts", 1, plan + Flags{Data("day1.csv")}));
  ASSERT_TRAINED(TrainIn("parts", 1, plan + day2 + Flags{"--stop_after_steps=4"}));
  EXPECT_EQ(DataFilesOf("parts"), DataFilesOf("whole"));
  const TrainResult rest = TrainIn("parts", 1, plan + Flags{Data("day2.csv"), "--load"});
  ASSERT_TRAINED(rest);
  EXPECT_EQ(rest.digest, whole.digest);
  EXPECT_EQ(DataFilesOf("parts"), DataFilesOf("whole"));

  // Converted data, too, and only where it is asked for.
  ASSERT_TRAINED(TrainIn("model", 1, {Data("day1.csv")}));
  const ProcessResult converted = Convert({dir_ / "day2.csv", "--out=" + dir_ / "day2",
                                           "--model_dir=" + dir_ / "model", "--grow_dictionaries"});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  const TrainResult refused = TrainIn("model", 1, {Data("day2"), "--load"});
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  const TrainResult taken = TrainIn("model", 1, {Data("day2"), "--load", "--grow_dictionaries"});
  ASSERT_TRAINED(taken);
  EXPECT_EQ(taken.digest, whole.digest);
}

// The text, its binary form and its compressed form have the same content.
TEST_F(OwnData, ConvertedDataGoOnWhereTheirTextStopped) {
  const TrainResult whole = TrainIn("whole", 1, {Data("day1.csv")});
  ASSERT_TRAINED(whole);
  ASSERT_TRAINED(TrainIn("parts", 1, {Data("day1.csv"), "--stop_after_steps=6"}));
  const ProcessResult converted =
      Convert({dir_ / "day1.csv", "--out=" + dir_ / "day1", "--model_dir=" + dir_ / "parts"});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  const TrainResult rest = TrainIn("parts", 1, {Data("day1"), "--load"});
  ASSERT_TRAINED(rest);
  EXPECT_THAT(rest.out, HasSubstr("on the same data: at sample 120 of epoch 0"));
  EXPECT_EQ(rest.digest, whole.digest);
}

TEST_F(OwnData, DataThatWereMappedOtherwiseAreRefused) {
  ASSERT_TRAINED(TrainIn("model", 1, {Data("day1.csv"), "--stop_after_steps=6"}));
  const ProcessResult converted =
      Convert({dir_ / "day2.csv", "--out=" + dir_ / "day2", "--config=" + dir_ / "my.yaml"});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  const TrainResult refused = TrainIn("model", 1, {Data("day2"), "--load"});
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, AllOf(HasSubstr("were not mapped as the data of the model"),
                                 HasSubstr("rowhouse data convert FILE --out=DIR --model_dir=")));
  std::string other = kOwnDataConfig;
  other.replace(other.find("rare_row: true"), 14, "min_count: 2");
  Write("my.yaml", other);
  const TrainResult schema = TrainIn("model", 1, {Data("day2.csv"), "--load"});
  EXPECT_EQ(schema.exit_code, 2) << schema.Describe();
  EXPECT_THAT(schema.err, AllOf(HasSubstr("section schema"), HasSubstr("min_count=\"2\""),
                                HasSubstr("rare_row=\"true\"")));
}

TEST_F(OwnData, APreparedTextIsKeptInACacheAndOtherwiseNot) {
  const Flags cache = {"--data_cache=" + dir_ / "cache"};
  const TrainResult first = TrainIn("a", 2, Flags{Data("day1.csv")} + cache);
  ASSERT_TRAINED(first);
  const auto count = [&](const std::string& name) {
    return std::distance(fs::directory_iterator(dir_ / name), fs::directory_iterator());
  };
  EXPECT_EQ(count("cache"), 2) << "a data directory and its lock";
  const TrainResult second = TrainIn("b", 2, Flags{Data("day1.csv")} + cache);
  ASSERT_TRAINED(second);
  EXPECT_EQ(count("cache"), 2);
  EXPECT_EQ(second.digest, first.digest);

  TrainRun run{.ranks = 3, .flags = {"--config=" + dir_ / "my.yaml", "--ps=1", Data("day1.csv")}};
  const ProcessResult without = RunCommand(CommandOf(run));
  ASSERT_EQ(without.exit_code, 0) << without.Describe();
  EXPECT_THAT(without.out, HasSubstr("rows digest: " + first.digest));
  EXPECT_EQ(count("tmp"), 0);
}

// One label is another; size and time of change are as before.
TEST_F(OwnData, AChangedFileOfEqualSizeAndTimeIsNotTakenFromTheCache) {
  const Flags cache = {"--data_cache=" + dir_ / "cache", Data("day1.csv")};
  const TrainResult before = TrainIn("a", 1, cache);
  ASSERT_TRAINED(before);
  const std::string path = dir_ / "day1.csv";
  const auto time = fs::last_write_time(path);
  std::string text = Samples(300, 1);
  text[text.size() - 2] = text[text.size() - 2] == '0' ? '1' : '0';
  Write("day1.csv", text);
  fs::last_write_time(path, time);
  const TrainResult after = TrainIn("b", 1, cache);
  ASSERT_TRAINED(after);
  EXPECT_NE(after.digest, before.digest);
}

TEST_F(OwnData, AConvertedDirectoryIsHeldAgainstTheSchema) {
  const ProcessResult converted =
      Convert({dir_ / "day1.csv", "--out=" + dir_ / "day1", "--config=" + dir_ / "my.yaml"});
  ASSERT_EQ(converted.exit_code, 0) << converted.Describe();
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string other = kOwnDataConfig;
    other.replace(other.find(from), from.size(), to);
    Write("my.yaml", other);
    const TrainResult refused = TrainIn("model", 1, {Data("day1")});
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    return refused.err;
  };
  EXPECT_THAT(refusal("transform: standardise", "transform: log1p"),
              AllOf(HasSubstr("made with another schema than the config's"),
                    HasSubstr("\"x\" has transform \"standardise\" in the data and \"log1p\" in")));
  EXPECT_THAT(refusal("label: {column: label}", "label: {column: label, rule: \"== 0\"}"),
              HasSubstr("\"label\" has compare \"\" in the data and \"==\" in the config"));
  EXPECT_THAT(refusal("rare_row: true", "rare_row: true, min_count: 2"),
              HasSubstr("\"user\" has min_count 1 in the data and 2 in the config"));
}

TEST_F(OwnData, ADictionaryLargerThanItsTableIsTold) {
  std::string small = kOwnDataConfig;
  small.replace(small.find("rows: 40"), 8, "rows: 21");
  Write("my.yaml", small);
  const TrainResult told = TrainIn("model", 1, {Data("day1.csv")});
  ASSERT_TRAINED(told);
  EXPECT_THAT(told.out, HasSubstr("the table of column \"user\" has 21 rows, and its dictionary "
                                  "needs 31: 10 of 30 tokens"));
}

// The model knows its config, which leaves out what it does not know.
TEST_F(OwnData, ANightlyCommandNeedsNoConfigAndTakesANewColumn) {
  std::string config = kOwnDataConfig;
  config.replace(config.find("tables:"), 0, "  ignored: \"*\"\n");
  Write("my.yaml", config);
  ASSERT_TRAINED(TrainIn("model", 1, {Data("day1.csv")}));
  std::string text = Samples(210, 2);
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 3)) {
    text.insert(at, ",z");
  }
  Write("day2.csv", text);
  const Flags load = {"--load", "--model_dir=" + dir_ / "model"};
  const TrainResult next =
      Train({.ranks = 0, .flags = load + Flags{Data("day2.csv"), "--shards=2"}});
  ASSERT_TRAINED(next);
  EXPECT_EQ(next.report.at("totals").at("samples"), 210);
  const auto refusal = [](const Flags& arguments) {
    const ProcessResult refused = RunCommand({.arguments = Flags{ROWHOUSE_BINARY} + arguments});
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    return refused.err;
  };
  EXPECT_THAT(refusal({"predict", Data("day2.csv"), "--out=-"}), HasSubstr("needs --model_dir"));
  EXPECT_THAT(refusal({"train", "--load", Data("day2.csv")}),
              HasSubstr("--load needs --model_dir"));
  EXPECT_THAT(refusal({"train", "--model_dir=" + dir_ / "toy"}),
              HasSubstr("nothing says what to train. For instance:"));
}

TEST_F(OwnData, ABrokenLineIsNamedByOneMessage) {
  Write("day1.csv", "user,x,tags,label\nu1,1,a,1\nu2,two,b,0\n");
  const TrainResult broken = TrainIn("model", 2, {Data("day1.csv")});
  EXPECT_EQ(broken.exit_code, 2) << broken.Describe();
  EXPECT_THAT(broken.err, HasSubstr("day1.csv:3:4: "));
  EXPECT_FALSE(fs::exists(dir_ / "model"));
  Write("day1.csv", Samples(30, 1) + "u2,two,b,0\n");
  const TrainResult left_out = TrainIn("model", 2, {Data("day1.csv"), "--max_bad_lines=1"});
  ASSERT_TRAINED(left_out);
  EXPECT_THAT(left_out.out, HasSubstr("1 bad line was left out; the first: "));
  EXPECT_EQ(left_out.report.at("totals").at("samples"), 30);
}

TEST_F(OwnData, TestFilesOfTheirOwnAreTested) {
  const TrainResult tested =
      TrainIn("model", 2, {Data("day1.csv"), "--test_data=" + dir_ / "day2.csv"});
  ASSERT_TRAINED(tested);
  EXPECT_EQ(tested.report.at("totals").at("samples"), 300);
  EXPECT_EQ(tested.report.at("evaluations").at(0).at("samples"), 210);
}

// Quantiles of day 1, for text and what was converted, any workers and shards, and day 2.
TEST_F(OwnData, BucketsAndCrossesAreThoseOfTheModel) {
  std::string config = kOwnDataConfig;
  const auto add = [&config](const std::string& where, const std::string& what) {
    config.insert(config.find(where), what);
  };
  add("tables:",
      "    - {name: xs, of: x, edges: quantiles(4)}\n"
      "    - {name: tags_xs, cross: [tags, xs]}\n");
  add("{name: tags, rows", "{name: xs, rows: 5}, {name: tags_xs, rows: 30}, ");
  Write("my.yaml", config);
  const TrainResult text = TrainIn("text", 1, {Data("day1.csv")});
  ASSERT_TRAINED(text);
  const ProcessResult converted =
      Convert({"--config=" + dir_ / "my.yaml", dir_ / "day1.csv", "--out=" + dir_ / "day1.data"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  for (const uint32_t workers : {1u, 3u}) {
    const std::string name = fmt::format("converted{}", workers);
    const TrainResult same = TrainIn(name, workers, {Data("day1.data"), "--shards=3"});
    ASSERT_TRAINED(same);
    EXPECT_EQ(same.losses.size(), text.losses.size());
    if (workers > 1) continue;
    EXPECT_EQ(same.digest, text.digest);
  }
  const auto files = DataFilesOf("text");
  ASSERT_TRAINED(TrainIn("text", 1, {Data("day2.csv"), "--load"}));
  EXPECT_EQ(DataFilesOf("text"), files);

  ASSERT_EQ(
      Convert({"--model_dir=" + dir_ / "text", dir_ / "day2.csv", "--out=" + dir_ / "day2.data"})
          .exit_code,
      0);
  std::set<std::string> outcomes;
  for (const char* data : {"day2.csv", "day2.data"}) {
    const ProcessResult eval = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "eval", "--model_dir=" + dir_ / "text", Data(data)}});
    ASSERT_EQ(eval.exit_code, 0) << eval.err;
    outcomes.insert(eval.out.substr(eval.out.find("AUC"), 30));
  }
  EXPECT_EQ(outcomes.size(), 1u) << *outcomes.begin() << " and " << *outcomes.rbegin();

  config.replace(config.find("quantiles(4)"), 12, "quantiles(3)");
  Write("my.yaml", config);
  const TrainResult other = TrainIn("other", 1, {Data("day1.data")});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("\"xs\" has edges \"quantiles(4)\" in the data"));
}

}  // namespace
}  // namespace rowhouse
