// Scores of a model whose files are not its own, or not as they were saved: there are none.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/durable_file.h"
#include "launch/model/manifest.h"
#include "ps/store/directory_state.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two runs of as many steps, whose rates differ, and what `eval` says of the first.
class ForeignFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(TrainInto("model", {}).exit_code, 0);
    ASSERT_EQ(TrainInto("sibling", {"--learning_rate=0.5"}).exit_code, 0);
    const ProcessResult evaluated = Run({"eval"});
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.Describe();
    fs::copy(dir_ / "model", dir_ / "kept", fs::copy_options::recursive);
  }

  TrainResult TrainInto(const std::string& name, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--arch_embedding_size=400-40", "--arch_sparse_feature_size=8",
                                 "--arch_mlp_bot=5-8", "--arch_mlp_top=8-1", "--mini_batch_size=40",
                                 "--learning_rate=0.1", "--loss_function=bce", "--shards=2",
                                 "--threads=1", "--data_generation=synthetic", "--data_size=800",
                                 "--synthetic_test_samples=300", "--model_dir=" + dir_ / name});
    return Train({.flags = std::move(flags)});
  }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir_ / "model");
    return RunCommand({.arguments = std::move(arguments)});
  }

  void PutBack() {
    fs::remove_all(dir_ / "model");
    fs::copy(dir_ / "kept", dir_ / "model", fs::copy_options::recursive);
  }

  // Every file of the model but what nobody reads.
  std::vector<std::string> FilesOfModel() {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "kept")) {
      const std::string name = entry.path().filename();
      if (!entry.is_regular_file() || name.starts_with("LOG") || name == "LOCK" ||
          name == "run.lock" || name == "report.json" || name == "report.html" ||
          name == "written_rows" || name == "IDENTITY" || name.starts_with("OPTIONS") ||
          name.starts_with("push") || name.starts_with(".")) {
        continue;
      }
      files.push_back(entry.path().lexically_relative(dir_ / "kept"));
    }
    std::ranges::sort(files);
    return files;
  }

  TempDir dir_;
};

TEST_F(ForeignFiles, NoFileOfASiblingIsTaken) {
  int refused = 0;
  for (const std::string& file : FilesOfModel()) {
    SCOPED_TRACE(file);
    if (!fs::exists(dir_ / "sibling/" + file)) continue;
    fs::copy_file(dir_ / "sibling/" + file, dir_ / "model/" + file,
                  fs::copy_options::overwrite_existing);
    // Bytes that are equal in both are no other file's.
    const bool is_same =
        ReadFile(dir_ / "kept/" + file).value() == ReadFile(dir_ / "model/" + file).value();
    if (!file.starts_with("curve-")) {  // It decides no score.
      const ProcessResult evaluated = Run({"eval"});
      EXPECT_EQ(evaluated.exit_code == 0, is_same) << evaluated.Describe();
    }
    const ProcessResult verified = Run({"ckpt", "verify"});
    EXPECT_EQ(verified.exit_code == 0, is_same) << verified.Describe();
    refused += verified.exit_code != 0 ? 1 : 0;
    PutBack();
  }
  EXPECT_GE(refused, 9);
}

// Some bytes decide nothing, as the last line feed of a JSON file: then the scores are the same.
TEST_F(ForeignFiles, AFileThatIsGoneOrCutIsRefusedOrDecidesNothing) {
  const auto scores = [this] { return Run({"predict", "--out=-"}); };
  const std::string whole = scores().out;
  ASSERT_NE(whole, "");
  int refused = 0;
  for (const std::string& file : FilesOfModel()) {
    for (const bool is_cut : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", file, is_cut ? "cut" : "gone"));
      const std::string path = dir_ / "model/" + file;
      const std::string bytes = ReadFile(path).value();
      fs::remove(path);
      if (is_cut) std::ofstream(path) << bytes.substr(0, bytes.size() / 2);
      const ProcessResult scored = scores();
      EXPECT_EQ(scored.signal, 0);
      EXPECT_EQ(scored.out, scored.exit_code == 0 ? whole : "") << scored.Describe();
      refused += scored.exit_code != 0 ? 1 : 0;
      // RocksDB's log is empty and is not needed.
      if (!file.ends_with(".log")) {
        const ProcessResult verified = Run({"ckpt", "verify"});
        EXPECT_NE(verified.exit_code, 0) << verified.Describe();
      }
      PutBack();
    }
  }
  EXPECT_GE(refused, 20);
}

