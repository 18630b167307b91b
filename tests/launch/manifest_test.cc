#include "launch/model/manifest.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "launch/model/saved_preprocessing.h"
#include "launch/report/training_history.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Manifest Example() {
  TableSpec table;
  table.name = "user";
  table.rows = 100;
  table.dim = 4;
  table.optimizer = "adagrad";
  table.initialiser = "npy";
  table.initialiser_options.file = "user.npy";
  table.initialiser_options.file_bytes = 1728;
  table.initialiser_options.file_xxh3 = "0123456789abcdef";
  Manifest manifest;
  manifest.model_id = "00112233445566778899aabbccddeeff";
  manifest.config_digest = "c0ffee";
  manifest.steps = 12;
  manifest.steps_per_epoch = 5;
  manifest.rows_digest = "00000000000000000000000000000001";
  manifest.tables = {table};
  manifest.plan = MakeRowWisePlan(manifest.tables, 2);
  manifest.shards = {{ShardId{0}, "a", "/rows/shard-0000"}, {ShardId{1}, "b", "/rows/shard-0001"}};
  return manifest;
}

const std::vector<float> kDense = {1.0f, -2.5f, 0.0f};

TEST(Manifest, ASavedModelIsReadAsItWasWritten) {
  const TempDir dir;
  const std::string model = dir / "model";
  EXPECT_FALSE(HasManifest(model));
  ASSERT_OK(SaveModel(model, Example(), kDense, "model: {}\n"));
  const Result<Manifest> read = ReadManifest(model);
  ASSERT_OK(read);
  EXPECT_EQ(read.value().model_id, Example().model_id);
  EXPECT_EQ(read.value().steps, 12u);
  EXPECT_EQ(read.value().tables, Example().tables) << "and what the file of first values was";
  EXPECT_EQ(read.value().plan.digest(), Example().plan.digest());
  EXPECT_EQ(read.value().shards.at(1).directory, "/rows/shard-0001");
  EXPECT_EQ(ReadDense(model, read.value()).value(), kDense);
  EXPECT_EQ(ReadFile(model + "/config.yaml").value(), "model: {}\n");
}

TEST(Manifest, SavingAgainLeavesOneDenseFile) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, ""));
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {}, ""));
  EXPECT_FALSE(std::filesystem::exists(dir / "dense-12.bin"));
  EXPECT_EQ(ReadDense(dir.path(), ReadManifest(dir.path()).value()).value(), std::vector<float>());
}

TEST(Manifest, FilesOfTheDataSourceAreListedByKind) {
  const TempDir dir;
  const DatasetState data = {.position = "7:40",
                             .files = {{.kind = "id_dictionary", .bytes = std::string("a\0b", 3)},
                                       {.kind = "scales", .bytes = ""}}};
  ASSERT_OK(WriteFileDurably(dir / "data-mine-1.txt", "mine"));
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, "", data));
  Manifest manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(manifest.files.at(0).kind, "id_dictionary");
  const std::string name = manifest.files.at(0).file;
  EXPECT_EQ(name, "data-id_dictionary-" + manifest.files.at(0).checksum + ".bin");
  EXPECT_EQ(manifest.files.at(0).bytes, 3u);
  EXPECT_EQ(ReadDatasetState(dir.path(), manifest).value(), data);

  ASSERT_OK(WriteFileDurably(dir / name, "a\nb"));
  EXPECT_THAT(ReadDatasetState(dir.path(), manifest).status().message(),
              testing::HasSubstr(name + " has 3 bytes and checksum"));

  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, kDense, ""));
  EXPECT_FALSE(std::filesystem::exists(dir / name));
  EXPECT_TRUE(std::filesystem::exists(dir / "data-mine-1.txt"));
  manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(ReadDatasetState(dir.path(), manifest).value(), DatasetState());
  const auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
  EXPECT_FALSE(json.contains("files") || json.contains("data_position"))
      << "manifests of sources that keep nothing are as they were";
}

