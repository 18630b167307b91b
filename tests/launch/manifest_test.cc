#include "launch/model/manifest.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/json_text.h"
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

// As a program that writes manifests would.
void WriteSealedManifest(const std::string& path, nlohmann::json json) {
  json.erase("xxh3_128_of_the_above");
  ASSERT_OK(WriteFileDurably(path, SealJson(json.dump(1) + "\n")));
}

const std::vector<float> kDense = {1.0f, -2.5f, 0.0f};

TEST(Manifest, ASavedModelIsReadAsItWasWritten) {
  const TempDir dir;
  const std::string model = dir / "model";
  EXPECT_FALSE(HasManifest(model));
  ASSERT_OK(SaveModel(model, Example(), {.dense = kDense, .config_yaml = "model: {}\n"}));
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
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {.dense = {}}));
  EXPECT_FALSE(std::filesystem::exists(dir / "dense-12.bin"));
  EXPECT_EQ(ReadDense(dir.path(), ReadManifest(dir.path()).value()).value(), std::vector<float>());
}

TEST(Manifest, FilesOfTheDataSourceAreListedByKind) {
  const TempDir dir;
  const DatasetState data = {.position = "7:40",
                             .files = {{.kind = "id_dictionary", .bytes = std::string("a\0b", 3)},
                                       {.kind = "scales", .bytes = ""}}};
  ASSERT_OK(WriteFileDurably(dir / "data-mine-1.txt", "mine"));
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense, .data = data}));
  Manifest manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(manifest.files.at(0).kind, "id_dictionary");
  const std::string name = manifest.files.at(0).file;
  EXPECT_EQ(name, "data-id_dictionary-" + manifest.files.at(0).digest + ".bin");
  EXPECT_EQ(manifest.files.at(0).bytes, 3u);
  EXPECT_EQ(ReadDatasetState(dir.path(), manifest).value(), data);

  ASSERT_OK(WriteFileDurably(dir / name, "a\nb"));
  EXPECT_THAT(ReadDatasetState(dir.path(), manifest).status().message(),
              testing::HasSubstr(name + " is not the file that was saved: its digest is"));

  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {.dense = kDense}));
  EXPECT_FALSE(std::filesystem::exists(dir / name));
  EXPECT_TRUE(std::filesystem::exists(dir / "data-mine-1.txt"));
  manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(ReadDatasetState(dir.path(), manifest).value(), DatasetState());
  const auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
  EXPECT_EQ(json.at("files").size(), 2u) << "config and dense part";
  EXPECT_FALSE(json.contains("data_position"));
}

TEST(Manifest, FilesGivenByPathAreLinkedAndSharedBySaves) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "words.bin", "one two"));
  const DatasetState data = {.files = {{.kind = "vocabulary_3", .path = dir / "words.bin"}}};
  ASSERT_OK(SaveModel(dir / "first", Example(), {.dense = kDense, .data = data}));
  const Manifest manifest = ReadManifest(dir / "first").value();
  const std::string path = dir / "first/" + manifest.files.at(0).file;
  EXPECT_TRUE(std::filesystem::equivalent(path, dir / "words.bin"));
  const DatasetState read = ReadDatasetState(dir / "first", manifest).value();
  EXPECT_EQ(read.files, (std::vector<DatasetFile>{{.kind = "vocabulary_3", .path = path}}));

  // Saved from where it was loaded, in the same directory and in another.
  ASSERT_OK(SaveModel(dir / "first", Example(), {.dense = kDense, .data = read}));
  ASSERT_OK(SaveModel(dir / "second", Example(), {.dense = kDense, .data = read}));
  EXPECT_EQ(std::filesystem::hard_link_count(path), 3u);
  EXPECT_EQ(ReadFile(path).value(), "one two");

  ASSERT_OK(WriteFileDurably(path, "one_two"));
  EXPECT_THAT(ReadDatasetState(dir / "first", manifest).status().message(),
              testing::HasSubstr("is not the file that was saved: its digest is"));
}