TEST_F(ForeignFiles, RowsOfABranchOfTheModelAreRefused) {
  // The same model, going on for as many steps from the same place at two rates.
  ASSERT_EQ(TrainInto("model", {"--load", "--nepochs=2", "--learning_rate=0.5"}).exit_code, 0);
  fs::rename(dir_ / "model", dir_ / "branch");
  PutBack();
  ASSERT_EQ(TrainInto("model", {"--load", "--nepochs=2"}).exit_code, 0);
  ASSERT_EQ(Run({"eval"}).exit_code, 0);
  fs::remove_all(dir_ / "model/rows");
  fs::copy(dir_ / "branch/rows", dir_ / "model/rows", fs::copy_options::recursive);
  const ProcessResult evaluated = Run({"eval"});
  EXPECT_NE(evaluated.exit_code, 0) << evaluated.Describe();
  EXPECT_THAT(evaluated.err, HasSubstr("holds other rows than the manifest names"));
  const TrainResult loaded = TrainInto("model", {"--load", "--nepochs=3"});
  EXPECT_NE(loaded.exit_code, 0);
  EXPECT_THAT(loaded.err, HasSubstr("holds other rows than the manifest"));
}

// Every value is changed in tests/launch/changed_values_test.cc, by function; here a choice of
// them, each for another verb.
TEST_F(ForeignFiles, NoVerbTakesAChangedValue) {
  const std::vector<std::vector<std::string>> verbs = {
      {"eval"},
      {"predict", "--out=" + dir_ / "scores"},
      {"ckpt", "export", "--out=" + dir_ / "export"},
      {"train", "--load", "--nepochs=2"},
      {"ckpt", "verify"}};
  size_t changed = 0;
  for (const std::string name : {"manifest.json", "config.yaml"}) {
    const std::string text = ReadFile(dir_ / "model/" + name).value();
    std::istringstream lines(text);
    size_t line_number = 0;
    for (std::string line; std::getline(lines, line);) {
      const size_t colon = line.find(": ");
      const bool is_value = colon != line.npos && !line.ends_with("[") && !line.ends_with("{");
      if (!is_value || ++line_number % 7 != 1) continue;
      std::string other = text;
      other.replace(text.find(line), line.size(),
                    line.substr(0, colon + 2) + "7" + (line.ends_with(",") ? "," : ""));
      if (other == text) continue;
      std::ofstream(dir_ / "model/" + name) << other;
      const ProcessResult refused = Run(verbs[changed++ % verbs.size()]);
      EXPECT_NE(refused.exit_code, 0) << line << refused.Describe();
      EXPECT_EQ(refused.signal, 0);
      EXPECT_THAT(refused.err + refused.out, HasSubstr(name)) << line << refused.Describe();
      EXPECT_FALSE(fs::exists(dir_ / "scores"));
      EXPECT_FALSE(fs::exists(dir_ / "export"));
      PutBack();
    }
  }
  EXPECT_GT(changed, 20u);
}