TEST(Manifest, FilesGivenByPathAreLinkedAndSharedBySaves) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "words.bin", "one two"));
  const DatasetState data = {.files = {{.kind = "vocabulary_3", .path = dir / "words.bin"}}};
  ASSERT_OK(SaveModel(dir / "first", Example(), kDense, "", data));
  const Manifest manifest = ReadManifest(dir / "first").value();
  const std::string path = dir / "first/" + manifest.files.at(0).file;
  EXPECT_TRUE(std::filesystem::equivalent(path, dir / "words.bin"));
  const DatasetState read = ReadDatasetState(dir / "first", manifest).value();
  EXPECT_EQ(read.files, (std::vector<DatasetFile>{{.kind = "vocabulary_3", .path = path}}));

  // Saved from where it was loaded, in the same directory and in another.
  ASSERT_OK(SaveModel(dir / "first", Example(), kDense, "", read));
  ASSERT_OK(SaveModel(dir / "second", Example(), kDense, "", read));
  EXPECT_EQ(std::filesystem::hard_link_count(path), 3u);
  EXPECT_EQ(ReadFile(path).value(), "one two");

  ASSERT_OK(WriteFileDurably(path, "one_two"));
  EXPECT_THAT(ReadDatasetState(dir / "first", manifest).status().message(),
              testing::HasSubstr("has 7 bytes and checksum"));
}

TEST(Manifest, TheLearningCurveLiesBesideTheManifest) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, "", {}, "a curve"));
  Manifest manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(manifest.curve_file, "curve-12.json");
  EXPECT_EQ(ReadCurve(dir.path(), manifest).value(), "a curve");
  ASSERT_OK(WriteFileDurably(dir / "curve-12.json", "another"));
  EXPECT_EQ(ReadCurve(dir.path(), manifest).status().code(), StatusCode::kCorruption);
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, kDense, ""));
  EXPECT_FALSE(std::filesystem::exists(dir / "curve-12.json"));
  EXPECT_EQ(ReadCurve(dir.path(), ReadManifest(dir.path()).value()).value(), "");
}

TEST(Manifest, WhereTheDataBeganIsKept) {
  const TempDir dir;
  Manifest manifest = Example();
  manifest.data_first_step = 7;
  manifest.data_settings = "d";
  manifest.model_settings = "m";
  ASSERT_OK(SaveModel(dir.path(), manifest, kDense, ""));
  const Manifest read = ReadManifest(dir.path()).value();
  EXPECT_EQ(read.data_first_step, 7u);
  EXPECT_EQ(read.data_settings, "d");
  EXPECT_EQ(read.model_settings, "m");
  manifest.data_first_step = 13;  // after the step that it was saved at
  ASSERT_OK(SaveModel(dir.path(), manifest, kDense, ""));
  EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorruption);
}

TEST(Manifest, AFileOfTheDataSourceLiesBesideTheManifest) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, "", {.files = {{"scales", "1"}}}));
  for (const std::string name : {"../data-scales-1.bin", "data-other-1.bin", "data-scales-.bin"}) {
    auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
    json["files"][0]["file"] = name;
    ASSERT_OK(WriteFileDurably(dir / "manifest.json", json.dump()));
    EXPECT_THAT(ReadManifest(dir.path()).status().message(),
                testing::HasSubstr("files: \"" + name + "\" is of kind \"scales\""));
  }
}

TEST(Manifest, ChangedBytesOfTheDenseFileAreFound) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, ""));
  const Manifest manifest = ReadManifest(dir.path()).value();
  std::string bytes = ReadFile(dir / "dense-12.bin").value();
  bytes[5] ^= 1;
  ASSERT_OK(WriteFileDurably(dir / "dense-12.bin", bytes));
  EXPECT_THAT(ReadDense(dir.path(), manifest).status().message(),
              testing::HasSubstr("dense-12.bin has checksum"));
  ASSERT_OK(WriteFileDurably(dir / "dense-12.bin", bytes.substr(1)));
  EXPECT_THAT(ReadDense(dir.path(), manifest).status().message(),
              testing::HasSubstr("has 11 bytes"));
}

TEST(Manifest, WhatIsMissingNewerOrNoManifestIsSaidSo) {
  const TempDir dir;
  EXPECT_THAT(ReadManifest(dir.path()).status().message(),
              testing::HasSubstr("no model was saved"));
  EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kUsage);
  ASSERT_OK(WriteFileDurably(dir / "manifest.json", "{\"format_version\": 3}"));
  EXPECT_THAT(ReadManifest(dir.path()).status().message(),
              testing::HasSubstr("format version 3 is newer"));
  for (const std::string text : {"", "{}", "[]", "{\"format_version\": 1}"}) {
    ASSERT_OK(WriteFileDurably(dir / "manifest.json", text));
    EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorruption) << text;
  }
}

