// Scores of a model whose files are not its own, or not as they were saved: there are none.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/digest.h"
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

TEST_F(ForeignFiles, NoLineOfTheConfigCanBeChanged) {
  const std::string text = ReadFile(dir_ / "model/config.yaml").value();
  std::istringstream lines(text);
  int changed = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == line.npos || line.find_first_not_of(' ') == colon || line.find('#') < colon) {
      continue;
    }
    std::string other = text;
    other.replace(text.find(line), line.size(), line.substr(0, colon + 2) + "7");
    if (other == text || ++changed % 7 != 1) continue;  // A covering choice of them.
    std::ofstream(dir_ / "model/config.yaml") << other;
    const ProcessResult evaluated = Run({"eval"});
    EXPECT_NE(evaluated.exit_code, 0) << line << evaluated.Describe();
    EXPECT_THAT(evaluated.err, HasSubstr("config.yaml")) << line;
  }
  EXPECT_GT(changed, 20);
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

// As version 2 listed its files. It names no rows, and compacting them changes nothing in it.
TEST_F(ForeignFiles, AnOlderModelIsReadAndCompacted) {
  const Manifest manifest = ReadManifest(dir_ / "model").value();
  auto json = nlohmann::json::parse(ReadFile(dir_ / "model/manifest.json").value());
  const auto digest_64 = [this](const ModelFile& file) {
    Digester digester;
    digester.Add(ReadFile(dir_ / "model/" + file.file).value());
    return digester.hex_64();
  };
  for (const char* key : {"xxh3_128_of_the_above", "files", "dense_digest"}) json.erase(key);
  json["format_version"] = 2;
  json["dense"] = {{"file", manifest.dense.file},
                   {"floats", manifest.dense.bytes / sizeof(float)},
                   {"xxh3_64", digest_64(manifest.dense)}};
  json["curve"] = {{"file", manifest.curve.file}, {"xxh3_64", digest_64(manifest.curve)}};
  for (auto& shard : json["shards"]) shard.erase("rows_xxh3_128");
  const std::string older = json.dump(1) + "\n";
  ASSERT_OK(WriteFileDurably(dir_ / "model/manifest.json", older));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"eval"}, {"ckpt", "compact"}, {"eval"}, {"ckpt", "verify"}}) {
    const ProcessResult result = Run(command);
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
  }
  EXPECT_EQ(ReadFile(dir_ / "model/manifest.json").value(), older);
  EXPECT_EQ(TrainInto("model", {"--load", "--nepochs=2"}).exit_code, 0);
}

// What a kill leaves: neither the manifest nor the shard's directory says which rows these are.
TEST_F(ForeignFiles, ACompactionThatWasCutOffLosesNothing) {
  Manifest manifest = ReadManifest(dir_ / "model").value();
  ASSERT_FALSE(manifest.shards[0].stamp.empty());
  manifest.shards[0].stamp.clear();
  ASSERT_OK(WriteManifest(dir_ / "model", manifest));
  ASSERT_OK(WriteState(dir_ / "model/rows/shard-0000", {.is_clean = true, .step = 20}));
  const ProcessResult evaluated = Run({"eval"});
  EXPECT_EQ(evaluated.exit_code, 0);
  EXPECT_THAT(evaluated.err, HasSubstr("ckpt compact was cut off; run it again"));
  EXPECT_EQ(Run({"ckpt", "compact"}).exit_code, 0);
  EXPECT_FALSE(ReadManifest(dir_ / "model").value().shards[0].stamp.empty());
  EXPECT_THAT(Run({"eval"}).err, testing::Not(HasSubstr("cut off")));
  EXPECT_EQ(Run({"ckpt", "verify"}).exit_code, 0);
}

}  // namespace
}  // namespace rowhouse