// The manifest of a checkpoint names its parts, whoever reads it.
TEST_F(ForeignFiles, APartOfABranchOfTheModelIsRefused) {
  const std::vector<std::string> saves = {"--load", "--nepochs=2", "--save_every=30"};
  auto branch = saves;
  branch.push_back("--learning_rate=0.5");
  ASSERT_EQ(TrainInto("model", branch).exit_code, 0);
  fs::rename(dir_ / "model", dir_ / "branch");
  PutBack();
  ASSERT_EQ(TrainInto("model", saves).exit_code, 0);
  const std::string checkpoint = dir_ / "model/checkpoints/step-30";
  const std::string part = "rows/checkpoints/step-30/shard-0000";
  const auto evaluated = [&] {
    return RunCommand({.arguments = {ROWHOUSE_BINARY, "eval", "--model_dir=" + checkpoint}});
  };
  ASSERT_EQ(evaluated().exit_code, 0) << evaluated().Describe();
  EXPECT_THAT(evaluated().err, HasSubstr("no model digest, as it was saved without a rows digest"));
  EXPECT_THAT(Run({"ckpt", "verify"}).out, HasSubstr("computed now"));
  fs::remove_all(dir_ / "model/" + part);
  fs::copy(dir_ / "branch/" + part, dir_ / "model/" + part, fs::copy_options::recursive);
  const ProcessResult refused = evaluated();
  EXPECT_EQ(refused.exit_code, 1) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("step-30/shard-0000 is not the part that was made"));
}