TEST(Manifest, ADenseFileElsewhereIsNeitherReadNorDeleted) {
  const TempDir dir;
  const std::string model = dir / "model";
  ASSERT_OK(WriteFileDurably(dir / "dense-1.bin", "mine"));
  for (const std::string name : {"../dense-1.bin", "/etc/passwd", "notes.txt", "dense-.bin", ""}) {
    ASSERT_OK(SaveModel(model, Example(), kDense, ""));
    auto json = nlohmann::json::parse(ReadFile(model + "/manifest.json").value());
    json["dense"]["file"] = name;
    ASSERT_OK(WriteFileDurably(model + "/manifest.json", json.dump()));
    EXPECT_THAT(ReadManifest(model).status().message(),
                testing::HasSubstr("dense.file is \"" + name + "\"; expected the name of a file"));
    ASSERT_OK(SaveModel(model, Example(), kDense, "")) << "over a damaged one";
  }
  EXPECT_EQ(ReadFile(dir / "dense-1.bin").value(), "mine");
}

TEST(Manifest, SavingKeepsWhatIsNotItsOwn) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "notes.txt", "mine"));
  ASSERT_OK(WriteFileDurably(dir / "dense-best.bin", "mine"));
  ASSERT_OK(SaveModel(dir.path(), Example(), kDense, ""));
  EXPECT_TRUE(std::filesystem::exists(dir / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(dir / "dense-best.bin"));
}

TEST(Manifest, JsonNestedWithoutEndIsCorruption) {
  const TempDir dir;
  ASSERT_OK(
      WriteFileDurably(dir / "manifest.json", "{\"format_version\": " + std::string(100000, '[')));
  EXPECT_THAT(ReadManifest(dir.path()).status().message(), testing::HasSubstr("nested"));
}

// A model directory as version 1 of the format wrote it, kept for ever: every later version has
// to read it. Never write these files anew.
TEST(Manifest, VersionOneIsStillRead) {
  const std::string model = std::string(ROWHOUSE_TEST_VECTORS) + "/model_v1";
  const Result<Manifest> read = ReadManifest(model);
  ASSERT_OK(read);
  EXPECT_EQ(read.value().model_id, Example().model_id);
  EXPECT_EQ(read.value().tables.at(0).name, "user");
  EXPECT_EQ(read.value().plan.digest(), "db4847b4ca451305");
  EXPECT_EQ(ReadDense(model, read.value()).value(), kDense);
}

// The same for version 2: a model of own data that went on with a second day.
TEST(Manifest, VersionTwoIsStillRead) {
  const std::string model = std::string(ROWHOUSE_TEST_VECTORS) + "/model_v2";
  const Result<Manifest> read = ReadManifest(model);
  ASSERT_OK(read);
  const Manifest& manifest = read.value();
  EXPECT_EQ(manifest.model_id, Example().model_id);
  EXPECT_EQ(manifest.steps, 33u);
  EXPECT_EQ(manifest.data_first_step, 15u);
  EXPECT_EQ(manifest.steps_per_epoch, 9u);
  EXPECT_EQ(ReadDense(model, manifest).value().size(), manifest.dense_floats);
  const DatasetState state = ReadDatasetState(model, manifest).value();
  ASSERT_EQ(state.files.size(), 2u);
  EXPECT_EQ(state.files[1].kind, "vocabulary_0");
  const auto preprocessing = OpenPreprocessing(model, manifest);
  ASSERT_OK(preprocessing);
  EXPECT_EQ(preprocessing.value()->schema().categorical.at(1).separator, "|");
  EXPECT_EQ(preprocessing.value()->tokens(0), 30u);
  const auto history = TrainingHistory::FromJsonText(ReadCurve(model, manifest).value());
  ASSERT_OK(history);
  EXPECT_EQ(history.value().runs.size(), 4u);
}

}  // namespace
}  // namespace rowhouse
