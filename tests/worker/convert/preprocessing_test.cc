#include "worker/data/mapping/preprocessing.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "common/durable_file.h"
#include "common/random.h"
#include "tests/testing/testing.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

constexpr float kPreprocessingMissing = std::numeric_limits<float>::quiet_NaN();

uint64_t Key(std::string_view token) { return TokenKey(TokenType::kString, token).value(); }

// Numbers tokens in the order given.
void WriteVocabulary(const std::string& path, const std::vector<std::string>& tokens) {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> by_mixed;
  for (size_t i = 0; i < tokens.size(); ++i) by_mixed[Mix64(Key(tokens[i]))] = {Key(tokens[i]), i};
  auto writer = VocabularyWriter::Open(path, tokens.size());
  ASSERT_OK(writer);
  for (const auto& [mixed, entry] : by_mixed) {
    ASSERT_OK(writer.value()->Add(entry.first, entry.second));
  }
  ASSERT_OK(writer.value()->Finish());
}

Schema SchemaOfThree() {
  Schema schema;
  schema.format = "delimited";
  schema.label = {"click", "==", "yes"};
  schema.dense = {{"plain"}, {"count", "log1p", 3.0f}, {"age", "standardise", 30.0f}};
  schema.categorical = {
      {.name = "city", .ids = "dictionary", .rows = 6, .missing_row = true, .rare_row = true},
      {.name = "user", .token = "integer", .ids = "modulo", .rows = 10},
      {.name = "tags", .ids = "dictionary", .rows = 2, .separator = "|", .weight_separator = ":"}};
  schema.ignored = {"time"};
  return schema;
}

std::shared_ptr<const Preprocessing> Make(const std::string& directory, const Schema& schema) {
  WriteVocabulary(directory + "/vocabulary-0.bin", {"Rome", "Oslo", "Bonn"});
  WriteVocabulary(directory + "/vocabulary-2.bin", {"a", "b"});
  EXPECT_OK(WritePreprocessing(directory, schema, {{}, {}, {40.0, 5.0}}));
  auto opened = Preprocessing::Open(directory);
  EXPECT_OK(opened);
  return opened.ok() ? opened.value() : nullptr;
}

// DLRM's: of integers up to the largest.
TEST(Preprocessing, Log1pIsThatOfFloatsAndZeroBelowZero) {
  TempDir directory;
  Schema schema;
  schema.dense = {{"count", "log1p"}};
  ASSERT_OK(WritePreprocessing(directory.path(), schema, {{}}));
  Batch raw, mapped;
  raw.Clear(1, 0);
  raw.samples = 3;
  raw.dense = {-5.0f, 0.0f, 2147483647.0f};
  ASSERT_OK(Preprocessing::Open(directory.path()).value()->Map(raw, &mapped));
  EXPECT_EQ(mapped.dense[0], 0.0f);
  EXPECT_EQ(mapped.dense[1], 0.0f);
  EXPECT_FLOAT_EQ(mapped.dense[2], 21.487562f);
}

Batch RawSamples() {
  Batch raw;
  raw.Clear(3, 3);
  const auto add = [&](float label, std::vector<float> dense,
                       std::vector<std::vector<uint64_t>> keys) {
    ++raw.samples;
    raw.labels.push_back(label);
    raw.dense.insert(raw.dense.end(), dense.begin(), dense.end());
    for (size_t column = 0; column < keys.size(); ++column) {
      for (const uint64_t key : keys[column]) {
        raw.features[column].ids.push_back(key);
        if (column == 2) raw.features[2].weights.push_back(static_cast<float>(key % 7));
      }
      raw.features[column].EndBag();
    }
  };
  add(1, {1.5f, 0.0f, 45.0f}, {{Key("Oslo")}, {123}, {Key("b"), Key("x"), Key("a")}});
  add(0, {kPreprocessingMissing, kPreprocessingMissing, kPreprocessingMissing}, {{}, {}, {}});
  add(0, {-2.0f, -7.0f, 40.0f}, {{Key("Paris")}, {7}, {Key("x")}});
  return raw;
}