// Whoever takes another save in its place says so.
TEST_F(ForeignFiles, ACheckpointWithoutItsManifestIsNamed) {
  ASSERT_EQ(TrainInto("model", {"--load", "--nepochs=2", "--save_every=30", "--keep=1"}).exit_code,
            0);
  fs::remove(dir_ / "model/checkpoints/step-40/manifest.json");
  const std::string said = "step-40 is not whole, and left out: its manifest.json is gone";
  const ProcessResult evaluated = Run({"eval"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.Describe();
  EXPECT_THAT(evaluated.err, HasSubstr(said));
  EXPECT_THAT(Run({"ckpt", "verify"}).out, HasSubstr("its manifest.json is gone"));
  const TrainResult loaded = TrainInto("model", {"--load", "--nepochs=3"});
  EXPECT_EQ(loaded.exit_code, 0);
  EXPECT_THAT(loaded.err, HasSubstr(said));
}

// MovieLens' ids of pairs depend on the movies of the data that the model was trained on.
TEST_F(ForeignFiles, MoviesBesideTheScoredFileMoveNoIds) {
  std::string ratings;
  for (int i = 0; i < 400; ++i) {
    const int user = i % 20 + 1, movie = i * 7 % 30 + 1;
    ratings += fmt::format("{}::{}::{}::{}\n", user, movie, (user * movie) % 5 + 1, 900 + i);
  }
  fs::create_directory(dir_ / "ml");
  ASSERT_OK(WriteFileDurably(dir_ / "ml/ratings.dat", ratings));
  const std::string movies = "1::One (1987)::Drama\n30::Thirty (1999)::Comedy\n";
  ASSERT_OK(WriteFileDurably(dir_ / "ml/movies.dat", movies));
  ASSERT_OK(WriteFileDurably(dir_ / "ml.yaml",
                             "model: {arch_sparse_feature_size: 4, arch_mlp_bot: 1-4,"
                             " arch_mlp_top: 8-1, loss_function: bce}\n"
                             "training: {learning_rate: 0.3, mini_batch_size: 10, nepochs: 5}\n"
                             "schema: {format: movielens, label: {column: rating, rule: \">= 4\"},"
                             " categorical: [{name: user_item, token: integer, ids: modulo}]}\n"
                             "tables: {list: [{name: user_item, rows: 600}]}\n"));
  const ProcessResult trained = RunCommand(
      {.arguments = {ROWHOUSE_BINARY, "train", "--config=" + dir_ / "ml.yaml",
                     "--data=" + dir_ / "ml/ratings.dat", "--model_dir=" + dir_ / "movies"}});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const auto scores = [&] {
    return RunCommand({.arguments = {ROWHOUSE_BINARY, "predict", "--model_dir=" + dir_ / "movies",
                                     "--data=" + dir_ / "ml/ratings.dat", "--out=-"}});
  };
  const ProcessResult before = scores();
  ASSERT_EQ(before.exit_code, 0) << before.Describe();
  ASSERT_OK(WriteFileDurably(dir_ / "ml/movies.dat", movies + "77::New (2020)::Drama\n"));
  EXPECT_EQ(scores().out, before.out) << scores().Describe();
  fs::remove(dir_ / "ml/movies.dat");
  EXPECT_EQ(scores().out, before.out) << scores().Describe();
}

TEST_F(ForeignFiles, SettingsThatWouldChangeScoresAreRefusedByName) {
  const ProcessResult evaluated = Run({"eval", "--arch_interaction_op=cat"});
  EXPECT_EQ(evaluated.exit_code, 2) << evaluated.Describe();
  EXPECT_THAT(evaluated.err, HasSubstr("arch_interaction_op"));
  EXPECT_EQ(Run({"eval", "--threads=2"}).exit_code, 0);
}

TEST_F(ForeignFiles, TheModelDigestIsEqualOverPlansAndNamedByEveryReader) {
  const auto digest_of = [this](const std::string& model) {
    const ProcessResult result = RunCommand(
        {.arguments = {ROWHOUSE_BINARY, "eval", "--json", "--model_dir=" + dir_ / model}});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return nlohmann::json::parse(result.out).at("model_digest").get<std::string>();
  };
  const std::string digest = digest_of("model");
  EXPECT_EQ(digest.size(), 32u);
  ASSERT_EQ(TrainInto("whole", {"--strategy=table_wise_lpt"}).exit_code, 0);
  ASSERT_EQ(TrainInto("replicated", {"--strategy=replicated"}).exit_code, 0);
  EXPECT_EQ(digest_of("whole"), digest);
  EXPECT_EQ(digest_of("replicated"), digest);
  EXPECT_NE(digest_of("sibling"), digest);
  EXPECT_THAT(Run({"predict", "--out=" + dir_ / "scores"}).err,
              HasSubstr("model digest " + digest));
  const ProcessResult exported = Run({"ckpt", "export", "--stored", "--out=" + dir_ / "export"});
  EXPECT_THAT(exported.out, HasSubstr("model digest " + digest)) << exported.Describe();
  const ProcessResult verified = Run({"ckpt", "verify"});
  EXPECT_EQ(verified.exit_code, 0) << verified.Describe();
  EXPECT_THAT(verified.out, HasSubstr("model digest " + digest));
  EXPECT_THAT(TrainInto("model", {"--load", "--nepochs=2"}).out,
              HasSubstr("model digest " + digest));

  // No byte of an export is read that is not as it was written.
  ASSERT_EQ(RunCommand({.arguments = {ROWHOUSE_BINARY, "eval", "--rows=" + dir_ / "export",
                                      "--model_dir=" + dir_ / "kept"}})
                .exit_code,
            0);
  for (const auto& entry : fs::directory_iterator(dir_ / "export")) {
    if (!entry.path().filename().string().starts_with("table-")) continue;
    std::string bytes = ReadFile(entry.path()).value();
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(entry.path()) << bytes;
    const ProcessResult mapped =
        RunCommand({.arguments = {ROWHOUSE_BINARY, "eval", "--rows=" + dir_ / "export",
                                  "--model_dir=" + dir_ / "kept"}});
    EXPECT_NE(mapped.exit_code, 0);
    EXPECT_THAT(mapped.err, HasSubstr(entry.path().filename().string()));
    break;
  }
}

TEST_F(ForeignFiles, VerifyNamesFileTableAndShardAndACompactedModelIsWhole) {
  EXPECT_EQ(Run({"ckpt", "compact"}).exit_code, 0);
  const ProcessResult verified = Run({"ckpt", "verify"});
  EXPECT_EQ(verified.exit_code, 0) << verified.Describe();
  EXPECT_THAT(verified.out, HasSubstr("whole: step 20"));
  std::string file;
  for (const auto& entry : fs::directory_iterator(dir_ / "model/rows/shard-0001/rows")) {
    if (entry.path().extension() == ".sst") file = entry.path();
  }
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(30);
  bytes.put('!');
  bytes.close();
  const ProcessResult damaged = Run({"ckpt", "verify"});
  EXPECT_EQ(damaged.exit_code, 1) << damaged.Describe();
  EXPECT_THAT(damaged.out,
              testing::AllOf(HasSubstr("shard 1"), HasSubstr(file), HasSubstr("table")));
}

// A manifest without digests of files, rows and itself could name any tables.
TEST_F(ForeignFiles, AModelOfAnEarlierVersionIsRefused) {
  auto json = nlohmann::json::parse(ReadFile(dir_ / "model/manifest.json").value());
  json.erase("xxh3_128_of_the_above");
  json["format_version"] = 2;
  ASSERT_OK(WriteFileDurably(dir_ / "model/manifest.json", json.dump(1) + "\n"));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"eval"}, {"ckpt", "compact"}, {"train", "--load", "--nepochs=2"}}) {
    const ProcessResult refused = Run(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_THAT(refused.err, HasSubstr("is of an earlier build"));
  }
}