TEST(Manifest, TheLearningCurveLiesBesideTheManifest) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense, .curve = "a curve"}));
  Manifest manifest = ReadManifest(dir.path()).value();
  EXPECT_EQ(manifest.curve.file, "curve-12.json");
  EXPECT_EQ(ReadCurve(dir.path(), manifest).value(), "a curve");
  ASSERT_OK(WriteFileDurably(dir / "curve-12.json", "another"));
  EXPECT_EQ(ReadCurve(dir.path(), manifest).status().code(), StatusCode::kCorruption);
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {.dense = kDense}));
  EXPECT_FALSE(std::filesystem::exists(dir / "curve-12.json"));
  EXPECT_EQ(ReadCurve(dir.path(), ReadManifest(dir.path()).value()).value(), "");
}

TEST(Manifest, WhereTheDataBeganIsKept) {
  const TempDir dir;
  Manifest manifest = Example();
  manifest.data_first_step = 7;
  manifest.data_settings = "d";
  manifest.model_settings = "m";
  ASSERT_OK(SaveModel(dir.path(), manifest, {.dense = kDense}));
  const Manifest read = ReadManifest(dir.path()).value();
  EXPECT_EQ(read.data_first_step, 7u);
  EXPECT_EQ(read.data_settings, "d");
  EXPECT_EQ(read.model_settings, "m");
  manifest.data_first_step = 13;  // after the step that it was saved at
  ASSERT_OK(SaveModel(dir.path(), manifest, {.dense = kDense}));
  EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorruption);
}

TEST(Manifest, AFileOfTheDataSourceLiesBesideTheManifest) {
  const TempDir dir;
  ASSERT_OK(
      SaveModel(dir.path(), Example(), {.dense = kDense, .data = {.files = {{"scales", "1"}}}}));
  for (const std::string name : {"../data-scales-1.bin", "data-other-1.bin", "data-scales-.bin"}) {
    auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
    json["files"][2]["file"] = name;
    WriteSealedManifest(dir / "manifest.json", json);
    EXPECT_THAT(ReadManifest(dir.path()).status().message(),
                testing::HasSubstr("files: \"" + name + "\" is of kind \"scales\""));
  }
}

TEST(Manifest, ChangedBytesOfTheDenseFileAreFound) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  const Manifest manifest = ReadManifest(dir.path()).value();
  std::string bytes = ReadFile(dir / "dense-12.bin").value();
  bytes[5] ^= 1;
  ASSERT_OK(WriteFileDurably(dir / "dense-12.bin", bytes));
  EXPECT_THAT(ReadDense(dir.path(), manifest).status().message(),
              testing::HasSubstr("dense-12.bin is not the file that was saved: its digest is"));
  ASSERT_OK(WriteFileDurably(dir / "dense-12.bin", bytes.substr(1)));
  EXPECT_THAT(ReadDense(dir.path(), manifest).status().message(),
              testing::HasSubstr("it has 11 bytes, and had 12"));
}

TEST(Manifest, WhatIsMissingNewerOrNoManifestIsSaidSo) {
  const TempDir dir;
  EXPECT_THAT(ReadManifest(dir.path()).status().message(),
              testing::HasSubstr("no model was saved"));
  EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kUsage);
  ASSERT_OK(WriteFileDurably(dir / "manifest.json", "{\"format_version\": 4}"));
  EXPECT_THAT(ReadManifest(dir.path()).status().message(),
              testing::HasSubstr("format version 4 is newer"));
  for (const std::string text : {"", "{}", "[]", "{\"format_version\": \"x\"}"}) {
    ASSERT_OK(WriteFileDurably(dir / "manifest.json", text));
    EXPECT_EQ(ReadManifest(dir.path()).status().code(), StatusCode::kCorruption) << text;
  }
  ASSERT_OK(WriteFileDurably(dir / "manifest.json", "{\"name\": \"a web application\"}"));
  EXPECT_THAT(ReadManifest(dir.path()).status().message(),
              testing::AllOf(testing::HasSubstr("give another --model_dir"),
                             testing::Not(testing::HasSubstr("json.exception"))));
}

// They have no digests of what decides a score.
TEST(Manifest, OfAnEarlierVersionIsRefused) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
  json.erase("xxh3_128_of_the_above");
  for (const int version : {1, 2}) {
    json["format_version"] = version;
    ASSERT_OK(WriteFileDurably(dir / "manifest.json", json.dump(1) + "\n"));
    const Status refused = ReadManifest(dir.path()).status();
    EXPECT_EQ(refused.code(), StatusCode::kUsage);
    EXPECT_THAT(refused.message(), testing::HasSubstr("of an earlier build"));
    EXPECT_THAT(refused.message(), testing::HasSubstr("train anew"));
  }
}