TEST(Preprocessing, MapsAsTheSchemaSays) {
  TempDir directory;
  const auto preprocessing = Make(directory.path(), SchemaOfThree());
  ASSERT_NE(preprocessing, nullptr);
  Batch batch;
  ASSERT_OK(preprocessing->Map(RawSamples(), &batch));
  EXPECT_EQ(batch.samples, 3u);
  EXPECT_EQ(batch.labels, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(batch.dense,
            (std::vector<float>{1.5f, 0.0f, 1.0f, 0.0f, std::log(4.0f), -2.0f, -2.0f, 0.0f, 0.0f}));
  // Row 0 is for missing tokens, row 1 for those that the dictionary lacks.
  EXPECT_EQ(batch.features[0].ids, (std::vector<uint64_t>{3, 0, 1}));
  EXPECT_EQ(batch.features[0].offsets, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(batch.features[1].ids, (std::vector<uint64_t>{3, 7}));
  EXPECT_EQ(batch.features[1].offsets, (std::vector<uint32_t>{0, 1, 1, 2}));
  // Without such rows both are left out, with their weights.
  EXPECT_EQ(batch.features[2].ids, (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(batch.features[2].offsets, (std::vector<uint32_t>{0, 2, 2, 2}));
  EXPECT_EQ(batch.features[2].weights, (std::vector<float>{static_cast<float>(Key("b") % 7),
                                                           static_cast<float>(Key("a") % 7)}));
}

TEST(Preprocessing, IdsOfSingleTokens) {
  TempDir directory;
  const auto preprocessing = Make(directory.path(), SchemaOfThree());
  EXPECT_EQ(preprocessing->IdOf(0, "Rome").value(), 2u);
  EXPECT_EQ(preprocessing->IdOf(0, "").value(), 0u);
  EXPECT_EQ(preprocessing->IdOf(0, "Paris").value(), 1u);
  EXPECT_EQ(preprocessing->IdOf(1, "-1").value(), 5u);  // 2^64 - 1 modulo 10
  EXPECT_EQ(preprocessing->IdOf(1, "1.5").status().code(), StatusCode::kUsage);
  EXPECT_EQ(preprocessing->IdOf(2, "Paris").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(preprocessing->IdOf(2, "").status().code(), StatusCode::kUsage);
  EXPECT_EQ(preprocessing->tokens(0), 3u);
  EXPECT_EQ(preprocessing->tokens(1), 0u);
}

TEST(Preprocessing, IsTheSameAfterItWasLinkedElsewhere) {
  TempDir directory, other;
  const auto preprocessing = Make(directory.path(), SchemaOfThree());
  ASSERT_OK(LinkPreprocessing(*preprocessing, other.path()));
  ASSERT_OK(LinkPreprocessing(*preprocessing, other.path()));
  const auto linked = Preprocessing::Open(other.path());
  ASSERT_OK(linked);
  EXPECT_EQ(linked.value()->digest(), preprocessing->digest());
  EXPECT_EQ(linked.value()->schema(), SchemaOfThree());

  // And by files of other names, as a model keeps them.
  std::vector<PreprocessingFile> files = linked.value()->files();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].kind, "preprocessing");
  EXPECT_EQ(files[2].kind, "vocabulary_2");
  for (PreprocessingFile& file : files) {
    std::filesystem::rename(file.path, other / ("data-" + file.kind));
    file = {file.kind, "", other / ("data-" + file.kind)};
  }
  const auto renamed = Preprocessing::OpenFiles(files);
  ASSERT_OK(renamed);
  EXPECT_EQ(renamed.value()->digest(), preprocessing->digest());
  EXPECT_EQ(renamed.value()->IdOf(0, "Oslo").value(), 3u);
}

TEST(Preprocessing, RefusesAVocabularyOfOtherData) {
  TempDir directory;
  ASSERT_NE(Make(directory.path(), SchemaOfThree()), nullptr);
  WriteVocabulary(directory / "vocabulary-0.bin", {"Rome", "Bonn", "Oslo"});
  const auto opened = Preprocessing::Open(directory.path());
  EXPECT_EQ(opened.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("vocabulary-0.bin"));
}

TEST(Preprocessing, SaysWhatIsMissingOrWrong) {
  TempDir directory;
  EXPECT_FALSE(Preprocessing::IsIn(directory.path()));
  EXPECT_EQ(Preprocessing::Open(directory.path()).status().code(), StatusCode::kUsage);
  Schema schema = SchemaOfThree();
  schema.categorical = {
      {.name = "user", .ids = "modulo", .rows = 2, .missing_row = true, .rare_row = true}};
  const Status no_rows = WritePreprocessing(directory.path(), schema, {{}, {}, {}});
  EXPECT_EQ(no_rows.code(), StatusCode::kUsage);
  EXPECT_THAT(no_rows.message(), testing::HasSubstr("user"));
  schema.categorical = {};
  schema.dense[0].transform = "log2p";
  const Status unknown = WritePreprocessing(directory.path(), schema, {{}, {}, {}});
  EXPECT_THAT(unknown.message(), testing::HasSubstr("log1p"));
  std::ofstream(directory / "preprocessing.json") << "{\"format_version\": 99}";
  EXPECT_EQ(Preprocessing::Open(directory.path()).status().code(), StatusCode::kUsage);
  for (const char* text : {"", "[]", "{}", "{\"format_version\": 1}", "{\"format_version\": -1}",
                           "{\"format_version\": 0}", "{\"format_version\": 1.9}"}) {
    std::ofstream(directory / "preprocessing.json") << text;
    EXPECT_EQ(Preprocessing::Open(directory.path()).status().code(), StatusCode::kCorruption)
        << text;
  }
}

TEST(TokenKey, ReadsTokensByTheirType) {
  EXPECT_EQ(TokenKey(TokenType::kHex, "68fd1e64"), 0x68fd1e64u);
  EXPECT_EQ(TokenKey(TokenType::kHex, "FFFFFFFFFFFFFFFF"), UINT64_MAX);
  EXPECT_EQ(TokenKey(TokenType::kHex, "10000000000000000"), std::nullopt);
  EXPECT_EQ(TokenKey(TokenType::kHex, "-1"), std::nullopt);
  EXPECT_EQ(TokenKey(TokenType::kHex, ""), std::nullopt);
  EXPECT_EQ(TokenKey(TokenType::kInteger, "18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(TokenKey(TokenType::kInteger, "-9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(TokenKey(TokenType::kInteger, "-9223372036854775809"), std::nullopt);
  EXPECT_EQ(TokenKey(TokenType::kInteger, "--1"), std::nullopt);
  EXPECT_EQ(TokenKey(TokenType::kInteger, "1 "), std::nullopt);
}

}  // namespace
}  // namespace rowhouse