// What a kill leaves: neither the manifest nor the shard's directory says which rows these are.
TEST_F(ForeignFiles, ACompactionThatWasCutOffLosesNothingAndTakesNoOtherRows) {
  Manifest manifest = ReadManifest(dir_ / "model").value();
  ASSERT_FALSE(manifest.shards[0].stamp.empty());
  manifest.shards[0].stamp.clear();
  ASSERT_OK(WriteManifest(dir_ / "model", manifest));
  const std::string shard = dir_ / "model/rows/shard-0000";
  ASSERT_OK(WriteState(shard, {.is_clean = true, .step = 20}));
  const auto expect_refused = [&] {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"eval"}, {"ckpt", "stats"}, {"ckpt", "export", "--out=" + dir_ / "export"}}) {
      const ProcessResult refused = Run(command);
      EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
      EXPECT_THAT(refused.err, HasSubstr("as ckpt compact was cut off; run rowhouse ckpt compact"));
    }
    EXPECT_EQ(TrainInto("model", {"--load", "--nepochs=2"}).exit_code, 2);
  };
  expect_refused();
  EXPECT_EQ(Run({"ckpt", "verify"}).exit_code, 0) << "by the rows digest";
  fs::rename(shard, dir_ / "mine");
  fs::copy(dir_ / "mine", shard, fs::copy_options::recursive);
  fs::remove_all(shard + "/rows");
  const auto over = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
  fs::copy(dir_ / "sibling/rows/shard-0000/rows", shard + "/rows", over);
  fs::copy(dir_ / "sibling/rows/shard-0000/STATE.json", shard + "/STATE.json", over);
  expect_refused();
  EXPECT_EQ(Run({"ckpt", "verify"}).exit_code, 1);
  const ProcessResult compacted = Run({"ckpt", "compact"});
  EXPECT_EQ(compacted.exit_code, 1) << compacted.Describe();
  EXPECT_THAT(compacted.err, HasSubstr("the digest of all rows is"));
  expect_refused();
  fs::remove_all(shard);
  fs::rename(dir_ / "mine", shard);
  const ProcessResult again = Run({"ckpt", "compact"});
  EXPECT_EQ(again.exit_code, 0) << again.Describe();
  EXPECT_EQ(Run({"eval"}).exit_code, 0);
  EXPECT_EQ(Run({"ckpt", "verify"}).exit_code, 0);

  // Of a run that was killed before it had the digest of its rows.
  Manifest undigested = ReadManifest(dir_ / "model").value();
  undigested.rows_digest.clear();
  ASSERT_OK(WriteManifest(dir_ / "model", undigested));
  EXPECT_EQ(Run({"ckpt", "compact"}).exit_code, 0);
  EXPECT_EQ(ReadManifest(dir_ / "model").value().rows_digest, manifest.rows_digest);
}

}  // namespace
}  // namespace rowhouse