TEST(Manifest, AVersionThatIsNoPositiveWholeNumberIsRefusedWithItsValue) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  auto json = nlohmann::json::parse(ReadFile(dir / "manifest.json").value());
  for (const char* value : {"-1", "0", "3.9", "4294967299"}) {
    json["format_version"] = nlohmann::json::parse(value);
    WriteSealedManifest(dir / "manifest.json", json);
    EXPECT_THAT(
        ReadManifest(dir.path()).status().message(),
        testing::AllOf(testing::HasSubstr(dir / "manifest.json"), testing::HasSubstr(value)));
  }
}

TEST(Manifest, ADenseFileElsewhereIsNeitherReadNorDeleted) {
  const TempDir dir;
  const std::string model = dir / "model";
  ASSERT_OK(WriteFileDurably(dir / "dense-1.bin", "mine"));
  for (const std::string name : {"../dense-1.bin", "/etc/passwd", "notes.txt", "dense-.bin", ""}) {
    ASSERT_OK(SaveModel(model, Example(), {.dense = kDense}));
    auto json = nlohmann::json::parse(ReadFile(model + "/manifest.json").value());
    json["files"][1]["file"] = name;
    WriteSealedManifest(model + "/manifest.json", json);
    EXPECT_THAT(
        ReadManifest(model).status().message(),
        testing::HasSubstr("files: \"" + name + "\" is of kind \"dense\"; expected the name"));
    ASSERT_OK(SaveModel(model, Example(), {.dense = kDense})) << "over a damaged one";
  }
  EXPECT_EQ(ReadFile(dir / "dense-1.bin").value(), "mine");
}

TEST(Manifest, SavingKeepsWhatIsNotItsOwn) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "notes.txt", "mine"));
  ASSERT_OK(WriteFileDurably(dir / "dense-best.bin", "mine"));
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  EXPECT_TRUE(std::filesystem::exists(dir / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(dir / "dense-best.bin"));
}

TEST(Manifest, SavingDeletesWhatManifestsListedAndNoOtherFile) {
  const TempDir dir;
  const DatasetState data = {.files = {{.kind = "clicks", .bytes = "1"}}};
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense, .data = data, .curve = "c"}));
  const std::vector<std::string> mine = {"dense-1.bin", "curve-7.json", "data-clicks-20240501.bin"};
  for (const std::string& name : mine) ASSERT_OK(WriteFileDurably(dir / name, "mine"));
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {.dense = kDense}));
  for (const std::string& name : mine) EXPECT_EQ(ReadFile(dir / name).value(), "mine");
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, mine.size() + 3) << "manifest, config and dense part of the later save";
}

// What a kill leaves: files of a save that no manifest lists, which has said what it makes.
TEST(Manifest, TheNextSaveRemovesWhatACutOffOneLeft) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  for (const std::string name : {"dense-14.bin", "curve-14.json", "notes.txt"}) {
    ASSERT_OK(WriteFileDurably(dir / name, "cut"));
  }
  ASSERT_OK(WriteFileDurably(dir / "saving.list",
                             "dense-12.bin\nconfig.yaml\ndense-14.bin\ncurve-14.json\n"
                             "notes.txt\n../dense-14.bin\n"));
  Manifest later = Example();
  later.steps = 20;
  ASSERT_OK(SaveModel(dir.path(), later, {.dense = kDense}));
  for (const std::string name : {"dense-12.bin", "dense-14.bin", "curve-14.json", "saving.list"}) {
    EXPECT_FALSE(std::filesystem::exists(dir / name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "notes.txt"));
  EXPECT_OK(CheckModelFiles(dir.path(), ReadManifest(dir.path()).value()));
}

TEST(SealedJson, IsReadOnlyAsItWasWritten) {
  const std::string sealed = SealJson("{\n \"a\": 1\n}\n");
  EXPECT_OK(CheckSeal(sealed));
  for (size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] ^= 1;
    EXPECT_FALSE(CheckSeal(changed).ok()) << at;
  }
  EXPECT_FALSE(CheckSeal(sealed + "\n").ok());
  EXPECT_FALSE(CheckSeal("").ok());
}

TEST(Manifest, JsonNestedWithoutEndIsCorruption) {
  const TempDir dir;
  ASSERT_OK(
      WriteFileDurably(dir / "manifest.json", "{\"format_version\": " + std::string(100000, '[')));
  EXPECT_THAT(ReadManifest(dir.path()).status().message(), testing::HasSubstr("nested"));
}

TEST(Manifest, NoByteOfItCanBeChanged) {
  const TempDir dir;
  ASSERT_OK(SaveModel(dir.path(), Example(), {.dense = kDense}));
  const std::string text = ReadFile(dir / "manifest.json").value();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    ASSERT_OK(WriteFileDurably(dir / "manifest.json", changed));
    const Status read = ReadManifest(dir.path()).status();
    EXPECT_FALSE(read.ok()) << at;
    EXPECT_THAT(read.message(), testing::HasSubstr("manifest.json"));
  }
}

TEST(Manifest, EveryFileIsListedAndCompared) {
  const TempDir dir;
  const DatasetState data = {.files = {{.kind = "scales", .bytes = "12"}}};
  ASSERT_OK(SaveModel(dir.path(), Example(),
                      {.dense = kDense, .config_yaml = "a: 1\n", .data = data, .curve = "c"}));
  const Manifest manifest = ReadManifest(dir.path()).value();
  ASSERT_EQ(FilesOf(manifest).size(), 4u);
  EXPECT_OK(CheckModelFiles(dir.path(), manifest));
  EXPECT_EQ(ReadConfig(dir.path(), manifest).value(), "a: 1\n");
  for (const ModelFile& file : FilesOf(manifest)) {
    const std::string bytes = ReadFile(dir / file.file).value();
    std::string changed = bytes;
    changed.back() ^= 1;
    for (const std::string& other : {changed, bytes + "1", std::string()}) {
      ASSERT_OK(WriteFileDurably(dir / file.file, other));
      EXPECT_THAT(CheckModelFiles(dir.path(), manifest).message(), testing::HasSubstr(file.file));
    }
    ASSERT_OK(WriteFileDurably(dir / file.file, bytes));
  }
  ASSERT_OK(WriteFileDurably(dir / "config.yaml", "a: 2\n"));
  EXPECT_EQ(ReadConfig(dir.path(), manifest).status().code(), StatusCode::kCorruption);
}

TEST(Manifest, TheModelDigestIsOfTheModelAndNotOfItsFiles) {
  const TempDir dir;
  const auto digest_of = [&](const Manifest& manifest, ModelContents contents) {
    CHECK(SaveModel(dir.path(), manifest, contents).ok());
    return ModelDigest(ReadManifest(dir.path()).value());
  };
  const ModelContents contents = {.dense = kDense, .dense_values = 2};
  const std::string digest = digest_of(Example(), contents);
  EXPECT_EQ(digest.size(), 32u);
  Manifest elsewhere = Example();
  elsewhere.model_id = "another";
  elsewhere.plan = MakeRowWisePlan(elsewhere.tables, 1);
  elsewhere.shards = {{ShardId{0}, "c", "/x"}};
  const std::vector<float> with_other_rows = {1.0f, -2.5f, 7.0f, 7.0f};
  EXPECT_EQ(digest_of(elsewhere, {.dense = with_other_rows, .dense_values = 2, .curve = "c"}),
            digest);
  EXPECT_NE(digest_of(Example(), {.dense = kDense, .dense_values = 1}), digest);
  EXPECT_NE(digest_of(Example(), {.dense = kDense,
                                  .dense_values = 2,
                                  .data = {.files = {{.kind = "scales", .bytes = "12"}}}}),
            digest);
  Manifest other = Example();
  other.rows_digest = "00000000000000000000000000000002";
  EXPECT_NE(digest_of(other, contents), digest);
  other = Example();
  other.model_settings = "other";
  EXPECT_NE(digest_of(other, contents), digest);
  other = Example();
  other.rows_digest = "";
  EXPECT_EQ(digest_of(other, contents), "") << "saved in mid-run";
}

}  // namespace
}  // namespace rowhouse
